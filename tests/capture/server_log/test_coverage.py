# SPDX-License-Identifier: Apache-2.0
"""Coverage: the share of the executed statements that the log contains. Sessions that are missing from the log are
listed.
"""

from dataclasses import replace

import duckdb
import pytest
from querytape.capture.server_log.coverage import Counted, Coverage, count_statements, measure_coverage, percent

from tests.helpers.fake_server import FakeServer

BEFORE = Counted("performance_schema", 1000, 10, {1: 50, 7: 100, 8: 200, 9: 5}, True, 50)
AFTER = Counted("performance_schema", 1210, 14, {1: 60, 7: 150, 8: 250, 9: 5, 20: 100}, True, 60)


def events(*rows: tuple[int, str]) -> duckdb.DuckDBPyConnection:
    """Return a database with a view `events` of (thread_id, command)."""
    con = duckdb.connect()
    con.execute("CREATE TABLE events (thread_id BIGINT, command VARCHAR, flags BIGINT DEFAULT 0)")
    con.executemany("INSERT INTO events (thread_id, command) VALUES (?, ?)", list(rows) or [(None, "x")])
    return con


def test_coverage_counts_statements_and_silent_sessions() -> None:
    """The tool's own sessions are not counted. A silent session was open before the capture and executed statements,
    but is missing from the log.
    """
    con = events(*[(20, "query")] * 90, *[(8, "execute")] * 10, (20, "quit"), (20, "connect"), (20, "prepare"))
    coverage = measure_coverage(BEFORE, AFTER, con, {1}, logs_errors=False)
    assert coverage == Coverage("performance_schema", 200, 100, 1, 50)
    assert coverage.share == 0.5
    assert coverage.sentence().startswith(
        "the log contains 50 % of the statements that the server executed during the capture (100 of 200, counted by"
    )
    (warning,) = coverage.warnings("file")
    assert "logged nothing because of their old long_query_time: 1 (50 statements)" in warning["text"]
    assert all(way in warning["text"] for way in ("capture packets", "restart", "--read general"))
    assert "--read general" not in coverage.warnings("general")[0]["text"]
    with_errors = measure_coverage(BEFORE, AFTER, con, {1}, logs_errors=True)
    assert with_errors is not None
    assert with_errors.executed == 204


def test_empty_log_has_a_coverage_of_0_or_100_percent() -> None:
    """If the server executed statements but the log is empty, the coverage is 0 %. If the server executed no
    statements, the coverage is 100 %.
    """
    none = measure_coverage(BEFORE, AFTER, None, {1}, logs_errors=False)
    assert none == Coverage("performance_schema", 200, 0, 2, 100)
    idle = measure_coverage(BEFORE, BEFORE, None, {1}, logs_errors=False)
    assert idle is not None
    assert (idle.share, idle.warnings("file")) == (1.0, [])


def test_coverage_below_95_percent_is_partial() -> None:
    assert Coverage("q", 1000, 950, 3, None).warnings("file") == []
    assert Coverage("q", 1000, 949, 3, None).warnings("file") != []
    assert percent(0.99999) == "99.9"
    assert percent(1.0) == "100"
    assert percent(0.611) == "61.1"


def test_coverage_by_questions_counts_commands() -> None:
    """Counters from different sources, such as Questions and performance_schema, are never compared with each other."""
    before = Counted("Questions", 1000, 0, {7: 900, 8: 950}, False, 50)
    after = Counted("Questions", 1210, 0, {7: 1100, 8: 950}, False, 60)
    con = events((20, "query"), (20, "init_db"), (20, "quit"), (20, "ping"))
    assert measure_coverage(before, after, con, {1}, logs_errors=True) == Coverage("Questions", 200, 2, 1, None)
    assert measure_coverage(BEFORE, after, con, {1}, logs_errors=True) is None
    seconds = replace(after, by_session={7: 901, 8: 952}, slack=1)  # session 8 is idle within the rounding (slack)
    assert measure_coverage(before, seconds, con, {1}, logs_errors=True) == Coverage("Questions", 200, 2, 1, None)


@pytest.mark.parametrize("on", [True, False])
def test_performance_schema_is_used_if_it_counts(on: bool) -> None:
    """performance_schema is used only if it counts the statements of querytape's own connection. Otherwise, the status
    variables are used.
    """
    server = FakeServer({})
    server.answers = [
        ("summary_by_thread", [(7, 100), (1, 3)] if on else [(7, 0), (1, 0)]),
        ("summary_by_account", [(500, 4)]),
        ("GLOBAL STATUS WHERE", [("Questions", "900"), ("Connections", "40"), ("Threads_connected", "10"),
                                 ("Aborted_clients", "3"), ("Aborted_connects", "2")]),
        ("SESSION STATUS", [("Questions", "12")]),
        ("QUERY_ID", [(7, 880), (1, 899)]),
    ]  # fmt: skip
    counted = count_statements(server.connection(), {1})
    expected = Counted("performance_schema", 500, 4, {7: 100, 1: 3}, True, 3)
    if not on:
        expected = Counted("Questions", 900 - 25, 0, {7: 880, 1: 899}, False, 12)
    assert counted == expected
    assert count_statements(FakeServer({}).connection(), {1}) is None
    if not on:
        server.answers[-1:] = [("UNIX_TIMESTAMP", [(7, 1795000000)])]
        counted = count_statements(server.connection(), {1})
        assert counted is not None
        assert (counted.by_session, counted.slack) == ({7: 1795000000}, 1)
    assert replace(expected, own=0) != expected
