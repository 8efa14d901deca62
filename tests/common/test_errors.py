# SPDX-License-Identifier: Apache-2.0
"""All errors that a caller can handle have one base class."""

import pytest
from querytape.common import errors


@pytest.mark.parametrize("name", ["InputError", "TargetError", "RefusedError", "FolderError"])
def test_errors_have_one_base_class(name: str) -> None:
    """Each public error class derives from QuerytapeError and has its message as text."""
    error = getattr(errors, name)("a sentence")
    assert isinstance(error, errors.QuerytapeError)
    assert str(error) == "a sentence"


def test_native_error_keeps_its_code() -> None:
    """Errors of the native extension also derive from QuerytapeError."""
    error = errors.NativeFault(5, "no memory")
    assert isinstance(error, errors.QuerytapeError)
    assert (error.code, str(error)) == (5, "no memory")
