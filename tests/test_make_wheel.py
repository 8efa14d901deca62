# SPDX-License-Identifier: Apache-2.0
"""Tests of the licence notices that `make wheel` writes for bundled libraries. `make wheel test-wheel` builds a wheel
and installs it in a minimal Debian.
"""

import importlib.util
import json
import shutil
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from .conftest import skip_loudly


@pytest.fixture
def make_wheel(checkout: Path, tmp_path: Path, request: pytest.FixtureRequest) -> ModuleType:
    """Load the script with the folder of a libpcap that was not built."""
    if shutil.which("dpkg") is None:
        skip_loudly(request, "no dpkg: whose a library is, and its licence, is not looked up")
    spec = importlib.util.spec_from_file_location("make_wheel", checkout / "scripts" / "make_wheel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)

    sys.modules["make_wheel"] = module
    spec.loader.exec_module(module)
    (tmp_path / "pcap").mkdir()
    (tmp_path / "pcap" / "VERSION").write_text("1.2.3\n")
    (tmp_path / "pcap" / "LICENSE").write_text("three clauses\n")
    module.PCAP = tmp_path / "pcap"  # type: ignore[attr-defined]
    return module


@pytest.mark.slow
def test_every_bundled_library_is_listed_with_its_licence(make_wheel: ModuleType, tmp_path: Path) -> None:
    """auditwheel renames the libraries. NOTICE, the licence texts and the list of parts contain the original name of
    each package.
    """
    unpacked, info = tmp_path / "w", tmp_path / "w" / "querytape-1.dist-info"
    for folder in (unpacked / "querytape.libs", unpacked / "querytape" / "native" / "plugins", info / "sboms"):
        folder.mkdir(parents=True)
    for name in ("libcrypto-0123abcd.so.3", "libmariadb-0123abcd.so.3", "liblzma-0123abcd.so.5.4.1"):
        if name.startswith("liblzma"):
            real = next(Path("/").glob("lib/*/liblzma.so.5.*"), None) or next(Path("/usr/lib").glob("*/liblzma.so.5.*"))
            name = f"liblzma-0123abcd{real.name.removeprefix('liblzma')}"
        (unpacked / "querytape.libs" / name).write_bytes(b"")
    (unpacked / "querytape" / "native" / "plugins" / "dialog.so").write_bytes(b"")
    (info / "sboms" / "auditwheel.cdx.json").write_text('{"components": [{"name": "libssl3"}]}')
    libraries = make_wheel.libraries_of(unpacked)
    packages = [each.package for each in libraries]
    assert [name[:6] for name in packages] == ["libssl", "liblzm", "libmar", "libmar"]
    make_wheel.write_notices(info, libraries)
    make_wheel.complete_sbom(info, libraries)
    notice = (info / "licenses" / "NOTICE").read_text()
    for each in libraries:
        assert f"{each.file}\n    {each.source} {each.version}, licence: {each.package}.txt" in notice
        assert (info / "licenses" / f"{each.package}.txt").stat().st_size > 100
    assert "has libpcap 1.2.3 inside" in notice
    assert "For three years" in notice
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in (info / "licenses" / "LGPL-2.1").read_text()
    named = [part["name"] for part in json.loads((info / "sboms" / "auditwheel.cdx.json").read_text())["components"]]
    assert sorted(named) == sorted({"libssl3", "libpcap", *packages})


def test_libraries_built_from_source_are_listed(make_wheel: ModuleType, tmp_path: Path) -> None:
    """Name, licence and source of a built library come from the list of scripts/build-libraries, even on a system
    without dpkg.
    """
    built, unpacked = tmp_path / "built", tmp_path / "w"
    info = unpacked / "querytape-1.dist-info"
    for folder in (
        built / "licences",
        unpacked / "querytape.libs",
        unpacked / "querytape" / "native" / "plugins",
        info,
    ):
        folder.mkdir(parents=True)
    rows = {
        "libmariadb.so.3": ("mariadb-connector-c", "3.4.9", "LGPL-2.1-or-later", "https://example.com/c"),
        "liblzma.so.5": ("xz-utils", "5.8.1", "0BSD", "https://example.com/x"),
        "querytape/native/_querytape.abi3.so": ("xxhash", "0.8.3", "BSD-2-Clause", "https://example.com/h"),
        "querytape/native/plugins/dialog.so": (
            "mariadb-connector-c",
            "3.4.9",
            "LGPL-2.1-or-later",
            "https://example.com/c",
        ),
    }
    (built / "parts.tsv").write_text("".join("\t".join((file, *row)) + "\n" for file, row in rows.items()))
    for name, *_ in rows.values():
        (built / "licences" / f"{name}.txt").write_text(f"licence of {name}\n")
    inside = ("libmariadb-0123abcd.so.3", "liblzma-0123abcd.so.5.8.1")
    for name in (*(f"querytape.libs/{each}" for each in inside), *list(rows)[2:]):
        (unpacked / name).write_bytes(b"")
    make_wheel.BUILT = str(built)  # type: ignore[attr-defined]
    libraries = make_wheel.libraries_of(unpacked)
    assert {(each.file, each.package, each.version) for each in libraries} == {
        ("querytape.libs/libmariadb-0123abcd.so.3", "mariadb-connector-c", "3.4.9"),
        ("querytape.libs/liblzma-0123abcd.so.5.8.1", "xz-utils", "5.8.1"),
        ("querytape/native/_querytape.abi3.so", "xxhash", "0.8.3"),
        ("querytape/native/plugins/dialog.so", "mariadb-connector-c", "3.4.9"),
    }
    make_wheel.write_notices(info, libraries)
    make_wheel.complete_sbom(info, libraries)
    notice = (info / "licenses" / "NOTICE").read_text()
    assert "libraries of others, built from the sources of Debian" in notice
    assert "is Debian's source package mariadb: https://example.com/c" in notice
    assert (info / "licenses" / "LGPL-2.1").read_text() == "licence of mariadb-connector-c\n"
    assert not (info / "licenses" / "mariadb-connector-c.txt").exists(), "the same text twice"
    sbom = json.loads((info / "sboms" / "auditwheel.cdx.json").read_text())
    assert sbom["bomFormat"] == "CycloneDX"
    assert "pkg:generic/xz-utils@5.8.1" in {part["purl"] for part in sbom["components"]}
    (unpacked / "querytape.libs" / "libother-0123abcd.so.1").write_bytes(b"")
    with pytest.raises(SystemExit, match=r"libother.*it is not known where it came from"):
        make_wheel.libraries_of(unpacked)


def test_library_that_belongs_to_no_package_is_an_error(make_wheel: ModuleType, tmp_path: Path) -> None:
    """Without a package, the licence of the library is unknown."""
    (tmp_path / "w" / "querytape.libs").mkdir(parents=True)
    (tmp_path / "w" / "querytape.libs" / "libnobody-0123abcd.so.1").write_bytes(b"")
    with pytest.raises(SystemExit, match="it is not known where it came from"):
        make_wheel.libraries_of(tmp_path / "w")
    (tmp_path / "own.so").write_bytes(b"")
    with pytest.raises(SystemExit, match="no Debian package has it"):
        make_wheel.package_of(tmp_path / "own.so")


def test_wheel_is_compressed_without_changing_its_contents(make_wheel: ModuleType, tmp_path: Path) -> None:
    """File names, contents, permissions and order of the wheel stay the same."""
    wheel = tmp_path / "w.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, mode in (("b.so", 0o755), ("a.py", 0o644)):
            entry = zipfile.ZipInfo(name)
            entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, b"".join(b"%d squared is %d\n" % (n, n * n) for n in range(5000)))
    with zipfile.ZipFile(wheel) as archive:
        before = [(entry.filename, entry.external_attr, entry.CRC) for entry in archive.infolist()]
    size = wheel.stat().st_size
    make_wheel.compress(wheel)
    with zipfile.ZipFile(wheel) as archive:
        assert [(entry.filename, entry.external_attr, entry.CRC) for entry in archive.infolist()] == before
        assert archive.testzip() is None
    assert wheel.stat().st_size < size
    assert list(tmp_path.glob("w*")) == [wheel]
