# SPDX-License-Identifier: Apache-2.0
"""One comparison with planted differences, shared by all tests in this folder."""

import pytest
from querytape.analyze import Report

from .planted import planted


@pytest.fixture(scope="package")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Build the comparison with the planted differences. Tests must not change it."""
    return planted(tmp_path_factory.mktemp("planted"))
