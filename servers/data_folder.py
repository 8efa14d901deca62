# SPDX-License-Identifier: Apache-2.0
"""Copy the data folder of a stopped server, so that a private server can run on the copy.

The folder may belong to another user. The copy is a separate server. It has no UUID of the original and belongs to the
account that runs private servers. No file of the copy refers to files of the original: links are followed, and
tablespaces in other folders are refused.
"""

import fcntl
import mmap
import os
import re
import secrets
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..common.errors import InputError
from ..common.text import printable
from .programs import server_account

ACCOUNT = "querytape"
# Backup types that a server cannot run on.
UNPREPARED = re.compile(r"backup_type\s*=\s*(full-backuped|incremental|log-applied)")
# In files of XtraBackup, `log-applied` means --apply-log-only. In files of mariadb-backup, every prepared backup has
# this type.
CHECKPOINTS = ("xtrabackup_checkpoints", "mariadb_backup_checkpoints")
# MySQL's own tablespace, and patterns for the file names in it. The tablespace also contains the texts of HELP. A path
# in such a text follows MANUAL and does not count.
DICTIONARY = "mysql.ibd"
PATH_END = re.compile(rb"\.ib[du]")
PATH = re.compile(rb"[^\x00-\x1f]*\Z")
MAX_PATH = 1000
MANUAL = b"_from_file_name('"
FLOCK = "hhqqi"  # Linux struct flock: type, whence, start, length, pid
LINES_SHOWN = 5


@dataclass(frozen=True)
class Account:
    """An account that a private server creates when it starts, and the file with the CREATE statements."""

    user: str
    password: str
    file: Path


def check_data(data: Path) -> None:
    """Raise InputError if the folder is not the data of a stopped server, or if a copy of the folder cannot run."""
    where = f"--target sandbox: data={data}"
    if not any((data / name).exists() for name in ("ibdata1", "mysql")):
        raise InputError(f"{where}: expected the data folder of a stopped server, with `mysql` and `ibdata1`")
    of_mariadb = _is_of_mariadb(data)
    for name in CHECKPOINTS:
        tool = "mariadb-backup" if of_mariadb or name.startswith("mariadb") else "xtrabackup"
        said = UNPREPARED.search(_text(data / name))
        if said is not None and said[1] == "incremental":
            raise InputError(
                f"{where}: an incremental backup contains only changes. Apply the incremental backup to the"
                f" full backup ({tool} --prepare --incremental-dir), and use the folder of the full backup"
            )
        if said is not None and not (said[1] == "log-applied" and of_mariadb):
            raise InputError(f"{where}: the backup is not prepared. Run {tool} --prepare on the folder first")
    pid = _holder(data / "ibdata1")
    if pid is not None:
        raise InputError(
            f"{where}: process {pid} has locked ibdata1. Stop the process, or use the folder of a stopped server"
        )
    if any(data.glob("*.pid")):
        raise InputError(
            f"{where}: the folder contains a pid file, so a server is probably using the folder. Stop the server, or"
            " use the folder of"
            " a stopped server"
        )
    elsewhere = next(data.rglob("*.isl"), None)
    if elsewhere is not None:
        raise InputError(
            f"{where}: the table of {elsewhere.relative_to(data)} is outside the folder (DATA DIRECTORY). A server on"
            " the"
            " copy would write to the original table. Move the table into the data folder"
        )
    tablespace = _tablespace_elsewhere(data / DICTIONARY)
    if tablespace is not None:
        raise InputError(
            f"{where}: the data dictionary refers to the file {printable(tablespace)}, which exists here, so"
            " a copy would write to it. Move the file into the data folder, or use another machine"
        )


def _is_of_mariadb(data: Path) -> bool:
    """Whether mariadb-backup made this backup. Its info file contains the server's version."""
    return any("MariaDB" in _text(data / name) for name in ("xtrabackup_info", "mariadb_backup_info"))


def copy_data(source: Path, target: Path) -> None:
    """Copy a stopped server's data folder. The copy will create its own UUID.

    Links are followed, so the copy never writes to the original. Raises InputError if the folder cannot be read.
    """
    command = ["cp", "-a", "-L", "--reflink=auto", "--", str(source.resolve()), str(target)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        said = printable(done.stderr.decode("utf-8", "backslashreplace").strip())
        raise InputError(f"{source}: the data folder cannot be copied: " + "\n".join(said.splitlines()[:LINES_SHOWN]))
    (target / "auto.cnf").unlink(missing_ok=True)
    _forget_logs_elsewhere(target)
    account = server_account()
    if account is not None:
        owner = f"{account.pw_uid}:{account.pw_gid}"
        subprocess.run(["chown", "-R", "-h", owner, "--", str(target)], check=True)


def own_account(folder: Path) -> Account:
    """Write the statements that create an account for this server, with a random secret password.

    The passwords of the existing accounts are unknown and stay unchanged.
    """
    password = f"Qt1!{secrets.token_hex(16)}"  # satisfies validate_password and similar policies
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
    """Return the process that has locked a file for writing, as servers lock their tablespaces.

    Returns None if no process has locked the file.
    """
    try:
        with path.open("rb") as file:
            asked = struct.pack(FLOCK, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, _, _, pid = struct.unpack(FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked))
    except OSError:
        return None
    return None if kind == fcntl.F_UNLCK else int(pid)


def _tablespace_elsewhere(dictionary: Path) -> str | None:
    """Return an existing tablespace that MySQL's data dictionary names by an absolute path.

    Returns None if there is no such file. MySQL 8.0 and later open the file named in the dictionary, even outside the
    server's data folder.
    """
    try:
        with dictionary.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for end in (found.end() for found in PATH_END.finditer(data)):
                found = PATH.search(data[max(end - MAX_PATH, 0) : end])
                text = found[0] if found else b""
                for slash in (place.start() for place in re.finditer(b"/", text)):
                    if not text[:slash].endswith(MANUAL) and os.path.lexists(text[slash:]):
                        return os.fsdecode(text[slash:])
    except (OSError, ValueError):  # the file is missing or empty
        return None
    return None


def _forget_logs_elsewhere(copy: Path) -> None:
    """Remove index files of binary and relay logs that list files outside the copy.

    Servers truncate and delete the files that an index lists.
    """
    for path in copy.glob("*.index"):
        lines = path.read_bytes().splitlines()
        if any(b"/" in line.removeprefix(b"./") for line in lines):
            path.unlink()


def _text(path: Path) -> str:
    """Return the text of a small file. Return an empty text if the file cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:10_000]
    except OSError:
        return ""
