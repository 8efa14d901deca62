# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel that runs without a compiler and without separately installed libraries.

`make wheel` runs this script.

build ─► add login plugins ─► auditwheel repair: libraries inside, tag ─► notices, SBOM ─► audits

The libraries come from the Debian system of this machine. If QT_LIBRARIES names a folder made by
scripts/build-libraries, the libraries in this folder are used instead, on any system. Releases use this folder and
`--repair` on a built wheel (pyproject.toml, tool.cibuildwheel).
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PCAP = ROOT / "build" / "libpcap"
# Login plugins of MySQL and MariaDB. native_password is missing, because it is built into Connector/C.
PLUGINS = ("caching_sha2_password", "sha256_password", "client_ed25519", "mysql_clear_password", "dialog", "parsec")
NEEDED = PLUGINS[:5]
LGPL = Path("/usr/share/common-licenses/LGPL-2.1")
OFFER = """\
MariaDB Connector/C ({version}) is under the GNU Lesser General Public License, version 2.1 (LGPL-2.1 in this folder).
It is a shared library of its own in querytape.libs/, which you may replace by one that you built. Its source, as it was
built, is Debian's source package {source}: {url}. For three years
from the day of a release whoever made it gives you that source for no more than the price of sending it.
"""
BUILT = os.environ.get("QT_LIBRARIES")


@dataclass(frozen=True)
class Library:
    """A library in the wheel: its file in the wheel, its package, its source package, and the URL of the source."""

    file: str
    package: str
    version: str
    source: str
    url: str = ""

    @property
    def copyright(self) -> Path:
        """The licence file of the library, from its own source or from Debian."""
        if self.url and BUILT:
            return Path(BUILT) / "licences" / f"{self.package}.txt"
        return Path("/usr/share/doc") / self.package / "copyright"

    @property
    def purl(self) -> str:
        """The package URL (purl) of the library in an SBOM."""
        kind = "generic" if self.url else "deb/debian"
        return f"pkg:{kind}/{self.package}@{self.version}"


def run(*command: object, **more: object) -> str:
    """Run a program and return its output. Exits with the program's output if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, **more)  # type: ignore[call-overload]
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}")
    return str(done.stdout)


def python(*arguments: object, **more: object) -> str:
    """Run a Python module with the interpreter of this process."""
    return run(sys.executable, "-m", *arguments, **more)


def package_of(path: Path) -> tuple[str, str, str]:
    """Return the Debian package of a file, its version and its source package. Exits if the file has no package."""
    for name in (
        path,
        path.resolve(),
        Path("/usr") / str(path.resolve()).lstrip("/"),
        Path(str(path).removeprefix("/usr")),
    ):
        found = subprocess.run(["dpkg", "-S", str(name)], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            package = found.stdout.split(":")[0]
            fields = run("dpkg-query", "-W", "-f", "${Version}\t${source:Package}", package).split("\t")
            return package, fields[0], fields[1]
    raise SystemExit(f"{path}: no Debian package has it, so its licence is unknown")


def plugin_folder() -> Path:
    """Return the folder of Connector/C's plugins."""
    return Path(run("mariadb_config", "--plugindir").strip())


def add_plugins(unpacked: Path) -> None:
    """Copy the login plugins into the package, where `native/bindings/libraries.py` finds them."""
    to = unpacked / "querytape" / "native" / "plugins"
    to.mkdir(parents=True)
    for name in PLUGINS:
        source = plugin_folder() / f"{name}.so"
        if source.exists():
            (to / source.name).write_bytes(source.read_bytes())
        elif name in NEEDED:
            raise SystemExit(f"{source} is missing: without it nobody with such an account could log in")


def libraries_of(unpacked: Path) -> list[Library]:
    """Return the libraries in a repaired wheel under their original names, and the login plugins."""
    return built_libraries_of(unpacked, Path(BUILT)) if BUILT else libraries_of_debian(unpacked)


