# SPDX-License-Identifier: Apache-2.0
"""Build `querytape.native._querytape` from every `*/*.c` next to this file and the declarations of `querytape.h`.

QT_SANITIZE=address,undefined (or thread) builds with these sanitizers. QT_WERROR=1 turns warnings into errors, as in
the project's own builds. QT_PCAP names a folder with a static libpcap. scripts/build-libpcap builds this library for
wheels.
"""

import os
import re
import subprocess
from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent
HEADERS = ("querytape_names.h", "querytape.h", "querytape_engine.h")


def declarations() -> str:
    """Return the parts of the public headers that cffi parses."""
    parts = []
    for name in HEADERS:
        found = re.search(r"/\* cffi: begin \*/(.*)/\* cffi: end \*/", (HERE / name).read_text(encoding="utf-8"), re.S)
        if found is None:
            raise SystemExit(f"native/{name}: the marks 'cffi: begin' and 'cffi: end' are missing")
        parts.append(found[1])
    return "".join(parts)


def connector_flags(what: str) -> list[str]:
    """Return the compiler or linker flags of MariaDB Connector/C, from mariadb_config or pkg-config."""
    option = {"cflags": "--include", "libs": "--libs"}[what]
    pkg = {"cflags": "--cflags", "libs": "--libs"}[what]
    for command in (["mariadb_config", option], ["pkg-config", pkg, "libmariadb"]):
        try:
            return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        except (OSError, subprocess.CalledProcessError):
            continue
    raise SystemExit(
        "the headers of MariaDB Connector/C were not found. On Debian or Ubuntu, run: apt-get install libmariadb-dev"
    )


def pcap_flags() -> tuple[list[str], list[str]]:
    """Return the compiler and linker flags for libpcap.

    If QT_PCAP is set, the function uses the static library in this folder. Otherwise it uses the library of the system.
    """
    folder = os.environ.get("QT_PCAP")
    if not folder:
        return [], ["-lpcap"]
    archive = Path(folder) / "lib" / "libpcap.a"
    return [f"-I{folder}/include"], [str(archive), f"-Wl,--exclude-libs,{archive.name}"]


def compile_flags() -> list[str]:
    """Return the compiler flags for the C files of querytape."""
    flags = [
        "-std=c11",
        "-D_GNU_SOURCE",
        "-g",
        "-Wall",
        "-Wextra",
        "-fvisibility=hidden",
        "-pthread",
        f"-I{HERE}",
    ]
    if "-O" not in os.environ.get("CFLAGS", ""):  # a user may set another optimization level in CFLAGS
        flags.append("-O3")
    if os.environ.get("QT_WERROR") == "1":
        flags += ["-Werror"]
    if os.environ.get("QT_SANITIZE"):
        flags += [f"-fsanitize={os.environ['QT_SANITIZE']}", "-fno-omit-frame-pointer"]
    return flags


ffi = FFI()
ffi.cdef(declarations())
ffi.set_source(
    "querytape.native._querytape",
    '#include "base/arrow_abi.h"\n#include "querytape_engine.h"\n',
    sources=sorted(os.path.relpath(path, HERE.parent) for path in HERE.glob("*/*.c")),
    extra_compile_args=compile_flags() + pcap_flags()[0] + connector_flags("cflags"),
    extra_link_args=[
        "-pthread",
        "-Wl,--compress-debug-sections=zlib",
        *connector_flags("libs"),
        "-lz",
        "-lzstd",
        "-llzma",
        *pcap_flags()[1],
        "-lcrypto",
    ],
    py_limited_api=True,
)

if __name__ == "__main__":
    ffi.compile(verbose=True)
