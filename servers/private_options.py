# SPDX-License-Identifier: Apache-2.0
"""Check the options of a private server. Options that use other files or addresses, or run programs, are rejected.

Servers accept `_` for `-`, unique prefixes of names, and prefixes such as `loose-` and `skip-`. All meanings of a name
are checked. An option that is on no list is rejected if its value could be a path.
"""

import re
from collections.abc import Iterable, Mapping

from ..common.errors import InputError
from ..common.text import printable

# Options that isolate the copy from other servers, whatever data the copy contains. The copy follows no source, joins
# no group and runs no events. It opens no table on another server. Persisted settings (read only, a port) are ignored.
# `loose-` is needed because each version supports only some of the options.
ALONE = {
    "loose-skip-slave-start": "ON",
    "loose-skip-replica-start": "ON",
    "loose-group-replication-start-on-boot": "OFF",
    "loose-persisted-globals-load": "OFF",
    "loose-federated": "OFF",
    "loose-spider": "OFF",
    "event-scheduler": "OFF",
}
# Options that the private server itself sets.
FIXED = (
    *("datadir", "socket", "port", "bind-address", "pid-file", "log-error", "init-file", "user", "admin-address"),
    *("basedir", "tmpdir", "slow-query-log-file", "log-slow-query-file", "event-scheduler", "slave-start"),
    *("replica-start", "persisted-globals-load", "federated", "spider"),
)
# Options that name files and folders outside the copy.
ELSEWHERE = (
    *("innodb-data-home-dir", "innodb-undo-directory", "innodb-log-group-home-dir", "innodb-doublewrite-dir"),
    *("innodb-doublewrite-file", "innodb-temp-tablespaces-dir", "innodb-tmpdir", "innodb-directories"),
    *("innodb-redo-log-archive-dirs", "innodb-log-arch-dir", "innodb-buffer-pool-filename", "aria-log-dir-path"),
    *("general-log-file", "log-basename", "log-bin-index", "log-isam", "relay-log-index", "relay-log-info-file"),
    *("master-info-file", "plugin-dir", "character-sets-dir", "lc-messages-dir", "language", "secure-file-priv"),
    *("slave-load-tmpdir", "replica-load-tmpdir", "ft-stopword-file", "mecab-rc-file", "des-key-file", "chroot"),
    *("audit-log-file", "server-audit-file-path", "sql-error-log-filename", "rocksdb-datadir"),
    *("rocksdb-wal-dir", "tokudb-data-dir", "tokudb-log-dir", "tokudb-tmp-dir", "file-key-management-filename"),
    *("keyring-file-data", "ssl-ca", "ssl-capath", "ssl-cert", "ssl-crl", "ssl-crlpath", "ssl-key", "debug"),
    *("defaults-file", "defaults-extra-file", "defaults-group-suffix", "login-path", "feedback-url"),
)
# Options that run or load code, open further ways to connect, or change the kind of the server.
RUNS = (
    *("init-connect", "init-slave", "init-replica", "plugin-load", "plugin-load-add", "early-plugin-load", "bootstrap"),
    *("initialize", "initialize-insecure", "install", "install-manual", "remove", "daemonize", "gdb", "grant-tables"),
    *("extra-port", "admin-port", "mysqlx-socket", "mysqlx-bind-address", "mysqlx-port"),
    *("named-pipe", "shared-memory"),
)
FAMILIES = ("wsrep-", "group-replication-", "keyring-", "hashicorp-", "aws-key-", "s3-", "ndb-")
# Complete option names that are also the beginning of a rejected name.
WHOLE = frozenset(
    {
        "general-log",
        "slow-query-log",
        "log-slow-query",
        "log-bin",
        "relay-log",
        "debug-no-sync",
        "innodb",
        "innodb-doublewrite",
        "lc-messages",
        "ssl",
    }
)
# Options whose values may contain a slash without being a path.
NO_PATHS = frozenset(
    {"default-time-zone", "innodb-ft-server-stopword-table", "innodb-ft-user-stopword-table", "innodb-ft-aux-table"}
)
PREFIXES = ("loose-", "skip-", "disable-", "enable-", "maximum-", "autoset-", "plugin-")
DATA_FOLDER = "Use data=FOLDER to copy a data folder"
NAME = re.compile(r"[a-z][a-z0-9._-]*")


def check_options(options: Mapping[str, str]) -> None:
    """Raise InputError for options that the private server sets itself or that use other files.

    Abbreviated option names are also checked.
    """
    for name, value in options.items():
        plain = name.lower().replace("_", "-")
        shown = f"--target sandbox: {printable(name)}"
        if not NAME.fullmatch(plain):
            raise InputError(f"{shown}: expected the name of a server option")
        names = meanings(plain)
        if fixed := _begun(names, FIXED):
            hint = f". {DATA_FOLDER}" if fixed == "datadir" else ""
            raise InputError(f"{shown}: querytape sets {fixed} itself for a private server{hint}")
        if found := _begun(names, ELSEWHERE):
            raise InputError(f"{shown}: a private server does not accept options that name files ({found})")
        if found := _begun(names, RUNS) or next((each for each in FAMILIES for name in names if _kin(name, each)), ""):
            raise InputError(
                f"{shown}: a private server does not accept options that run programs or open connections ({found})"
            )
        if looks_like_a_path(value) and not any(name in NO_PATHS for name in names):
            raise InputError(f"{shown}: a private server does not accept options with a path. {DATA_FOLDER}")


def meanings(name: str) -> list[str]:
    """Return the possible meanings of an option name in lower case with dashes.

    The meanings are the name itself, and the name without each prefix that servers accept.
    """
    found = [name]
    while prefix := next((each for each in PREFIXES if found[-1].startswith(each)), None):
        found.append(found[-1].removeprefix(prefix))
    return found


def looks_like_a_path(value: str) -> bool:
    """Whether a value could name a file outside the folder that the server runs in."""
    return any(sign in value for sign in ("/", "\\", "..", "\0", "\n")) or value.startswith("~")


def _begun(names: Iterable[str], listed: Iterable[str]) -> str:
    """Return the first listed name that begins with one of the names. Return "" if there is no such name."""
    given = [name for name in names if name not in WHOLE]
    return next((each for each in listed if any(each.startswith(name) for name in given)), "")


def _kin(name: str, family: str) -> bool:
    return name.startswith(family) or (family.startswith(name) and name not in WHOLE)
