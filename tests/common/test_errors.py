# SPDX-License-Identifier: Apache-2.0
"""Errors that a caller can do something about are one family."""

import pytest
from querytape.common import errors


@pytest.mark.parametrize("name", ["InputError", "TargetError", "RefusedError", "FolderError"])
def test_one_family(name: str) -> None:
    """Each is a QuerytapeError and shows its sentence."""
    error = getattr(errors, name)("a sentence")
    assert isinstance(error, errors.QuerytapeError)
    assert str(error) == "a sentence"


def test_native_error_has_its_code() -> None:
    """An error of the native part keeps its code and is of the same family."""
    error = errors.NativeFault(5, "no memory")
    assert isinstance(error, errors.QuerytapeError)
    assert (error.code, str(error)) == (5, "no memory")
