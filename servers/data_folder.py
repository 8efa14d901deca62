# SPDX-License-Identifier: Apache-2.0
"""Copy the data folder of a stopped server, somebody else's too, so that a private server can run on it.

The copy is a server of its own: it has no UUID of the original, belongs to the account that private servers run as,
and nothing in it leads back to the original's files (links are followed, tablespaces elsewhere are refused).
"""

import fcntl
import os
import secrets
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..common.errors import InputError
from ..common.text import printable
from .programs import server_account

# Whatever the data hold: the copy follows no source, joins no group, runs no events, and no setting that was persisted
# with the data (read only, a port) is taken over. `loose-`: each version knows some of them.
ALONE = {
    "loose-skip-slave-start": "ON",
    "loose-skip-replica-start": "ON",
    "loose-group-replication-start-on-boot": "OFF",
    "loose-persisted-globals-load": "OFF",
    "event-scheduler": "OFF",
}
ACCOUNT = "querytape"
# What a private server has of its own: no option may lead it to other files or addresses.
FIXED = ("datadir", "socket", "port", "bind-address", "pid-file", "log-error", "init-file", "user", "admin-address")
CHECKPOINTS = ("xtrabackup_checkpoints", "mariadb_backup_checkpoints")
FLOCK = "hhqqi"  # struct flock of Linux: type, whence, start, length, pid
LINES_SHOWN = 5


@dataclass(frozen=True)
class Account:
    """An account that a private server makes of itself when it starts, and the file of statements that make it."""

    user: str
    password: str
    file: Path


def check_options(options: Mapping[str, str], option: str = "--sandbox-option") -> None:
    """Raise InputError where one of a server's options is the private server's own, shortened names included."""
    for name in options:
        plain = name.lower().replace("_", "-").removeprefix("loose-")
        fixed = next((own for own in FIXED if own.startswith(plain)), None)
        if fixed is not None:
            raise InputError(f"{option} {name}: a private server has its own {fixed}")


def check_data(data: Path, option: str = "--sandbox-data") -> None:
    """Raise InputError where a folder has no data of a stopped server that a copy of it can run on."""
    if not any((data / name).exists() for name in ("ibdata1", "mysql")):
        raise InputError(
            f"{option} {data}: expected the data folder of a stopped server, with its `mysql` and `ibdata1`"
        )
    for name in CHECKPOINTS:
        if _text(data / name).find("backup_type = full-backuped") >= 0:
            tool = "mariadb-backup" if name.startswith("mariadb") else "xtrabackup"
            raise InputError(f"{option} {data}: a backup that is not prepared: run {tool} --prepare on it first")
    pid = _holder(data / "ibdata1")
    if pid is not None:
        raise InputError(
            f"{option} {data}: process {pid} runs on it (it has locked ibdata1): stop it, or copy a stopped one"
        )
    if any(data.glob("*.pid")):
        raise InputError(
            f"{option} {data}: a server seems to run on it (there is a pid file): stop it, or copy a stopped one"
        )
    elsewhere = next(data.glob("*/*.isl"), None)
    if elsewhere is not None:
        raise InputError(
            f"{option} {data}: the table of {elsewhere.relative_to(data)} lies outside of the folder (DATA DIRECTORY):"
            " a copy would write to the original; move the table into the data folder"
        )


def copy_data(source: Path, target: Path) -> None:
    """Copy a stopped server's data folder; the copy is another server and will make a UUID of its own.

    Links are followed: what the copy writes never reaches the original. Raises InputError where it cannot be read.
    """
    command = ["cp", "-a", "-L", "--reflink=auto", "--", str(source.resolve()), str(target)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        said = printable(done.stderr.decode("utf-8", "backslashreplace").strip())
        raise InputError(f"{source}: the data folder cannot be copied: " + "\n".join(said.splitlines()[:LINES_SHOWN]))
    (target / "auto.cnf").unlink(missing_ok=True)
    account = server_account()
    if account is not None:
        owner = f"{account.pw_uid}:{account.pw_gid}"
        subprocess.run(["chown", "-R", "-h", owner, "--", str(target)], check=True)


def own_account(folder: Path) -> Account:
    """Write the statements that make an account for this server's life, with a password that nobody else knows.

    The passwords of the data's own accounts are not known here, and are left as they are.
    """
    password = f"Qt1!{secrets.token_hex(16)}"  # passes the policies of validate_password and its like
    path = folder / "account.sql"
    names = [f"'{ACCOUNT}'@'{host}'" for host in ("localhost", "127.0.0.1")]
    lines = []
    for name in names:
        lines += [
            f"DROP USER IF EXISTS {name};",
            f"CREATE USER {name} IDENTIFIED BY '{password}';",
            f"GRANT ALL PRIVILEGES ON *.* TO {name} WITH GRANT OPTION;",
        ]
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as out:
        out.write("\n".join(lines) + "\n")
        account = server_account()
        if account is not None:
            os.fchown(out.fileno(), account.pw_uid, account.pw_gid)
    return Account(ACCOUNT, password, path)


def _holder(path: Path) -> int | None:
    """Return the process that has a file locked for writing, as servers lock their tablespaces; None = nobody."""
    try:
        with path.open("rb") as file:
            asked = struct.pack(FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, _, _, pid = struct.unpack(FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked))
    except OSError:
        return None
    return None if kind == fcntl.F_UNLCK else int(pid)


def _text(path: Path) -> str:
    """Return the text of a small file, empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:10_000]
    except OSError:
        return ""
