# SPDX-License-Identifier: Apache-2.0
"""The release number is written once."""

import re

import querytape
from querytape.common.version import __version__


def test_version() -> None:
    """It has three numbers, and is the package's own."""
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
    assert querytape.__version__ == __version__
