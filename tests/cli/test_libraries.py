# SPDX-License-Identifier: Apache-2.0
"""Tests of `--version --libraries`, which lists the libraries and packages in use."""

import pytest
from click.testing import CliRunner
from querytape.cli import libraries
from querytape.cli.libraries import library_lines, package_lines
from querytape.cli.main import group
from querytape.common.version import __version__


def test_library_locations_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel contains all libraries except zlib. A build from source uses the system's libraries."""
    monkeypatch.setattr(libraries, "login_plugins", lambda: None)
    assert all(line.endswith("(of the system)") for line in library_lines()[:6])
    monkeypatch.setattr(libraries, "login_plugins", lambda: "/somewhere")
    inside = [line for line in library_lines()[:6] if line.endswith("(bundled with querytape)")]
    assert len(inside) == 5
    assert not any(line.startswith("zlib") for line in inside)


def test_package_versions_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package is reported unless only an extra needs it."""
    found = package_lines()
    assert any(line.startswith("duckdb 2") for line in found)
    assert not any(line.startswith(("pytest ", "ruff ")) for line in found)
    wanted = ["no-such-thing>=1", 'nor-this; extra == "rds"', "click>=8"]
    monkeypatch.setattr(libraries, "requires", lambda name: wanted)
    assert [line.split()[0] for line in package_lines()] == ["click", "no-such-thing"]
    assert package_lines()[1] == "no-such-thing is missing"


@pytest.mark.parametrize("words", [["--version", "--libraries"], ["--libraries", "--version"]])
def test_version_precedes_libraries_in_any_option_order(words: list[str]) -> None:
    done = CliRunner().invoke(group, words)
    assert done.exit_code == 0
    first, second, *_ = done.output.splitlines()
    assert first == f"querytape, version {__version__}"
    assert second.startswith("MariaDB Connector/C ")


def test_libraries_option_requires_version_option() -> None:
    done = CliRunner().invoke(group, ["--libraries"])
    assert done.exit_code == 2
    assert "--libraries: only with --version" in done.output
    assert CliRunner().invoke(group, ["--version"]).output == f"querytape, version {__version__}\n"
