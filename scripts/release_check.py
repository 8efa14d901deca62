# SPDX-License-Identifier: Apache-2.0
"""Lists the missing steps of a release.

The exit code is 1 if a step is missing. `make release-check` runs this script. The tag, common/version.py, the first
heading of the changelog and the pages must name the same version. The checkout must have no uncommitted changes. dist/
must have the source archive and a wheel for each machine. Each wheel must have this version, pass the audits, and
contain licences and an SBOM.
"""

import argparse
import platform
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

VERSION_FILE = "common/version.py"
MACHINES = ("x86_64", "aarch64")
MAX_WHEEL = 4_300_000  # maximum size of a wheel in bytes
# Files that new users and contributors look for.
WANTED = (
    *("README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"),
    *(".github/ISSUE_TEMPLATE/bug_report.yml", ".github/ISSUE_TEMPLATE/config.yml"),
)


def version_of(root: Path) -> str:
    """Return the version from common/version.py."""
    found = re.findall(r'^__version__ = "(.+)"$', (root / VERSION_FILE).read_text(encoding="utf-8"), re.M)
    if len(found) != 1:
        raise SystemExit(f"{VERSION_FILE}: expected one version, found {len(found)}")
    return str(found[0])


def git(root: Path, *words: str) -> str:
    """Return the output of git, or an empty text if git fails."""
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    return done.stdout.rstrip() if done.returncode == 0 else ""


def tree_findings(root: Path, version: str, tag: str | None) -> Iterator[str]:
    """Yield the faults of the tag and the checkout."""
    tags = [tag] if tag else git(root, "tag", "--points-at", "HEAD").split()
    if f"v{version}" not in tags:
        yield f"the tag: expected v{version} on this commit, found {', '.join(tags) or 'none'}"
    changed = git(root, "status", "--porcelain").splitlines()
    if changed:
        yield f"{len(changed)} files are changed or not committed: {', '.join(line[3:] for line in changed[:5])}"
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        yield f"{VERSION_FILE}: {version} is no release: expected a number such as 1.2.3 or 1.2.3rc1"
    for name in WANTED:
        if not (root / name).is_file():
            yield f"{name} is missing"


