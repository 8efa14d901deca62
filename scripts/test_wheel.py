# SPDX-License-Identifier: Apache-2.0
"""Installs the wheel in a bare Debian 13 root without any other library, and runs the wheel there.

`make test-wheel` runs this script. It needs root, mmdebstrap and a Debian mirror. The servers run outside the Debian
root. Each server has an account for each of its login plugins.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from querytape.scripts.make_wheel import run
from querytape.servers.programs import find_program
from querytape.servers.sandbox import Server, start_server

ROOT = Path(__file__).resolve().parent.parent
SUITE = "trixie"
PACKAGES = "python3,python3-venv,ca-certificates"
BIN = "/opt/querytape/bin"
HEADER = "/usr/sbin/mysqld, Version: 8.0.31 (Community). started with:\n"
LOG = """\
# Time: 2026-01-05T10:00:00.{n:06d}Z
# User@Host: app[app] @ web [10.0.0.7]  Id: {session}
# Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1
SET timestamp=1767607200;
SELECT {n} + 1;
"""
# Tuples of: server, statement that creates the account, options of the replay. {p} is the password.
LOGINS = (
    ("mariadb", "IDENTIFIED BY '{p}'", ()),
    ("mariadb", "IDENTIFIED VIA ed25519 USING PASSWORD('{p}')", ()),
    ("mysql-8.0", "IDENTIFIED WITH mysql_native_password BY '{p}'", ()),
    ("mysql-8.0", "IDENTIFIED WITH caching_sha2_password BY '{p}'", ()),
    ("mysql-8.0", "IDENTIFIED WITH caching_sha2_password BY '{p}'", ("--ssl-mode", "REQUIRED")),
    ("mysql-8.0", "IDENTIFIED WITH sha256_password BY '{p}'", ("--ssl-mode", "REQUIRED")),
    ("mysql-9", "IDENTIFIED WITH caching_sha2_password BY '{p}'", ()),
    ("mysql-9", "IDENTIFIED WITH caching_sha2_password BY '{p}'", ("--ssl-mode", "REQUIRED")),
)
FOR_PIP = {"pip_index_url", "pip_trusted_host", "http_proxy", "https_proxy", "no_proxy"}
CHROOT = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin") or "chroot"
PASSWORD = "Only-Here-7"


def root_archive() -> Path:
    """Return an archive of a Debian root with only Python. Makes the archive if it does not exist."""
    archive = ROOT / "build" / f"{SUITE}.tar"
    if not archive.exists():
        archive.parent.mkdir(exist_ok=True)
        mirror = run(ROOT / "scripts" / "debian-mirror").strip()
        made = archive.with_suffix(".new.tar")
        run("mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, made, mirror)
        made.rename(archive)
    return archive


def bare_root(folder: Path) -> Path:
    """Unpack the archive of the Debian root and return its folder."""
    root = folder / "root"
    root.mkdir()
    run("tar", "-x", "-f", root_archive(), "-C", root)
    for name in ("libmariadb", "libpcap", "libduckdb"):
        if list(root.rglob(f"{name}*.so*")):
            raise SystemExit(f"the bare root has {name}: it proves nothing")
    for name in (
        "resolv.conf",
        "ssl/certs/ca-certificates.crt",
    ):  # the network access of this machine may need the machine's certificate
        shutil.copy(Path("/etc") / name, root / "etc" / name)
    return root


@contextmanager
def mounted(root: Path) -> Iterator[None]:
    """Mount /proc and /dev in the Debian root during the block."""
    run("mount", "-t", "proc", "proc", root / "proc")
    run("mount", "--bind", "/dev", root / "dev")
    try:
        yield
    finally:
        run("umount", root / "dev")
        run("umount", root / "proc")


def inside(root: Path, *words: object, password: str = "") -> str:
    """Run a program in the Debian root."""
    pip = {name: value for name, value in os.environ.items() if name.lower() in FOR_PIP}
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "QUERYTAPE_PASSWORD": password, **pip}
    environment["PIP_CERT"] = "/etc/ssl/certs/ca-certificates.crt"
    return run(CHROOT, root, *words, env=environment)


def server_plugins(folder: Path) -> Path:
    """Return a folder with the server's ed25519 plugin.

    The plugin comes from a Debian package that need not be installed.
    """
    folder.mkdir()
    run("apt-get", "download", "-qq", "mariadb-server", cwd=folder)
    run("dpkg-deb", "-x", next(folder.glob("*.deb")), folder)
    return folder / "usr" / "lib" / "mysql" / "plugin"


def try_logins(root: Path, stack: ExitStack) -> int:
    """Replay against each server with one account per plugin.

    Return the number of successful logins. Exit if a login fails.
    """
    servers: dict[str, Server] = {}
    worked = 0
    for number, (kind, login, options) in enumerate(LOGINS):
        if find_program(kind) is None:
            print(f"!!! NOT TRIED: {kind} is not on this machine: make servers", file=sys.stderr)
            continue
        if kind not in servers:
            config = {"plugin-dir": str(server_plugins(root.parent / "plugins"))} if kind == "mariadb" else None
            servers[kind] = stack.enter_context(start_server(kind, config=config))
        server, user = servers[kind], f"u{number}"
        if "ed25519" in login:
            server.execute("INSTALL SONAME 'auth_ed25519'")
        server.execute(f"CREATE USER {user}@'127.0.0.1' {login.format(p=PASSWORD)}")
        server.execute(f"CREATE USER {user}@localhost {login.format(p=PASSWORD)}")
        url = f"mysql://{user}@127.0.0.1:{server.port}"
        words = (
            f"{BIN}/querytape",
            "replay",
            "/t.tape",
            "--target",
            url,
            "-o",
            f"/{user}.run",
            "--pace",
            "none",
            *options,
        )
        said = inside(root, *words, password=PASSWORD)
        if "200 executed" not in said:
            raise SystemExit(f"{kind}, {login}: expected 200 executed\n{said}")
        print(
            f"{kind} {server.version}: {login.split(' BY ')[0].split(' USING ')[0]} {' '.join(options)}: 200 executed"
        )
        worked += 1
    return worked


def refused_by_older(root: Path, wheel: Path) -> None:
    """Check that pip refuses the wheel with a clear message on a system with an older C library."""
    words = [
        CHROOT,
        str(root),
        f"{BIN}/pip",
        "install",
        "--dry-run",
        "--target",
        "/tmp/x",
        "--only-binary=:all:",
        "--no-deps",
    ]
    words += ["--platform", "manylinux_2_31_x86_64", f"/{wheel.name}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 0 or "is not a supported wheel on this platform" not in done.stderr:
        raise SystemExit(f"expected pip's refusal for glibc 2.31, found: {done.stdout}{done.stderr}")
    print(f"glibc 2.31: {done.stderr.strip().splitlines()[0]}")


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel, run querytape, and remove the wheel."""
    root = bare_root(folder)
    shutil.copy(wheel, root)
    (root / "slow.log").write_text(
        HEADER + "".join(LOG.format(n=n, session=1 + n % 4) for n in range(200)), encoding="ascii"
    )
    with mounted(root), ExitStack() as stack:
        began = time.monotonic()
        inside(root, "python3", "-m", "venv", "/opt/querytape")
        before = inside(root, f"{BIN}/pip", "list", "--format=freeze")
        inside(root, f"{BIN}/pip", "install", "--quiet", f"/{wheel.name}")
        inside(root, f"{BIN}/querytape", "capture", "/slow.log", "-o", "/t.tape")
        server = stack.enter_context(start_server("mariadb"))
        server.execute("CREATE USER first@'127.0.0.1'")
        server.execute("CREATE USER first@localhost")
        url = f"mysql://first@127.0.0.1:{server.port}"
        inside(root, f"{BIN}/querytape", "replay", "/t.tape", "--target", url, "-o", "/first.run", "--pace", "none")
        inside(root, f"{BIN}/querytape", "report", "/t.tape", "/first.run", "--html", "/report.html")
        print(f"from nothing to the first report: {time.monotonic() - began:.0f} s")
        print(inside(root, f"{BIN}/querytape", "--version", "--libraries").strip())
        if try_logins(root, stack) < 2:
            raise SystemExit("too few servers: make servers")
        inside(root, f"{BIN}/querytape", "report", "/t.tape", "/first.run", "/u0.run", "--json", "/two.json")
        refused_by_older(root, wheel)
        inside(root, f"{BIN}/pip", "uninstall", "--yes", "--quiet", "querytape")
        left = [str(path) for path in (root / "opt").rglob("*querytape*") if path != root / "opt" / "querytape"]
        if left or "querytape" in before:
            raise SystemExit(f"uninstalled, but there is still: {left}")
        print("uninstalled: nothing of it is left")


def main() -> None:
    """Test the given wheel, or the newest wheel in dist/."""
    parser = argparse.ArgumentParser(prog="make test-wheel")
    parser.add_argument("wheel", type=Path, nargs="?")
    wheel = parser.parse_args().wheel or max(
        (ROOT / "dist").glob("*manylinux*.whl"), key=lambda path: path.stat().st_mtime
    )
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        raise SystemExit("make test-wheel needs root (it mounts /proc in a root of its own) and mmdebstrap")
    with tempfile.TemporaryDirectory(prefix="qt-wheel-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)  # the server reads plugins from this folder
        try_wheel(wheel, Path(folder))


if __name__ == "__main__":
    main()
