# SPDX-License-Identifier: Apache-2.0
"""CALLs with OUT and INOUT arguments in a server's log. The log has values in place of these arguments, and a server
refuses such values.
"""

from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.cli.run_lines import summary_lines
from querytape.replay import replay
from querytape.replay.plan.pacing import Pace
from querytape.servers.sandbox import Server

from tests.helpers.binary_client import Prepared
from tests.helpers.tape_tools import found
from tests.helpers.whole import accounting, options

SCHEMA = (
    "DROP DATABASE IF EXISTS shop",
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "CREATE TABLE shop.paid (n INT, t VARCHAR(80) CHARACTER SET utf8mb4)",
    "CREATE PROCEDURE shop.pay(x INT, INOUT n INT, OUT t VARCHAR(80) CHARACTER SET utf8mb4, u VARCHAR(80))"
    " BEGIN SET n = coalesce(n, 0) + x; SET t = concat(u, n); INSERT INTO paid VALUES (n, t); END",
    "CREATE PROCEDURE shop.plain(x INT) INSERT INTO paid VALUES (x, 'plain')",
)


def fresh_schema(server: Server) -> None:
    for statement in SCHEMA:
        server.execute(statement, db="shop" if " shop." in statement else None)


@pytest.fixture
def logging(server: Server, tmp_path: Path) -> Any:
    """Provide each kind of server in turn. The server writes every statement to its slow log."""
    names = ("slow_query_log", "slow_query_log_file", "long_query_time", "log_output")
    was = server.execute("SELECT " + ", ".join(f"@@global.{name}" for name in names))[0]
    tmp_path.chmod(0o777)
    fresh_schema(server)
    server.execute(f"SET GLOBAL slow_query_log_file = '{server.datadir / 'calls-slow.log'}'")
    server.execute("SET GLOBAL log_output = 'FILE', GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON")
    yield server
    server.execute(f"SET GLOBAL slow_query_log = {was[0]}, GLOBAL slow_query_log_file = '{was[1]}'")
    server.execute(f"SET GLOBAL long_query_time = {was[2]}, GLOBAL log_output = '{was[3]}'")


def run_calls(port: int) -> None:
    """Call procedures as text, by PREPARE and EXECUTE as text, and by prepared statements of the protocol."""
    given: dict[str, Any] = {"user": "root", "database": "shop", "autocommit": True, "ssl_disabled": True}
    con: Any = pymysql.connect(host="127.0.0.1", port=port, charset="utf8mb4", **given)
    say = con.cursor().execute
    say("SET @n = 5, @x = 7")
    say("CALL pay(1, @n, @t, 'text')")
    say("PREPARE s FROM 'CALL pay(?, ?, ?, ?)'")
    say("SET @u = 'it''s, (é) '")
    say("EXECUTE s USING @x, @n, @t, @u")
    call = Prepared(con, "CALL pay(?, ?, ?, ?)")
    call.execute(2, 40, None, "protocol")
    plain = Prepared(con, "CALL plain(?)")
    plain.execute(9)
    con.close()


@pytest.mark.long
def test_calls_from_a_slow_log_use_variables_for_out_arguments(logging: Server, tmp_path: Path) -> None:
    """The replay puts variables in place of the values, and gets the same rows without errors. The summary counts the
    changed CALLs.
    """
    run_calls(logging.port)
    want = logging.execute("SELECT * FROM shop.paid ORDER BY n, t")
    logging.execute("SET GLOBAL slow_query_log = OFF")
    capture_source(SOURCES["slowlog"], [str(logging.datadir / "calls-slow.log")], tmp_path / "c.tape", Settings())
    logged = [text for (text,) in found(tmp_path / "c.tape", "SELECT statement::VARCHAR FROM events") if text]
    assert [text for text in logged if text.startswith("CALL pay(7")], logged  # the slow log shows the values
    assert len(want) == 4
    fresh_schema(logging)
    summary = replay(tmp_path / "c.tape", options(logging, tmp_path / "c.run", pace=Pace("none"), partial_ok=True))
    accounting(summary)
    assert logging.execute("SELECT * FROM shop.paid ORDER BY n, t") == want, summary.errors
    assert 1414 not in summary.errors
    assert summary.info["accounting"]["called_with_variables"] == 2
    assert "2 CALLs had values for OUT or INOUT arguments" in "\n".join(summary_lines(summary))
