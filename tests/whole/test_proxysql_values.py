# SPDX-License-Identifier: Apache-2.0
"""Values of executions in ProxySQL's events log, which must reach a real server unchanged."""

from pathlib import Path

import pytest
from querytape.replay import replay
from querytape.servers.sandbox import Server

from tests.capture.sources.test_proxysql import clock, record, values
from tests.helpers.reading import tape_of
from tests.helpers.whole import accounting, options

INSERT = b"INSERT INTO types VALUES (?,?,?,?,?,?,?,?)"
AT = 1_718_000_000_000_000


@pytest.mark.sampled
def test_values_from_a_proxysql_log_reach_the_server(server: Server, tmp_path: Path) -> None:
    """The values are numbers, strings, bytes, times and NULL. Executions without values are skipped and counted."""
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
    server.execute(
        "CREATE TABLE shop.types (i BIGINT, t VARCHAR(20), b BLOB, dt DATETIME(6), d DATE, ti TIME(6), x DOUBLE, n DECIMAL(9,2))"
    )
    row = ((8, b"-7"), (253, b"0x" + "é's".encode().hex().encode()), (252, b"0x00ff0a"), (12, clock(2026, 11, 22, 10, 0, 1, 5)),
           (10, clock(2026, 1, 2, 0, 0, 0, 0)), (11, clock(0, 0, 1, 2, 3, 4, 6)), (5, b"0.500000"), (246, b"1.50"))  # fmt: skip
    empty = tuple((kind, None) for kind, _ in row)
    path = tmp_path / "queries.log"
    path.write_bytes(
        record(17, 7, AT, INSERT)
        + record(16, 7, AT + 10, INSERT, params=values(*row))
        + record(16, 7, AT + 20, INSERT, params=values(*empty))
        + record(16, 7, AT + 30, INSERT)
    )
    tape_of("proxysql", path, tmp_path)
    summary = replay(tmp_path / "queries.log.tape", options(server, tmp_path / "p.run"))
    assert accounting(summary) == (3, 0, 1, 0)
    found = server.execute("SELECT i, HEX(CONVERT(t USING utf8mb4)), HEX(b), dt, d, ti, x, n FROM shop.types")
    told = [[str(value) for value in one] for one in found]
    assert told == [
        ["-7", "é's".encode().hex().upper(), "00FF0A", "2026-11-22 10:00:01.000005", "2026-01-02", "1 day, 2:03:04.000006", "0.5", "1.50"],
        ["None"] * 8,
    ]  # fmt: skip
