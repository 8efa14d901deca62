# SPDX-License-Identifier: Apache-2.0
"""Public names of a package are loaded when they are first used."""

import subprocess
import sys

import pytest
import querytape.capture
from querytape.common.lazy import lazy_attributes


def test_a_name_is_loaded_once_and_kept() -> None:
    """The attribute of the named module, and the module itself where no attribute is named."""
    load = lazy_attributes("querytape.common", {"MAX": ".units:NS", "units": ".units"})
    assert load("units").__name__ == "querytape.common.units"
    with pytest.raises(AttributeError, match=r"module 'querytape.common' has no attribute 'other'"):
        load("other")


def test_a_package_costs_nothing_until_it_is_used() -> None:
    """Importing the capture stage and its table of sources imports neither DuckDB nor the native extension."""
    program = (
        "import sys, querytape.capture as c; list(c.SOURCES); print({'duckdb', 'cffi', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    assert callable(querytape.capture)
