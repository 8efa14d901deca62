# SPDX-License-Identifier: Apache-2.0
"""The release number: written into tapes and runs, and what `querytape --version` prints."""

__version__ = "0.1.0"
