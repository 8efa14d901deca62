# SPDX-License-Identifier: Apache-2.0
"""`make release-check` on a small checkout with real archives. It prints nothing if everything matches, and names each
fault.
"""

import io
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT, skip_loudly

pytestmark = pytest.mark.slow

SCRIPT = CHECKOUT / "scripts" / "release_check.py"
VERSION = "1.2.3"
META = "Metadata-Version: 2.1\nName: querytape\nVersion: {version}\nSummary: s\nDescription-Content-Type: text/markdown\n\n# x\n"
FILES = {
    "common/version.py": f'__version__ = "{VERSION}"\n',
    "CHANGELOG.md": f"# Changelog\n\n## {VERSION} (2026-12-01)\n\n- a\n\n## 1.2.2 (2026-11-01)\n",
    "docs/ci.md": f"    uses: OWNER/querytape@v{VERSION}\n    install: querytape=={VERSION}\n",
    ".gitignore": "dist/\n",
    **dict.fromkeys(("README.md", "LICENSE", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"), "x\n"),
    ".github/ISSUE_TEMPLATE/bug_report.yml": "x\n",
    ".github/ISSUE_TEMPLATE/config.yml": "x\n",
}


def write_wheel(
    dist: Path, tag: str, version: str = VERSION, without: str = "", library: bytes = b"", junk: str = ""
) -> Path:
    """Write a wheel with the contents of a release, except one file."""
    info = f"querytape-{version}.dist-info"
    files = {
        "querytape/__init__.py": b"x = 1\n",
        "querytape/native/_querytape.abi3.so": library,
        f"{info}/METADATA": META.format(version=version).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: false\nTag: cp311-abi3-{tag}\n".encode(),
        f"{info}/licenses/NOTICE": b"x",
        f"{info}/licenses/LGPL-2.1": b"x",
        f"{info}/sboms/auditwheel.cdx.json": b"{}",
    }
    files |= {junk: b"x"} if junk else {}
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD")).encode()
    path = dist / f"querytape-{version}-cp311-abi3-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            if not without or without not in name:
                archive.writestr(name, content)
    return path


def write_sdist(dist: Path, without: str = "") -> None:
    """Write a source archive with the contents of a release, except one file."""
    with tarfile.open(dist / f"querytape-{VERSION}.tar.gz", "w:gz") as archive:
        for name in ("PKG-INFO", "LICENSE", "CHANGELOG.md", "setup.py", "native/querytape.h", "common/version.py"):
            if name != without:
                entry, content = tarfile.TarInfo(f"querytape-{VERSION}/{name}"), META.format(version=VERSION).encode()
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))


@pytest.fixture(scope="module")
def library() -> bytes:
    """Return the extension module of this checkout. The audit tools need a real library."""
    return next((CHECKOUT / "native").glob("_querytape.abi3.so")).read_bytes()


@pytest.fixture
def root(tmp_path: Path, library: bytes, request: pytest.FixtureRequest) -> Path:
    """Create a checkout that is ready for release, with the tag on its last commit."""
    if platform.machine() not in ("x86_64", "aarch64"):
        skip_loudly(request, "no machine that a release has a wheel for: release-check is not tested")
    root = tmp_path / "ready"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=x")
    git(root, "tag", f"v{VERSION}")
    dist = root / "dist"
    dist.mkdir()
    other = {"x86_64": "aarch64", "aarch64": "x86_64"}[platform.machine()]
    # The library is linked with this machine's libraries, so auditwheel reports it as linux despite its name.
    write_wheel(dist, f"manylinux_2_28_{other}", library=library)
    write_wheel(dist, f"manylinux_2_28_{platform.machine()}", library=library)
    write_sdist(dist)
    return root


def git(root: Path, *words: str) -> None:
    """Run git with a test identity."""
    settings = ("user.name=x", "user.email=x@example.com", "commit.gpgsign=false", "tag.gpgsign=false")
    who = [word for setting in settings for word in ("-c", setting)]
    subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True)


