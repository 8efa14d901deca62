# SPDX-License-Identifier: Apache-2.0
"""The release number of querytape. Tapes and runs contain it, and `querytape --version` prints it."""

__version__ = "0.1.0"
