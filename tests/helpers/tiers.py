# SPDX-License-Identifier: Apache-2.0
"""Which of a test's parameters are tried in `make test`, and which only in the long tier."""

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_long(values: Iterable[Any], *kept: Any) -> list[Any]:
    """Return parameters of a test: those that are not `kept` are tried only in the long tier."""
    return [value if value in kept else pytest.param(*_each(value), marks=pytest.mark.long) for value in values]


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