def built_libraries_of(unpacked: Path, folder: Path) -> list[Library]:
    """Return the wheel's libraries made by scripts/build-libraries. Exits if the wheel has any other library."""
    rows = [line.split("\t") for line in (folder / "parts.tsv").read_text(encoding="utf-8").splitlines()]
    known = {file: (name, version, url) for file, name, version, _, url in rows}
    inside = [path for path in unpacked.rglob("*.so*") if path.suffix != ".py"]
    made = []
    for path in sorted(inside):
        file = path.relative_to(unpacked).as_posix()
        name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", path.name) if file.startswith("querytape.libs/") else file
        fitting = [known[each] for each in known if name == each or name.startswith(f"{each}.")]
        if not fitting:
            raise SystemExit(f"{file}: it is not known where it came from")
        package, version, url = fitting[0]
        made.append(Library(file, package, version, package, url))
    return made


def libraries_of_debian(unpacked: Path) -> list[Library]:
    """Return the wheel's libraries that come from the Debian system of this machine."""
    known: dict[str, Path] = {}
    for line in run("/sbin/ldconfig", "-p").splitlines():
        found = re.match(r"\s+(\S+) \(.*x86-64.*\) => (\S+)", line) or re.match(
            r"\s+(\S+) \(.*AArch64.*\) => (\S+)", line
        )
        if found:
            known.setdefault(found[1], Path(found[2]))
    made = []
    for path in sorted((unpacked / "querytape.libs").iterdir()):
        name = re.sub(r"-[0-9a-f]{8}(?=\.so)", "", path.name)
        fitting = [
            file for known_name, file in known.items() if known_name.startswith(name) or file.resolve().name == name
        ]
        if not fitting:
            raise SystemExit(f"{path.name}: it is not known where it came from")
        made.append(Library(f"querytape.libs/{path.name}", *package_of(fitting[0])))
    for path in sorted((unpacked / "querytape" / "native" / "plugins").iterdir()):
        made.append(Library(f"querytape/native/plugins/{path.name}", *package_of(plugin_folder() / path.name)))
    return made


def write_notices(info: Path, libraries: list[Library]) -> None:
    """Write NOTICE and the licence text of each library into the wheel's licence folder."""
    folder = info / "licenses"
    folder.mkdir(exist_ok=True)
    lines = [
        "querytape is under the Apache License 2.0. This wheel holds libraries of others, "
        + ("built from the sources of Debian:" if BUILT else "as Debian builds them:"),
        "",
    ]
    connector = next(each for each in libraries if Path(each.file).name.startswith("libmariadb"))
    for library in libraries:  # the licence text of Connector/C itself is the LGPL
        text = folder / ("LGPL-2.1" if BUILT and library.package == connector.package else f"{library.package}.txt")
        text.write_bytes(library.copyright.read_bytes())
        lines.append(f"{library.file}\n    {library.source} {library.version}, licence: {text.name}")
    version = (PCAP / "VERSION").read_text(encoding="ascii").strip()
    (folder / "libpcap.txt").write_bytes((PCAP / "LICENSE").read_bytes())
    lines.append(f"querytape/native/_querytape.abi3.so\n    has libpcap {version} inside, licence: libpcap.txt")
    url = connector.url or f"https://snapshot.debian.org/package/{connector.source}/"
    lines += ["", OFFER.format(version=connector.version, source="mariadb" if BUILT else connector.source, url=url)]
    if not BUILT:
        (folder / "LGPL-2.1").write_bytes(LGPL.read_bytes())
    (folder / "NOTICE").write_text("\n".join(lines), encoding="utf-8")


def complete_sbom(info: Path, libraries: list[Library]) -> None:
    """Add the missing libraries to the SBOM (CycloneDX) of auditwheel, which lists only some of Debian's packages."""
    path = info / "sboms" / "auditwheel.cdx.json"
    if path.exists():
        sbom = json.loads(path.read_text(encoding="utf-8"))
    else:  # auditwheel writes an SBOM only for known packages
        path.parent.mkdir(exist_ok=True)
        sbom = {"bomFormat": "CycloneDX", "specVersion": "1.4", "version": 1}
    parts = sbom.setdefault("components", [])
    named = {part["name"] for part in parts}
    version = (PCAP / "VERSION").read_text(encoding="ascii").strip()
    more = [(each.package, each.version, each.purl) for each in libraries]
    for name, number, url in sorted({*more, ("libpcap", version, f"pkg:generic/libpcap@{version}")}):
        if name not in named:
            parts.append({"type": "library", "bom-ref": url, "name": name, "version": number, "purl": url})
    path.write_text(json.dumps(sbom, indent=2) + "\n", encoding="utf-8")