def check(root: Path, *words: str) -> tuple[int, list[str]]:
    """Run the check and return the exit code and the findings."""
    done = subprocess.run(
        [sys.executable, SCRIPT, "--root", root, *words], capture_output=True, text=True, timeout=300, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, [line[2:] for line in done.stdout.splitlines() if line.startswith("- ")]


@pytest.mark.long
def test_ready_release_has_only_the_auditwheel_finding(root: Path) -> None:
    """The library is linked with this system's libraries, so auditwheel never accepts it as manylinux."""
    code, found = check(root)
    (text,) = found
    assert text.endswith(f"_{platform.machine()}.whl: auditwheel: this is linux_{platform.machine()}")
    assert code == 1
    assert check(root, "--before-building") == (0, [])
    assert check(root, "--before-building", "--tag", f"v{VERSION}") == (0, [])


def changed(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Return a function that changes a file of the checkout and commits the change under the tag."""

    def change(root: Path) -> None:
        text = (root / name).read_text()
        assert old in text
        (root / name).write_text(text.replace(old, new))
        git(root, "commit", "--quiet", "--all", "--message=y")
        git(root, "tag", "--force", f"v{VERSION}")

    return change


def removed(name: str) -> Callable[[Path], None]:
    """Return a function that removes a file of the checkout and commits the change under the tag."""

    def change(root: Path) -> None:
        git(root, "rm", "--quiet", name)
        git(root, "commit", "--quiet", "--message=y")
        git(root, "tag", "--force", f"v{VERSION}")

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda root: git(root, "tag", "--delete", f"v{VERSION}"),
            "the tag: expected v1.2.3 on this commit, found none",
        ),
        (
            lambda root: git(root, "commit", "--allow-empty", "--message=y"),
            "expected v1.2.3 on this commit, found none",
        ),
        (lambda root: (root / "README.md").write_text("y"), "1 files are changed or not committed: README.md"),
        (lambda root: (root / "new.txt").write_text("y"), "1 files are changed or not committed: new.txt"),
        (changed("CHANGELOG.md", "(2026-12-01)", "(not released yet)"), "found '1.2.3 (not released yet)'"),
        (changed("CHANGELOG.md", "## 1.2.3", "## 1.2.4"), "expected '## 1.2.3 (YYYY-MM-DD)' as the first heading"),
        (changed("CHANGELOG.md", "## 1.2.2", "## 1.2.3"), "a version has two headings"),
        (changed("docs/ci.md", "==1.2.3", "==1.2.2"), "docs/ci.md names querytape 1.2.2"),
        (changed("docs/ci.md", "@v1.2.3", "@v1.2"), "docs/ci.md names querytape 1.2"),
        (changed("common/version.py", "1.2.3", "1.2.3.dev0"), "1.2.3.dev0 is no release"),
        (removed("CODE_OF_CONDUCT.md"), "CODE_OF_CONDUCT.md is missing"),
    ],
)
def test_each_checkout_fault_is_named(root: Path, change: Callable[[Path], None], sentence: str) -> None:
    change(root)
    code, found = check(root, "--before-building")
    assert code == 1
    assert sentence in "\n".join(found)


def test_tag_that_did_not_start_the_workflow_is_no_release(root: Path) -> None:
    """The release uses only the tag that started the release workflow, not other tags on the commit."""
    assert check(root, "--before-building", "--tag", "v1.2.4")[0] == 1


@pytest.mark.long
def test_each_fault_of_the_archives_is_named(root: Path, library: bytes) -> None:
    """Tested faults are an unexpected file, missing files, another version, and a broken archive."""
    dist = root / "dist"
    shutil.rmtree(dist)
    assert f"{dist} is missing: nothing is built" in check(root)[1]
    dist.mkdir()
    assert check(root)[1] == [
        "querytape-1.2.3.tar.gz is missing",
        "expected one manylinux wheel for x86_64, found 0",
        "expected one manylinux wheel for aarch64, found 0",
    ]
    write_sdist(dist, without="native/querytape.h")
    write_wheel(dist, "manylinux_2_28_x86_64", library=library, without="NOTICE")
    write_wheel(dist, "manylinux_2_28_aarch64", version="1.2.2", library=library)
    (dist / "notes.txt").write_text("x")
    found = "\n".join(check(root)[1])
    assert "dist/ has more than this release: notes.txt" in found
    assert "querytape-1.2.3.tar.gz lacks native/querytape.h" in found
    assert "lacks querytape-1.2.3.dist-info/licenses/NOTICE: make wheel writes it" in found
    assert "querytape-1.2.2-cp311-abi3-manylinux_2_28_aarch64.whl: expected querytape-1.2.3-cp311-abi3-" in found
    write_wheel(dist, "manylinux_2_28_x86_64", library=b"no library", junk="querytape/x.pyc")
    found = "\n".join(check(root)[1])
    assert "check_wheel_contents: " in found
    assert "W001: Wheel contains .pyc" in found
    assert "abi3audit" in found