def text_findings(root: Path, version: str) -> Iterator[str]:
    """Yield the faults of the changelog and of version numbers in the pages."""
    heads = re.findall(r"^## (.+)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    first = heads[0] if heads else "no heading"
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", first):
        yield f"CHANGELOG.md: expected '## {version} (YYYY-MM-DD)' as the first heading, found '{first}'"
    if len(heads) != len({head.split()[0] for head in heads}):
        yield "CHANGELOG.md: a version has two headings"
    for page in sorted((root / "docs").glob("*.md")):
        for named in re.findall(r"querytape(?:==|@v)(\d[\w.]*\w)", page.read_text(encoding="utf-8")):
            if named != version:
                yield f"docs/{page.name} names querytape {named}"


def dist_findings(dist: Path, version: str) -> Iterator[str]:
    """Yield the faults of the archives in dist/."""
    if not dist.is_dir():
        yield f"{dist} is missing: nothing is built"
        return
    sdist = dist / f"querytape-{version}.tar.gz"
    wheels = sorted(dist.glob("*.whl"))
    others = [path.name for path in sorted(dist.iterdir()) if path not in (sdist, *wheels)]
    if others:
        yield f"{dist.name}/ has more than this release: {', '.join(others)}"
    if sdist.is_file():
        yield from sdist_findings(sdist, version)
        yield from audited(sdist, ("twine", "check", "--strict"))
    else:
        yield f"{sdist.name} is missing"
    for machine in MACHINES:
        fitting = [path for path in wheels if path.stem.endswith(f"_{machine}") and "manylinux" in path.name]
        if len(fitting) != 1:
            yield f"expected one manylinux wheel for {machine}, found {len(fitting)}"
    for wheel in wheels:
        yield from wheel_findings(wheel, version)


def sdist_findings(sdist: Path, version: str) -> Iterator[str]:
    """Yield the missing files of the source archive."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("LICENSE", "CHANGELOG.md", "setup.py", "native/querytape.h", VERSION_FILE):
        if name not in names:
            yield f"{sdist.name} lacks {name}"
    if any(name.endswith((".so", ".o")) for name in names):
        yield f"{sdist.name} has compiled files"


def wheel_findings(wheel: Path, version: str) -> Iterator[str]:
    """Yield the faults of a wheel: its name, its missing files, and the findings of the auditors."""
    if not wheel.name.startswith(f"querytape-{version}-cp311-abi3-"):
        yield f"{wheel.name}: expected querytape-{version}-cp311-abi3-..."
        return
    if wheel.stat().st_size > MAX_WHEEL:
        yield f"{wheel.name} has {wheel.stat().st_size:,} bytes: at most {MAX_WHEEL:,} are meant"
    info = f"querytape-{version}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        meta = HeaderParser().parsestr(archive.read(f"{info}/METADATA").decode())
    if meta["Version"] != version:
        yield f"{wheel.name}: METADATA says {meta['Version']}"
    for name in (f"{info}/licenses/NOTICE", f"{info}/licenses/LGPL-2.1", f"{info}/sboms/auditwheel.cdx.json"):
        if name not in names:
            yield f"{wheel.name} lacks {name}: make wheel writes it"
    yield from audited(wheel, ("twine", "check", "--strict"))
    yield from audited(wheel, ("check_wheel_contents", "--ignore", "W009,W010"))
    yield from audited(wheel, ("abi3audit", "--strict"))
    if wheel.stem.endswith(f"_{platform.machine()}"):
        yield from older_systems(wheel)


def older_systems(wheel: Path) -> Iterator[str]:
    """Yield a finding if the wheel's name includes older systems, but auditwheel rates it for newer systems only."""
    named = glibc(wheel.stem)
    said = re.search(r'following platform tag:\s+"(\w+)"', said_by(wheel, ("auditwheel", "show"))[1])
    found = glibc(said[1]) if said else None
    if named is None or found is None or found > named:
        yield f"{wheel.name}: auditwheel: this is {said[1] if said else 'no wheel for Linux'}"


def glibc(tag: str) -> tuple[int, int] | None:
    """Return the oldest glibc version that a platform tag supports."""
    numbers = re.search(r"manylinux_(\d+)_(\d+)_", tag)
    return (int(numbers[1]), int(numbers[2])) if numbers else None


def audited(path: Path, words: tuple[str, ...]) -> Iterator[str]:
    """Yield the message of an auditor if it finds a fault."""
    code, said = said_by(path, words)
    if code != 0:
        yield f"{path.name}: {words[0]}: {said[-400:]}"


def said_by(path: Path, words: tuple[str, ...]) -> tuple[int, str]:
    """Return the exit code of an auditor and its output as one line."""
    done = subprocess.run([sys.executable, "-m", *words, str(path)], capture_output=True, text=True, check=False)
    return done.returncode, " ".join(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr).split())


def main() -> None:
    """Print the missing steps. Exit with 1 if a step is missing."""
    parser = argparse.ArgumentParser(prog="make release-check")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--tag", help="the tag; default: those of this commit")
    parser.add_argument("--dist", type=Path, help="folder of the archives; default: dist")
    parser.add_argument("--before-building", action="store_true", help="leave the archives out")
    given = parser.parse_args()
    version = version_of(given.root)
    found = [*tree_findings(given.root, version, given.tag), *text_findings(given.root, version)]
    if not given.before_building:
        found += dist_findings(given.dist or given.root / "dist", version)
    for text in found:
        print(f"- {text}")
    if found:
        raise SystemExit(f"querytape {version} is not ready: {len(found)} findings")
    print(f"querytape {version} is ready to be released")


if __name__ == "__main__":
    main()
