# SPDX-License-Identifier: Apache-2.0
"""Find the parts of schemas that an account may not see. Servers omit these parts from their lists without an error."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pymysql.connections import Connection

from .queries import Rows, query_or_none

# Privileges by kind of object (see schema_facts). An account sees a kind only if it has one of these privileges on the
# schema. Without these privileges, an account sees only the tables that were granted to it by name. Messages suggest
# the first privilege.
NEEDED = {"trigger": ("TRIGGER",), "event": ("EVENT",)}
ROUTINES = {"routine": ("EXECUTE", "CREATE ROUTINE", "ALTER ROUTINE", "SHOW_ROUTINE", "SHOW CREATE ROUTINE")}
TABLES = {
    "table": (
        *("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "INDEX", "REFERENCES", "TRIGGER"),
        *("CREATE VIEW", "SHOW VIEW", "DELETE HISTORY"),
    )
}
PRIVILEGES = {**NEEDED, **ROUTINES, **TABLES}
Privileges = Mapping[str, Sequence[str]]
SHOWN = 3
_NAME = r"(\*|`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\")"
_LINE = re.compile(rf"(GRANT|REVOKE) (.+?) ON {_NAME}\.\* (?:TO|FROM) ", re.S)


class Unseen(NamedTuple):
    """Kinds of objects that an account may not see in some schemas of a server."""

    kinds: tuple[str, ...]
    schemas: tuple[str, ...]
    account: str

    def said(self, kinds: Sequence[str] = ()) -> str:
        """Return a message without a full stop. The message contains the GRANT that makes the objects visible.

        `kinds`: only these kinds.
        """
        shown = kinds or self.kinds
        what = " and ".join("all tables" if kind == "table" else f"{kind}s" for kind in shown)
        place = f"`{_doubled(self.schemas[0], '`')}`.*" if len(self.schemas) == 1 else "*.*"
        grant = f"GRANT {', '.join(PRIVILEGES[kind][0] for kind in shown)} ON {place} TO {self.account}"
        names = ", ".join(self.schemas[:SHOWN]) + f" and {len(self.schemas) - SHOWN} more" * (len(self.schemas) > SHOWN)
        return f"the account may not see {what} of {names}. Run {grant}"


def unseen(con: "Connection[Any]", schemas: Sequence[str], needed: Privileges = NEEDED) -> Unseen | None:
    """Return the objects of these schemas that the account may not see.

    Returns None if the account sees all objects, or if this is unknown. `needed`: privileges by kind of object. The
    account needs one of the privileges of each kind. Raises TargetError if the connection is lost.
    """
    account = query_or_none(con, "SELECT CURRENT_USER()")
    return unseen_by(str(account[0][0]) if account else "", query_or_none(con, "SHOW GRANTS"), schemas, needed)


def unseen_by(account: str, grants: Rows | None, schemas: Sequence[str], needed: Privileges = NEEDED) -> Unseen | None:
    """Return the objects of these schemas that an account may not see.

    `account` is `user@host`. `grants` are its lines of SHOW GRANTS.
    """
    if not grants or not account:
        return None
    lacking = {
        kind: [schema for schema in schemas if not any(is_granted(grants, each, schema) for each in privileges)]
        for kind, privileges in needed.items()
    }
    where = tuple(dict.fromkeys(name for names in lacking.values() for name in names))
    user, _, host = account.rpartition("@")
    to = "@".join(f"'{_doubled(part, chr(39))}'" for part in (user, host))
    return Unseen(tuple(kind for kind, names in lacking.items() if names), where, to) if where else None


def _doubled(text: str, mark: str) -> str:
    return text.replace(mark, 2 * mark)


def is_granted(grants: Rows, privilege: str, schema: str) -> bool:
    """Whether lines of SHOW GRANTS give a privilege on a whole schema. The lines include privileges of roles."""
    granted = False
    for row in grants:
        if (line := _LINE.match(str(row[0]))) is None or not _matches(line[3], schema):
            continue
        names = {name.strip().upper() for name in re.sub(r"\([^)]*\)", "", line[2]).split(",")}
        if names & {privilege, "ALL PRIVILEGES", "ALL"}:
            if line[1] == "REVOKE":
                return False
            granted = True
    return granted


def _matches(pattern: str, schema: str) -> bool:
    r"""Whether a schema pattern of SHOW GRANTS matches a schema. `%` and `_` are wildcards, `\_` is not."""
    if pattern == "*":
        return True
    text = pattern[1:-1].replace(2 * pattern[0], pattern[0])
    parts = (
        ".*" if part == "%" else "." if part == "_" else re.escape(part[-1])
        for part in re.findall(r"\\.|.", text, re.S)
    )
    return re.fullmatch("".join(parts), schema, re.I | re.S) is not None
