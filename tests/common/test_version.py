# SPDX-License-Identifier: Apache-2.0
"""The version number is defined in one place."""

import re

import querytape
from querytape.common.version import __version__


def test_version_equals_the_package_version() -> None:
    """The version has three numbers."""
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
    assert querytape.__version__ == __version__
