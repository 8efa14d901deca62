# SPDX-License-Identifier: Apache-2.0
"""Tests of the wheel and the source archive. They are built in a folder with a different name and used outside the
checkout.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from querytape.servers.programs import find_program, missing_sentence

from .conftest import skip_loudly

IGNORED = shutil.ignore_patterns(
    ".git",
    ".venv",
    ".servers",
    "build",
    "build-*",
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
    """The paths of the wheel and the source archive."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build the wheel and the source archive from a copy of the checkout in a folder with an unusual name."""
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
        env={**os.environ, "CFLAGS": "-O0"},  # compiles faster; the tests run little native code
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return Built(next(place.glob("*.whl")), next(place.glob("*.tar.gz")))


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a new environment, and return the folder of this environment. The new environment uses the
    dependencies of the current environment. `make test-wheel` also installs the dependencies.
    """
    environment = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    done = subprocess.run(
        [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", str(built.wheel)],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return environment


def clean_environment() -> dict[str, str]:
    """Return the current environment without the variables that let Python find the checkout."""
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}


def run(environment: Path, cwd: Path, *command: str) -> str:
    """Run an installed command outside the checkout, and return its output."""
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


def test_wheel_supports_python_3_11_and_later(built: Built) -> None:
    """The wheel uses the stable ABI of Python 3.11, so one wheel per platform is enough."""
    assert built.wheel.name.startswith("querytape-0.1.0-cp311-abi3-linux")


def test_wheel_contains_only_the_package(built: Built) -> None:
    """The wheel contains the Python parts, their SQL and the extension. It contains no tests, no C files and no
    setup.py.
    """
    with zipfile.ZipFile(built.wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"querytape", "querytape-0.1.0.dist-info", "querytape-0.1.0.data"}
    assert {name.rpartition("/")[0] for name in names if ".data/" in name} == {
        "querytape-0.1.0.data/data/share/man/man1"
    }
    parts = {name.split("/")[1] for name in names if name.count("/") > 1 and not name.startswith("querytape-")}
    assert parts == {
        *("analyze", "capture", "cli", "common", "demo", "experiments", "metrics"),
        *("native", "replay", "schemas", "serve", "servers"),
    }
    assert "querytape/native/_querytape.abi3.so" in names
    assert "querytape/schemas/tape.sql" in names
    assert "querytape/setup.py" not in names
    assert not [name for name in names if name.endswith((".c", ".h", ".o"))]


@pytest.mark.slow
def test_package_contains_every_data_file(checkout: Path, tmp_path: Path) -> None:
    """The data files are SQL files and templates."""
    copy, packaged = tmp_path / "copy", tmp_path / "packaged"
    shutil.copytree(checkout, copy, ignore=IGNORED)
    build = [sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", str(packaged)]
    done = subprocess.run(build, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    parts = ("schemas", "capture", "replay", "analyze", "serve")
    wanted = {
        str(path.relative_to(copy))
        for part in parts
        for path in (copy / part).rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".md")
    }
    there = {str(path.relative_to(packaged / "querytape")) for path in packaged.rglob("*") if path.is_file()}
    assert wanted
    assert not wanted - there


def test_source_archive_contains_every_build_file(built: Built, checkout: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {str(path.relative_to(checkout)) for path in (checkout / "native").glob("*/*.[ch]")} | {
        "native/querytape.h"
    }
    assert not wanted - names
    assert {"LICENSE", "README.md", "CHANGELOG.md", "setup.py", "pyproject.toml"} <= names
    assert not [name for name in names if name.endswith((".so", ".o"))]


def test_command_works_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    assert run(installed, tmp_path, "querytape", "--version").strip().endswith("0.1.0")
    assert "capture" in run(installed, tmp_path, "querytape", "--help")
    assert "0.1.0" in run(installed, tmp_path, "python", "-m", "querytape", "--version")


def test_man_pages_are_installed(installed: Path, checkout: Path) -> None:
    """man searches the folder share/man next to the bin folder of a program."""
    pages = {page.name for page in (checkout / "docs" / "man").iterdir()}
    assert {page.name for page in (installed / "share" / "man" / "man1").glob("*.1")} == pages


@pytest.mark.server
def test_demo_of_the_installed_wheel_works(installed: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """The demo runs a capture, two replays and a report against a MariaDB server."""
    if find_program("mariadb") is None:
        skip_loudly(request, missing_sentence("mariadb"))
    said = run(installed, tmp_path, "querytape", "demo", "--seconds", "2", "--keep", str(tmp_path / "shop"))
    assert said.rstrip().endswith(str(tmp_path / "shop" / "report.html"))
    assert (tmp_path / "shop" / "report.html").stat().st_size > 100_000


def test_demo_without_a_server_shows_the_install_command(installed: Path, tmp_path: Path) -> None:
    """The demo ends before it prints progress or creates a folder."""
    program = (
        "import sys\nimport querytape.servers.programs as programs\nfrom querytape.__main__ import main\n"
        "programs.SYSTEM_FOLDERS = ()\nsys.argv = ['querytape', 'demo', '--keep', 'shop']\nmain()\n"
    )
    done = subprocess.run(
        [str(installed / "bin" / "python"), "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PATH": str(tmp_path), "HOME": str(tmp_path), "QT_SERVERS": str(tmp_path / "none")},
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout == ""
    assert re.fullmatch(
        r"querytape: no mariadb server on this machine\. Install MariaDB's programs with: (sudo )?apt-get install --no-install-recommends "
        r"mariadb-server-core mariadb-client-core \(.*\)\nThen run `querytape demo` again\.\n",
        done.stderr,
    ), done.stderr
    assert not (tmp_path / "shop").exists()


def test_action_installs_querytape_or_uses_the_installed_one(
    built: Built, installed: Path, checkout: Path, tmp_path: Path
) -> None:
    """scripts/ci-install is the first step of action.yml. It installs querytape into a new environment and adds the
    environment to the job's PATH. For an invalid package name, it installs nothing.
    """
    script, paths = checkout / "scripts" / "ci-install", tmp_path / "path"
    job = {**clean_environment(), "GITHUB_PATH": str(paths), "RUNNER_TEMP": str(tmp_path / "a runner")}
    given = {"QT_INSTALL": f"\n--no-cache-dir\r\n{built.wheel}\n"}
    done = subprocess.run([script], cwd=tmp_path, env=job | given, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("0.1.0")
    (folder,) = paths.read_text().splitlines()
    assert folder.startswith(str(tmp_path / "a runner"))
    assert subprocess.run([Path(folder) / "querytape", "--help"], capture_output=True).returncode == 0
    given = {"QT_INSTALL": "no", "PATH": f"{installed / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([script], cwd=tmp_path, env=job | given, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip().endswith("0.1.0")
    given = {"QT_INSTALL": "--no-index\nquerytape==9.9.9; touch pwned"}
    done = subprocess.run([script], cwd=tmp_path, env=job | given, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert not list(tmp_path.rglob("pwned"))


def test_installed_package_has_its_types(installed: Path, tmp_path: Path) -> None:
    where = run(installed, tmp_path, "python", "-c", "import querytape.native.bindings.parsers as m; print(m.__file__)")
    assert where.startswith(str(installed))
    assert (Path(where.strip()).parents[2] / "py.typed").exists()


def test_lock_file_matches_the_declared_requirements() -> None:
    """requirements.lock has each required package with hashes, in a version that the requirements allow."""
    text = (Path(__file__).resolve().parent.parent / "requirements.lock").read_text(encoding="utf-8")
    locked = [(Requirement(line.rstrip(" \\")), line) for line in text.splitlines() if re.match(r"[a-z0-9]", line)]
    assert all("\n    --hash=sha256:" in part for part in re.split(r"\n(?=[a-z0-9])", text)[1:])
    versions = {}
    for requirement, line in locked:
        if requirement.marker is None or requirement.marker.evaluate():
            assert requirement.name not in versions, line
            versions[requirement.name] = str(requirement.specifier).removeprefix("==")
    for asked in map(Requirement, metadata.requires("querytape") or []):
        if asked.marker is None or asked.marker.evaluate({"extra": "dev"}):
            assert asked.specifier.contains(versions[canonicalize_name(asked.name)]), asked


def test_only_duckdb_and_mutmut_have_upper_bounds() -> None:
    """New versions of these two packages have broken querytape before, or may break it."""
    bounded = {
        each.name for each in map(Requirement, metadata.requires("querytape") or []) if "<" in str(each.specifier)
    }
    assert bounded == {"duckdb", "mutmut"}
