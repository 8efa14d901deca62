# SPDX-License-Identifier: Apache-2.0
"""A package loads its public names at first use."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import querytape.capture
from querytape.common.lazy import prepare_early

PACKAGE = """
from typing import TYPE_CHECKING
from querytape.common.lazy import lazy_names
from querytape.common.units import plural as plural

if TYPE_CHECKING:
    from .inner import number as number, other as renamed
    from .apart import apart as apart
else:
    __getattr__, __all__ = lazy_names(__name__, ("apart",))
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A fixture: a package with one loaded name and three lazy names."""
    folder = tmp_path / "lazy_example"
    folder.mkdir()
    for name, text in {"__init__": PACKAGE, "inner": "number = 5\nother = 6\n", "apart": "apart = 7\n"}.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield import_module("lazy_example")
    for name in [name for name in sys.modules if name.startswith("lazy_example")]:
        del sys.modules[name]


def test_lazy_names_equal_direct_imports(package: Any) -> None:
    """A lazy name is an attribute of a module, or a module itself."""
    assert package.__all__ == ["apart", "number", "plural", "renamed"]
    assert (package.number, package.renamed, package.apart.apart) == (5, 6, 7)
    with pytest.raises(AttributeError, match=r"module 'lazy_example' has no attribute 'other'"):
        _ = package.other


def test_lazy_name_is_loaded_once_at_first_use(package: Any) -> None:
    """Before its first use, a lazy name is not loaded. After that, the package keeps the loaded object."""
    assert "lazy_example.inner" not in sys.modules
    assert package.number == 5
    assert vars(package)["number"] == 5


def test_capture_import_does_not_load_duckdb() -> None:
    """Importing the capture package and its source table loads neither DuckDB nor the native extension."""
    program = (
        "import sys, querytape.capture as c; list(c.SOURCES); print({'duckdb', 'cffi', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    assert callable(querytape.capture)


def test_prepared_steps_run_although_one_fails() -> None:
    """A step only saves time, so its error appears elsewhere."""
    done = threading.Event()
    prepare_early(partial(import_module, "no_such_module"), done.set)
    assert done.wait(10)
