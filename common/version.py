# SPDX-License-Identifier: Apache-2.0
"""The release number. Tapes and runs contain it, and `querytape --version` prints it."""

__version__ = "0.1.0"