def unpack(wheel: Path, to: Path) -> Path:
    """Unpack a wheel and return the folder of its files."""
    python("wheel", "unpack", "--dest", to, wheel)
    return next(to.iterdir())


def make(work: Path, output: Path) -> Path:
    """Build the wheel, repair it, and put it into `output`. Return the path of the wheel."""
    run(ROOT / "scripts" / "build-libpcap", PCAP)
    environment = {**os.environ, "QT_PCAP": str(PCAP)}
    smaller = "-ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables"
    environment["CFLAGS"] = f"{environment.get('CFLAGS', '')} {smaller}"
    environment["LDFLAGS"] = f"{environment.get('LDFLAGS', '')} -Wl,--gc-sections"  # drops unused functions
    python("build", "--outdir", work / "plain", ROOT, env=environment)  # from the source archive, ignores old builds
    return repair(next((work / "plain").glob("*.whl")), work, output)


def repair(wheel: Path, work: Path, output: Path) -> Path:
    """Make a portable wheel in `output` from a wheel that was built on this machine.

    Return the path of the new wheel.
    """
    unpacked = unpack(wheel, work / "with-plugins")
    add_plugins(unpacked)
    python("wheel", "pack", "--dest-dir", work, unpacked)
    python("auditwheel", "repair", "--strip", "--wheel-dir", work / "repaired", next(work.glob("*.whl")))
    unpacked = unpack(next((work / "repaired").glob("*.whl")), work / "complete")
    libraries = libraries_of(unpacked)
    info = next(unpacked.glob("*.dist-info"))
    write_notices(info, libraries)
    complete_sbom(info, libraries)
    python("wheel", "pack", "--dest-dir", output, unpacked)
    wheel = max(output.glob("*manylinux*.whl"), key=lambda path: path.stat().st_mtime)
    compress(wheel)
    run("advzip", "--recompress", "--shrink-insane", "--quiet", wheel)  # zopfli: 4 % smaller than zlib's best
    return wheel


def compress(wheel: Path) -> None:
    """Rewrite the wheel with zlib's best compression, because `wheel pack` has no option for the compression level."""
    smaller = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(smaller, "w") as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry), compresslevel=9)
    smaller.replace(wheel)


def audit(wheel: Path) -> None:
    """Check the wheel with auditwheel, abi3audit, twine and check-wheel-contents. Exit if a program finds a fault."""
    print(re.sub(r"\s*\n\s*", " ", python("auditwheel", "show", wheel)).strip())
    beside = ("--ignore", "W009,W010")  # auditwheel puts libraries into a separate folder
    for words in (("abi3audit", "--strict"), ("twine", "check", "--strict"), ("check_wheel_contents", *beside)):
        python(*words, wheel)
        print(f"{words[0]}: nothing found")
    with zipfile.ZipFile(wheel) as archive:
        whole = sum(entry.file_size for entry in archive.infolist())
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.2f} MB, {whole / 1e6:.1f} MB unpacked")


def main() -> None:
    """Make the wheel and audit it."""
    parser = argparse.ArgumentParser(prog="make wheel")
    parser.add_argument("--outdir", type=Path, default=ROOT / "dist")
    parser.add_argument("--repair", type=Path, help="a wheel that is built: leave out building and the audits")
    given = parser.parse_args()
    output = given.outdir.resolve()
    output.mkdir(parents=True, exist_ok=True)
    if BUILT:
        use_built(Path(BUILT).resolve())
    with tempfile.TemporaryDirectory() as work:
        if given.repair:
            repair(given.repair.resolve(), Path(work), output)
        else:
            audit(make(Path(work), output))


def use_built(folder: Path) -> None:
    """Make the compiler and the linker find the libraries in a folder of scripts/build-libraries."""
    if not (folder / "parts.tsv").exists():
        raise SystemExit(f"QT_LIBRARIES: {folder} has no parts.tsv: scripts/build-libraries {folder} makes it")
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    os.environ["CFLAGS"] = f"{os.environ.get('CFLAGS', '')} -I{folder}/include"
    # auditwheel finds the libraries by the rpath of the extension, and then removes this rpath. LD_LIBRARY_PATH would
    # also affect Python.
    os.environ["LDFLAGS"] = f"{os.environ.get('LDFLAGS', '')} -L{folder}/lib -Wl,-rpath,{folder}/lib"


if __name__ == "__main__":
    main()
