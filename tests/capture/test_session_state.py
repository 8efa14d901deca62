# SPDX-License-Identifier: Apache-2.0
"""Statements that restore the state of a session."""

import pytest
from querytape.capture.session_state import client_bytes, count_not_restored, literal, state_of
from querytape.native.bindings.statements import Normalizer
from querytape.schemas.names import FLAGS
from querytape.servers.client_sessions import OpenSession, PreparedText

GLOBAL = {"sql_mode": "STRICT_TRANS_TABLES", "time_zone": "SYSTEM", "autocommit": "ON", "unique_checks": "ON"}


def texts(session: OpenSession) -> list[tuple[int, str]]:
    """Return the statements that restore a session, as text."""
    return [(id_, text.decode()) for id_, text in state_of(session, GLOBAL).statements]


def test_only_settings_that_differ_from_the_server_are_set() -> None:
    """The syntax of the isolation level is valid on every server. autocommit is set last."""
    variables = {
        "sql_mode": "ANSI_QUOTES",
        "time_zone": "+03:00",
        "autocommit": "OFF",
        "unique_checks": "ON",
        "transaction_isolation": "READ-COMMITTED",
        "tx_isolation": "READ-COMMITTED",
        "group_concat_max_len": "4096",
        "transaction_read_only": "ON",
    }
    assert texts(OpenSession(7, "app", "shop", variables=variables)) == [
        (-1, "SET SESSION sql_mode = 'ANSI_QUOTES'"),
        (-1, "SET SESSION time_zone = '+03:00'"),
        (-1, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
        (-1, "SET SESSION TRANSACTION READ ONLY"),
        (-1, "SET SESSION group_concat_max_len = 4096"),
        (-1, "SET SESSION autocommit = 0"),
    ]
    assert texts(OpenSession(7, "app", "shop", variables=GLOBAL)) == []
    assert texts(OpenSession(7, "app", "shop")) == []


def test_values_of_a_server_cannot_inject_statements() -> None:
    """Values that the server reports are quoted or left out. READ WRITE is never sent to a server."""
    lies = {
        "sql_mode": "', sql_log_bin = 0, @a = '",
        "time_zone": "x'; DROP TABLE t",
        "transaction_isolation": "READ WRITE",
        "transaction_read_only": "OFF",
        "character_set_client": "x, sql_log_bin = 0",
        "character_set_connection": "y",
        "character_set_results": "z",
        "collation_connection": "c",
    }
    assert texts(OpenSession(7, "app", "", variables=lies)) == []
    values: dict[str, bytes | None] = {"a` = 1, sql_log_bin": b"'; DROP TABLE t; --"}
    ((_, text),) = texts(OpenSession(7, "app", "", user_variables=values))
    assert text == "SET @`a`` = 1, sql_log_bin` = _utf8mb4 x'273b2044524f50205441424c4520743b202d2d'"


def test_user_variables_and_prepared_statements_are_restored() -> None:
    """The values of user variables are written so that each session reads them in the same way. PREPARE uses the
    original statement name. Statements without a text are counted.
    """
    session = OpenSession(
        7,
        "app",
        "",
        variables={"character_set_client": "latin1"},
        user_variables={"n": b"42", "z": b"007", "q": b"it's", "b": b"\x00\xff", "e": "é".encode(), "none": None},
        prepared=[
            PreparedText(1, "p", "SELECT 'it''s', '\\n', ?"),
            PreparedText(2, None, "SELECT é, ?"),
            PreparedText(3, None, None),
            PreparedText(4, None, "SELECT 漢"),
        ],
    )
    state = state_of(session, GLOBAL)
    assert state.statements == (
        (
            -1,
            b"SET @`n` = 42, @`z` = '007', @`q` = _utf8mb4 x'69742773', @`b` = _binary x'00ff',"
            b" @`e` = _utf8mb4 x'c3a9', @`none` = NULL",
        ),
        (-1, b"PREPARE `p` FROM 'SELECT ''it''''s'', ''\\\\n'', ?'"),
        (2, "SELECT é, ?".encode("latin-1")),
    )
    assert count_not_restored([state, state]) == {"no_text": 4}


def test_character_sets_are_restored() -> None:
    """If the three character sets of a session are equal, the login sets them. Otherwise, a statement sets them."""
    same = dict.fromkeys(("character_set_client", "character_set_connection", "character_set_results"), "latin1")
    assert texts(OpenSession(7, "app", "", variables=same | {"collation_connection": "latin1_bin"})) == []
    others = same | {"character_set_results": "", "collation_connection": "utf8mb4_bin"}
    assert texts(OpenSession(7, "app", "", variables=others)) == [
        (-1, "SET character_set_client = latin1, character_set_results = NULL, collation_connection = utf8mb4_bin")
    ]
    assert client_bytes("é", "gbk") is None
    assert client_bytes("e", "gbk") == b"e"


@pytest.mark.parametrize(("mode", "reading"), [("", 0), ("NO_BACKSLASH_ESCAPES,ANSI_QUOTES", 3), ("ANSI_QUOTES", 2)])
def test_backslashes_in_a_prepare_text_follow_the_sql_mode(mode: str, reading: int) -> None:
    """A backslash in the text of PREPARE is doubled. It is not doubled if the session treats a backslash as an ordinary
    character.
    """
    session = OpenSession(7, "a", "", variables={"sql_mode": mode}, prepared=[PreparedText(1, "p", "SELECT '\\'")])
    state = state_of(session, {"sql_mode": mode})
    assert state.reading == reading
    assert state.statements[0][1].count(b"\\") == (1 if reading & 1 else 2)


def test_large_values_are_counted_and_passwords_redacted() -> None:
    """Values above the size limit are counted, not cut. A variable whose name suggests a password gets a redacted
    value.
    """
    session = OpenSession(7, "a", "", user_variables={"a": b"x" * (17 << 20), "b": b"1"})
    state = state_of(session, GLOBAL)
    assert state.not_restored == {"large_variable": 2}
    assert literal(b"") == b"''"
    secret = state_of(OpenSession(7, "a", "", prepared=[PreparedText(1, None, "SET PASSWORD = 'x'")]), GLOBAL)
    assert Normalizer().normalize(secret.statements[0][1]).flags & FLAGS["redacted"]
