# SPDX-License-Identifier: Apache-2.0
"""Find the server programs of this machine: installed programs, and programs downloaded to `.servers/`."""

import atexit
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

SYSTEM_FOLDERS = (
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
)
# Commands that install MariaDB's programs, and whether they also install a service.
INSTALLERS = {
    "apt-get": (
        "apt-get install --no-install-recommends mariadb-server-core mariadb-client-core",
        "no service is installed",
    ),
    "dnf": ("dnf install mariadb-server", "its service is not started"),
    "zypper": ("zypper install mariadb", "its service is not started"),
    "pacman": ("pacman -S mariadb", "its service is not started"),
}
LOADER = "usr/lib64/ld-linux-x86-64.so.2"  # loader of an unpacked Debian package


@dataclass(frozen=True)
class Program:
    """A server program: its family `mariadb` or `mysql`, its command, and options with the locations of its files."""

    family: str
    version: str
    command: tuple[str, ...]
    own: tuple[str, ...] = ()
    folder: Path | None = None  # folder of a downloaded server

    def init_command(self, data: Path) -> list[str]:
        """Return the command that creates a data folder whose root account has no password.

        All versions of MariaDB use the script of the installed release. An unpacked release has no working script, but
        its server can read the tables of an older release.
        """
        if self.family == "mariadb":
            script = shutil.which("mariadb-install-db", path=search_path()) or "mariadb-install-db"
            own = self.own if self.folder is None else ()
            options = [f"--datadir={data}", "--auth-root-authentication-method=normal", "--skip-test-db"]
            return [script, "--no-defaults", *own, *options]
        options = [f"--datadir={data}", "--initialize-insecure", "--loose-innodb-redo-log-capacity=16M"]
        return [*self.command, "--no-defaults", *self.own, *options]


def server_account() -> pwd.struct_passwd | None:
    """Return the unprivileged account for servers if this process runs as root.

    Otherwise return None, which means the process's own account.
    """
    if os.geteuid() != 0:
        return None
    for name in ("mysql", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise LookupError("private servers need a system account 'mysql' or 'nobody', found neither")


def servers_folder() -> Path:
    """Return the folder of downloaded servers: QT_SERVERS, or else `.servers` of the checkout."""
    folder = os.environ.get("QT_SERVERS")
    return Path(folder) if folder else Path(__file__).resolve().parent.parent / ".servers"


def find_program(kind: str) -> Program | None:
    """Return the program of a kind such as `mariadb`, `mysql` or `mysql-8.0`.

    Prefers the installed program. Otherwise returns the newest downloaded program.
    """
    family, _, version = kind.partition("-")
    fitting = [
        program
        for program in known_programs()
        if program.family == family and (program.version + ".").startswith(version + "." if version else "")
    ]
    newest = max(fitting, key=lambda program: (program.folder is None, _number(program.version)), default=None)
    if newest is None or newest.folder is None:
        return newest
    there, here = str(newest.folder), str(_reachable(newest.folder))
    command, own = (tuple(word.replace(there, here) for word in words) for words in (newest.command, newest.own))
    return replace(newest, command=command, own=own)


def missing_sentence(kind: str) -> str:
    """Return the message that a kind of server is missing, and how to install it."""
    if kind in ("mariadb-11.8", "mysql-9"):
        return f"no {kind} server on this machine. Run scripts/fetch-debian-server to unpack one from a mirror"
    if kind.startswith("mariadb"):
        return f"no {kind} server on this machine. {install_line()}"
    return f"no {kind} server on this machine. Run scripts/fetch-mysql to download one (requires Maven, mvn)"


def install_line() -> str:
    """Return the command that installs MariaDB's programs on this machine, and the services that it installs."""
    found = next((name for name in INSTALLERS if shutil.which(name, path=search_path())), "apt-get")
    words, starts = INSTALLERS[found]
    user = "" if os.geteuid() == 0 else "sudo "
    return f"Install MariaDB's programs with: {user}{words} ({starts})"


@cache
def known_programs() -> tuple[Program, ...]:
    """Return all server programs found. Installed programs come first."""
    programs: list[Program | None] = []
    for name in ("mariadbd", "mysqld"):
        path = shutil.which(name, path=search_path())
        if path:
            programs.append(_program_of((str(Path(path).resolve()),)))
    for folder in sorted(servers_folder().glob("*-*")):
        if (folder / LOADER).exists():
            programs.append(_unpacked(folder))
        elif (folder / "bin" / "mysqld").exists():
            share = (f"--basedir={folder}", f"--lc-messages-dir={folder}/share")
            programs.append(_program_of((str(folder / "bin" / "mysqld"),), share, folder))
    unique = {program.command: program for program in programs if program is not None}
    return tuple(unique.values())


def _unpacked(base: Path) -> Program | None:
    """Return the program of an unpacked Debian package. It runs through the package's own loader and libraries."""
    loader = (str(base / LOADER), "--library-path", str(base / "usr/lib/x86_64-linux-gnu"))
    share = next(folder for folder in (base / "usr/share/mariadb", base / "usr/share/mysql") if folder.exists())
    own = (
        f"--basedir={base}/usr",
        f"--plugin-dir={base}/usr/lib/mysql/plugin",
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share}/charsets",
    )
    return _program_of((*loader, str(base / "usr/sbin/mysqld")), own, base)


def _program_of(command: tuple[str, ...], own: tuple[str, ...] = (), folder: Path | None = None) -> Program | None:
    """Return the server program that a command starts. Return None if the command is not a server.

    --version identifies the server, because `mysqld` is MariaDB on Debian.
    """
    try:
        answer = subprocess.run([*command, "--no-defaults", "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r"Ver (\d+\.\d+\.\d+)", answer.stdout)
    if version is None:
        return None
    family = "mariadb" if "mariadb" in answer.stdout.lower() else "mysql"
    return Program(family, version[1], command, own, folder)


@cache
def _reachable(folder: Path) -> Path:
    """Return the folder, or a copy of it if the servers' account cannot reach the folder (a checkout in /root).

    The copy uses hard links on the same file system. The copy is removed when this process ends.
    """
    account = server_account()
    if account is None or all(_open_to_all(parent) for parent in [folder, *folder.parents]):
        return folder
    place = Path(tempfile.mkdtemp(prefix="qt-server-", dir="/tmp"))
    place.chmod(0o755)
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    target = place / folder.name
    if subprocess.run(["cp", "-al", str(folder), str(target)], stderr=subprocess.DEVNULL).returncode != 0:
        shutil.rmtree(target, ignore_errors=True)
        subprocess.run(["cp", "-a", str(folder), str(target)], check=True)
    return target


def _open_to_all(folder: Path) -> bool:
    return bool(folder.stat().st_mode & 0o001)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def search_path() -> str:
    """Return PATH plus the folders where servers are installed. The PATH of an ordinary user may lack these folders."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS])
