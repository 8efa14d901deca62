# SPDX-License-Identifier: Apache-2.0
"""Select the test parameters for `make test` and for the long tier."""

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_long(values: Iterable[Any], *kept: Any) -> list[Any]:
    """Return test parameters. Parameters outside `kept` run only in the long tier."""
    return [value if value in kept else pytest.param(*_each(value), marks=pytest.mark.long) for value in values]


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
