# SPDX-License-Identifier: Apache-2.0
"""Transactions that XA PREPARE left on a server. They outlive their session and keep their locks.

Sources: MySQL 8.4 manual, section 15.3.8; MariaDB, XA Transactions. XA RECOVER needs XA_RECOVER_ADMIN in MySQL 8, and
no privilege in MySQL 5.7 and MariaDB.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pymysql.connections import Connection

from ..common.text import printable
from .queries import query_or_none, whole

# Queries for prepared transactions. The first query (MySQL 5.7 and later) and the second (MariaDB 10.3 and later)
# return the bytes as printable text. The third query works on all servers.
RECOVER = ("XA RECOVER CONVERT XID", "XA RECOVER FORMAT='SQL'", "XA RECOVER")
HEX = re.compile(r"0x([0-9a-f]*)|x'([0-9a-f]*)'", re.IGNORECASE)
BITS = re.compile(r"0b([01]+)|b'([01]*)'", re.IGNORECASE)
LITERAL = r"(?:'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"|x'[0-9a-f]*'|0x[0-9a-f]+|b'[01]*'|0b[01]+)"
STATEMENT = re.compile(
    rf"xa\s+(start|begin|end|prepare|commit|rollback)\s+({LITERAL})(?:\s*,\s*({LITERAL}))?(?:\s*,\s*(\d+|0x[0-9a-f]+))?"
    r"(?:\s+(?:one\s+phase|join|resume|suspend(?:\s+for\s+migrate)?))?",
    re.IGNORECASE,
)
LITERAL_OR_COMMENT = re.compile(rf"({LITERAL})|/\*(?!!).*?\*/|(?:--\s|#)[^\n]*", re.IGNORECASE | re.DOTALL)
# Matches literals and comments that may contain a semicolon, or a semicolon that ends a statement.
END_OF_STATEMENT = re.compile(rf"{LITERAL}|`[^`]*`|/\*(?!!).*?\*/|(?:--\s|#)[^\n]*|(;)", re.IGNORECASE | re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}
PATIENCE_S, PAUSE_S = 2.0, 0.05  # seconds of waiting, because a server may notice late that a session has ended


@dataclass(frozen=True, order=True)
class Xid:
    """The name of an XA transaction: two parts of at most 64 bytes each, and a number."""

    gtrid: bytes
    bqual: bytes = b""
    format_id: int = 1

    @property
    def literal(self) -> str:
        """The name in the form that XA COMMIT and XA ROLLBACK accept. Works for any bytes."""
        return f"X'{self.gtrid.hex()}',X'{self.bqual.hex()}',{self.format_id}"

    def __str__(self) -> str:
        """The name in its usual notation. Bytes that cannot be displayed are escaped."""
        gtrid, bqual = (f"'{printable(part.decode('utf-8', 'backslashreplace'))}'" for part in (self.gtrid, self.bqual))
        if self.format_id != 1:
            return f"{gtrid},{bqual},{self.format_id}"
        return f"{gtrid},{bqual}" if self.bqual else gtrid


def prepared_transactions(con: "Connection[Any]") -> tuple[Xid, ...] | None:
    """Return the sorted prepared transactions of a server. Return None if the server does not show them.

    Raises TargetError if the connection is lost.
    """
    for query in RECOVER:
        rows = query_or_none(con, query, 4)
        if rows is not None:
            return tuple(sorted(xid for row in rows if (xid := _xid(row)) is not None))
    return None


def end_prepared(con: "Connection[Any]", xids: Sequence[Xid]) -> list[Xid]:
    """Roll back prepared transactions. Return the transactions that could not be rolled back within 2 s."""
    left, end = list(xids), time.monotonic() + PATIENCE_S
    while left := [xid for xid in left if query_or_none(con, f"XA ROLLBACK {xid.literal}") is None]:
        if time.monotonic() > end:
            break
        time.sleep(PAUSE_S)
    return left


def _xid(row: Sequence[Any]) -> Xid | None:
    """Return the transaction name in a row of XA RECOVER: format id, two lengths in bytes, the parts.

    Returns None if the row is invalid.
    """
    numbers = [whole(value) for value in row[:3]]
    text = row[3].decode("latin-1") if isinstance(row[3], bytes) else str(row[3])
    if None in numbers:
        return None
    format_id, gtrid, bqual = (int(number or 0) for number in numbers)
    parts = HEX.findall(text) if HEX.match(text) else []
    data = b"".join(_hex(a or b) for a, b in parts) if parts else text.encode()
    if not parts and text.startswith("'") and len(data) > gtrid + bqual:  # MariaDB's FORMAT='SQL' escapes no quotes
        data = data[1 : 1 + gtrid] + data[gtrid + 4 : gtrid + 4 + bqual]
    return Xid(data[:gtrid], data[gtrid : gtrid + bqual], format_id)


def verb_and_xid(statement: str) -> tuple[str, Xid | None]:
    """Return verb and transaction name of an XA statement, or ("", None) for any other statement.

    The verb is start, begin, end, prepare, commit or rollback.
    """
    plain = LITERAL_OR_COMMENT.sub(lambda found: found[1] or " ", statement)
    found = STATEMENT.fullmatch(plain.strip().removesuffix(";").strip())
    if found is None:
        return "", None
    verb, gtrid, bqual, number = found[1].lower(), found[2], found[3] or "''", found[4] or "1"
    return verb, Xid(_bytes(gtrid), _bytes(bqual), int(number, 16 if number[:2].lower() == "0x" else 10))


def xa_statements(text: str) -> Iterator[tuple[str, Xid]]:
    """Yield verb and transaction name of each XA statement in a text. The text may contain several statements."""
    ends = [found.start() for found in END_OF_STATEMENT.finditer(text) if found[1]]
    for start, end in zip([0, *(at + 1 for at in ends)], [*ends, len(text)], strict=True):
        verb, xid = verb_and_xid(text[start:end])
        if xid is not None:
            yield verb, xid


def _hex(digits: str) -> bytes:
    return bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}")


def _bytes(literal: str) -> bytes:
    if found := HEX.fullmatch(literal):
        return _hex(found[1] or found[2] or "")
    if found := BITS.fullmatch(literal):
        bits = found[1] or found[2] or ""
        return int(bits or "0", 2).to_bytes((len(bits) + 7) // 8)
    text = literal[1:-1].replace(literal[0] * 2, literal[0])
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), text, flags=re.DOTALL).encode()
