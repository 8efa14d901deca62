# SPDX-License-Identifier: Apache-2.0
"""One planted comparison for all tests here."""

import pytest
from querytape.analyze import Report

from .planted import planted


@pytest.fixture(scope="package")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Read it, change nothing."""
    return planted(tmp_path_factory.mktemp("planted"))
