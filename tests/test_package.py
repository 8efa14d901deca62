# SPDX-License-Identifier: Apache-2.0
"""What ships: the wheel and the source archive, built from a folder of another name and tried outside it."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

IGNORED = shutil.ignore_patterns(
    ".git",
    ".venv",
    ".servers",
    "build",
    "dist",
    "*.so",
    "*.o",
    "_querytape.c",
    "*.egg-info",
    "__pycache__",
    ".*_cache",
)


@dataclass(frozen=True)
class Built:
    """The two archives."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build both archives from a copy of the checkout in a folder of an odd name."""
    place = tmp_path_factory.mktemp("build")
    copy = place / "a clone, renamed"
    shutil.copytree(Path(__file__).resolve().parent.parent, copy, ignore=IGNORED)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            "--skip-dependency-check",
            "--outdir",
            str(place),
            str(copy),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return Built(next(place.glob("*.whl")), next(place.glob("*.tar.gz")))


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, by itself, into an empty environment; return the environment's folder."""
    environment = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    done = subprocess.run(
        [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", str(built.wheel)],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return environment


def clean_environment() -> dict[str, str]:
    """Return our environment without what would let Python find the checkout."""
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}


def run(environment: Path, cwd: Path, *command: str) -> str:
    """Run a command of an environment in a folder that is not the checkout; return what it printed."""
    program, *arguments = command
    done = subprocess.run(
        [str(environment / "bin" / program), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_fits_every_python_from_3_11(built: Built) -> None:
    """One wheel a platform: the stable ABI of 3.11."""
    assert built.wheel.name.startswith("querytape-0.1.0-cp311-abi3-linux")


def test_the_wheel_holds_the_package_and_nothing_else(built: Built) -> None:
    """The parts, their SQL and the extension; no setup.py, no tests, no benches, no C."""
    with zipfile.ZipFile(built.wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"querytape", "querytape-0.1.0.dist-info"}
    parts = {name.split("/")[1] for name in names if name.count("/") > 1 and not name.startswith("querytape-")}
    assert parts == {
        *("analyze", "capture", "cli", "common", "demo", "experiments", "metrics"),
        *("native", "replay", "schemas", "servers"),
    }
    assert "querytape/native/_querytape.abi3.so" in names
    assert "querytape/schemas/tape.sql" in names
    assert "querytape/setup.py" not in names
    assert not [name for name in names if name.endswith((".c", ".h", ".o"))]


def test_the_wheel_has_every_data_file(built: Built, checkout: Path) -> None:
    """An SQL file or template that is not in the wheel is found here and not by a user."""
    parts = ("schemas", "capture", "replay", "analyze")
    wanted = {
        f"querytape/{path.relative_to(checkout)}"
        for part in parts
        for path in (checkout / part).rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".md")
    }
    with zipfile.ZipFile(built.wheel) as archive:
        assert not wanted - set(archive.namelist())


def test_the_source_archive_can_be_built(built: Built, checkout: Path) -> None:
    """The source archive has every C file and header, the licence and the change log."""
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {str(path.relative_to(checkout)) for path in (checkout / "native").glob("*/*.[ch]")} | {
        "native/querytape.h"
    }
    assert not wanted - names
    assert {"LICENSE", "README.md", "CHANGELOG.md", "setup.py", "pyproject.toml"} <= names
    assert not [name for name in names if name.endswith((".so", ".o"))]


def test_the_command_works_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    """`querytape` prints its version and its help from an environment that has only the wheel."""
    assert run(installed, tmp_path, "querytape", "--version").strip().endswith("0.1.0")
    assert "capture" in run(installed, tmp_path, "querytape", "--help")
    assert "0.1.0" in run(installed, tmp_path, "python", "-m", "querytape", "--version")


def test_what_is_imported_is_the_wheel(installed: Path, tmp_path: Path) -> None:
    """The environment's own copy is imported, with its types marked as such."""
    where = run(installed, tmp_path, "python", "-c", "import querytape.native.bindings.parsers as m; print(m.__file__)")
    assert where.startswith(str(installed))
    assert (Path(where.strip()).parents[2] / "py.typed").exists()
