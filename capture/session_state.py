# SPDX-License-Identifier: Apache-2.0
"""Build statements that give a new connection the state of a session that was open before the capture.

Session values that equal the global values of the source server are omitted. The target then uses its own global
values, as for sessions that connect while the tape is recorded.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..servers.client_sessions import RESTORED, OpenSession, PreparedText

NO_BACKSLASH, ANSI = 1, 2
WORD = re.compile(r"[A-Za-z0-9_]{1,64}")
NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")
PLAIN = re.compile(rb"[ !#-&(-\[\]-~]*")  # ASCII without quotes or backslashes, which every sql_mode reads alike
LEVELS = frozenset({"READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"})
MAX_VALUES = 16 << 20  # bytes of the user variables of a session


@dataclass(frozen=True)
class State:
    """The statements that restore a session, as `(id, text)`. `id` is the server's prepared statement id, or -1.

    `reading`: how the session reads quotes (flags). `not_restored`: numbers of statements and values that cannot be
    restored, by reason.
    """

    statements: tuple[tuple[int, bytes], ...]
    reading: int
    not_restored: Mapping[str, int]


def state_of(session: OpenSession, global_variables: Mapping[str, str]) -> State:
    """Return the statements that restore the state of one session."""
    variables = session.variables or {}
    modes = variables.get("sql_mode", "").split(",")
    reading = (NO_BACKSLASH if "NO_BACKSLASH_ESCAPES" in modes else 0) | (ANSI if "ANSI_QUOTES" in modes else 0)
    missing: dict[str, int] = {}
    statements = [(-1, each.encode()) for each in settings(variables, global_variables)]
    statements += [(-1, each) for each in assignments(session.user_variables or {}, missing)]
    charset = variables.get("character_set_client", "utf8mb4")
    for prepared in session.prepared or ():
        whole = None if prepared.text is None else client_bytes(prepared.text, charset)
        if whole is None:
            missing["no_text"] = missing.get("no_text", 0) + 1
        elif prepared.name is None:
            statements.append((prepared.id, whole))
        else:
            statements.append((-1, prepare_statement(prepared, whole, reading)))
    return State(tuple(statements), reading, missing)


def settings(variables: Mapping[str, str], global_variables: Mapping[str, str]) -> Iterator[str]:
    """Yield a SET statement for each session variable that differs from the global value."""
    yield from character_sets(variables)
    seen = set[str]()
    for name in RESTORED:
        value = variables.get(name)
        meaning = "isolation" if name.endswith("_isolation") else name
        if value is None or value == global_variables.get(name) or meaning in seen:
            continue
        seen.add(meaning)
        if meaning == "isolation":
            if value in LEVELS:
                yield f"SET SESSION TRANSACTION ISOLATION LEVEL {value.replace('-', ' ')}"
        elif name == "transaction_read_only":
            if value == "ON":  # OFF is never set, because it would lift a read-only mode
                yield "SET SESSION TRANSACTION READ ONLY"
        elif NUMBER.fullmatch(value):
            yield f"SET SESSION {name} = {value}"
        elif value in ("ON", "OFF"):
            yield f"SET SESSION {name} = {int(value == 'ON')}"
        elif PLAIN.fullmatch(value.encode()):
            yield f"SET SESSION {name} = '{value}'"


def character_sets(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield a SET statement if the character sets of client, connection and results differ.

    If the character sets are equal, the login already sets the collation.
    """
    names = [variables.get(f"character_set_{way}") for way in ("client", "connection", "results")]
    client, connection, results = names
    collation = variables.get("collation_connection", "")
    if client is None or connection is None or results is None or client == connection == results:
        return
    if WORD.fullmatch(client) and WORD.fullmatch(collation) and (not results or WORD.fullmatch(results)):
        yield (
            f"SET character_set_client = {client}, character_set_results = {results or 'NULL'},"
            f" collation_connection = {collation}"
        )


def assignments(values: Mapping[str, bytes | None], missing: dict[str, int]) -> Iterator[bytes]:
    """Yield one SET statement with all user variables. Count the variables beyond the total size limit in `missing`."""
    parts, size = [], 0
    for name, value in values.items():
        size += len(value or b"")
        if size > MAX_VALUES or "\0" in name:
            missing["large_variable"] = missing.get("large_variable", 0) + 1
            continue
        parts.append(b"@`" + name.replace("`", "``").encode() + b"` = " + literal(value))
    if parts:
        yield b"SET " + b", ".join(parts)


def literal(value: bytes | None) -> bytes:
    """Return a value as a literal that every session reads alike.

    The server shows all values as text. A text that looks like an integer is treated as an integer.
    """
    if value is None:
        return b"NULL"
    if NUMBER.fullmatch(value.decode("latin-1")):
        return value
    if PLAIN.fullmatch(value):
        return b"'" + value + b"'"
    try:
        value.decode()
        introducer = b"_utf8mb4 " if b"\0" not in value else b"_binary "
    except UnicodeDecodeError:
        introducer = b"_binary "
    return introducer + b"x'" + value.hex().encode() + b"'"


def client_bytes(text: str, charset: str) -> bytes | None:
    """Return a statement text as the bytes sent by the client, or None if the character set is unsupported."""
    if text.isascii():
        return text.encode()
    if charset.startswith("utf8"):
        return text.encode()
    try:
        return text.encode({"latin1": "cp1252", "ascii": "ascii", "binary": "utf-8"}[charset])
    except (KeyError, UnicodeEncodeError):
        return None


def prepare_statement(prepared: PreparedText, whole: bytes, reading: int) -> bytes:
    """Return a PREPARE statement with the prepared text as a literal of the session."""
    quoted = whole if reading & NO_BACKSLASH else whole.replace(b"\\", b"\\\\")
    name = (prepared.name or "").replace("`", "``").encode()
    return b"PREPARE `" + name + b"` FROM '" + quoted.replace(b"'", b"''") + b"'"


def count_not_restored(states: Sequence[State]) -> dict[str, int]:
    """Return the total counts over all sessions, by reason."""
    counts: dict[str, int] = {}
    for state in states:
        for reason, n in state.not_restored.items():
            counts[reason] = counts.get(reason, 0) + n
    return counts
