# SPDX-License-Identifier: Apache-2.0
"""Tests of counting the work of a read. The counters belong to one execution, which writes nothing and has a time
limit.
"""

import json
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from querytape.common.errors import TargetError
from querytape.replay import parse_target
from querytape.replay.observe import explain
from querytape.replay.observe.counting import EXECUTIONS, WorkCounter, engine_pages, least
from querytape.replay.observe.explain import Explainer, PlanText, Sample
from querytape.servers.sandbox import Server

from tests.conftest import ServerFactory
from tests.helpers.growing_log import wait_until

ROWS = 300
FILL = "INSERT INTO shop.log (conn, seq) VALUES " + ", ".join(f"({n}, {n % 7})" for n in range(ROWS))
WRITER = (
    "CREATE FUNCTION shop.w(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA"
    " BEGIN INSERT INTO shop.log (conn) VALUES (x); RETURN x; END"
)


@contextmanager
def counter(server: Server, each_s: float = 10.0, db: str = "shop") -> Iterator[WorkCounter]:
    """Return a counter of the work of a server."""
    with (
        closing(Explainer(parse_target(server.url(db), environ={}), {})) as explainer,
        closing(WorkCounter(explainer, each_s)) as made,
    ):
        yield made


def count_work(made: WorkCounter, statement: str) -> PlanText:
    return made.count(Sample("d", "shop", statement))


def counters(found: PlanText) -> dict[str, Any]:
    assert found.text is not None, found.error
    return dict(json.loads(found.text)["counters"])


def test_work_of_one_execution_is_counted(any_shop: Server) -> None:
    """The test counts rows of a scan, a sort and a lookup. The cost of reading the counters is not counted."""
    any_shop.execute(FILL)
    with counter(any_shop) as made:
        scan = count_work(made, "SELECT seq FROM log")
        assert json.loads(scan.text or "")["executions"] == EXECUTIONS
        assert counters(scan)["Handler_read_rnd_next"] == ROWS + 1
        assert counters(scan)["Created_tmp_tables"] == counters(scan)["Sort_rows"] == 0
        assert counters(count_work(made, "SELECT seq FROM log ORDER BY conn DESC"))["Sort_rows"] == ROWS
        found = counters(count_work(made, "SELECT seq FROM log WHERE id = 9"))
        assert (found["Handler_read_key"], found["Handler_read_rnd_next"]) == (1, 0)
        assert found["Innodb_pages_read"] == 0
        grouped = counters(count_work(made, "SELECT seq, count(*) FROM log GROUP BY seq"))
        assert grouped["Handler_read_rnd_next"] >= ROWS + 1


def test_writes_and_locking_statements_are_not_executed(any_shop: Server) -> None:
    """Texts that contain several statements are not executed either. A function that writes fails with an error."""
    trust = "SET GLOBAL log_bin_trust_function_creators = {}"
    any_shop.execute(trust.format(1))
    any_shop.execute(WRITER)
    any_shop.execute(trust.format(0))
    refused = (
        "UPDATE log SET seq = 1",
        "SELECT * FROM log FOR UPDATE",
        "SELECT 1; DELETE FROM log",
        "SELECT 1 INTO OUTFILE '/tmp/qt_counting'",
        "SELECT * FROM nowhere",
        "SELECT GET_LOCK('qt', 1)",
    )
    with counter(any_shop) as made:
        for statement in refused:
            assert count_work(made, statement).text is None, statement
        assert "not run" in (count_work(made, refused[0]).error or "")
        assert "1792" in (count_work(made, "SELECT w(seq) FROM (SELECT 3 AS seq) AS d").error or "")
        assert counters(count_work(made, "SELECT * FROM log"))["Handler_read_rnd_next"] == 1
    assert any_shop.execute("SELECT count(*) FROM shop.log") == ((0,),)


def test_long_statement_ends_by_the_server_limit(any_shop: Server) -> None:
    """The session continues after the limit."""
    any_shop.execute(FILL)
    endless = "SELECT count(*) FROM log a, log b, log c, log d WHERE a.seq + b.seq + c.seq + d.seq = 1"
    running = f"SELECT count(*) FROM information_schema.processlist WHERE info = '{endless}'"
    with counter(any_shop, 3) as made:
        began = time.monotonic()
        assert (count_work(made, endless).error or "").partition(" ")[0] in ("1969", "3024")
        assert time.monotonic() - began < 20
        assert counters(count_work(made, "SELECT seq FROM log WHERE id = 1"))["Handler_read_key"] == 1
    wait_until(lambda: any_shop.execute(running) == ((0,),), "the statement is ended")


def test_result_with_endless_rows_ends_the_session(any_shop: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the server does not enforce the time limit, the counter closes the session and kills the statement. A new
    session counts the next statement.
    """
    any_shop.execute(FILL)
    monkeypatch.setattr("querytape.replay.observe.counting.SETTINGS", ())
    endless = "SELECT REPEAT('x', 1000) FROM log a, log b, log c, log d"
    running = f"SELECT count(*) FROM information_schema.processlist WHERE info = '{endless}'".replace("'x'", "''x''")
    with warnings.catch_warnings(), counter(any_shop, 0.2) as made:
        warnings.simplefilter("error", pytest.PytestUnraisableExceptionWarning)
        error = count_work(made, endless).error or ""
        assert "reading the rows took too long" in error or "no reply in time" in error
        made._each_s = 20
        assert counters(count_work(made, "SELECT seq FROM log WHERE id = 1"))["Handler_read_key"] == 1
    wait_until(lambda: any_shop.execute(running) == ((0,),), "the statement is killed")


def test_server_that_ignores_read_only_runs_nothing(any_shop: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with counter(any_shop) as made:
        monkeypatch.setattr(explain, "READ_ONLY", "DO 1")
        with pytest.raises(TargetError, match="does not confirm that the session is read-only"):
            count_work(made, "SELECT 1")


@pytest.mark.sampled
@pytest.mark.server
@pytest.mark.parametrize("kind", ["mariadb", "mariadb-11.8", "mysql80", "mysql-9"])
def test_pages_read_from_disk_are_counted(kind: str, server_factory: ServerFactory) -> None:
    """A table larger than the buffer pool is read from disk at each execution. A small table is read from memory."""
    server = server_factory(kind, {"innodb_buffer_pool_size": "6M"})
    server.execute("CREATE DATABASE shop")
    server.execute(
        "CREATE TABLE shop.large (id INT AUTO_INCREMENT PRIMARY KEY, pad VARCHAR(8000)) CHARACTER SET latin1"
    )
    server.execute("CREATE TABLE shop.small (id INT PRIMARY KEY)")
    server.execute("INSERT INTO shop.large (pad) VALUES " + ", ".join(["(REPEAT('x', 7900))"] * 100))
    for _ in range(4):
        server.execute("INSERT INTO shop.large (pad) SELECT pad FROM shop.large")
    server.execute("INSERT INTO shop.small VALUES (1), (2)")
    with counter(server) as made:
        wait_until(
            lambda: counters(count_work(made, "SELECT * FROM small")).get("Innodb_pages_read") == 0, "it is quiet"
        )
        assert counters(count_work(made, "SELECT sum(length(pad)) FROM large"))["Innodb_pages_read"] > 300


def test_global_counters_need_an_idle_server() -> None:
    """The number of pages read is a counter of the whole server. Only executions without foreign statements count. The
    result is their minimum minus the work of an idle server. The first execution is ignored.
    """
    first, busy, quiet = ({"Queries": n, "Innodb_pages_read": p, "Sort_rows": 9} for n, p in ((2, 1), (5, 2), (2, 70)))
    idle = {"Queries": 1, "Innodb_pages_read": 3, "Sort_rows": 2}
    assert least([first, busy, quiet], idle) == {"Sort_rows": 7, "Innodb_pages_read": 67}
    assert least([first, busy], idle) == least([quiet], idle) == {"Sort_rows": 7}
    assert least([first, quiet], {**idle, "Queries": 2}) == {"Sort_rows": 7}


def test_engine_pages_of_all_tables_are_summed() -> None:
    """If the server version does not count pages, the function returns no number. The same applies if the text is not a
    plan.
    """
    first: dict[str, Any] = {"pages_accessed": 5, "pages_read_count": 2}
    other: dict[str, Any] = {"pages_prefetch_read_count": 64, "pages_read_count": "x"}
    tables = [{"table": {"r_engine_stats": stats}} for stats in (first, other, {})]
    plan = {"query_block": {"nested_loop": [*tables, {"table": {"r_engine_stats": {"pages_accessed": 1}}}]}}
    assert engine_pages(json.dumps(plan)) == {"Innodb_pages_read": 66}
    for text in ("{", "[1]", json.dumps({"table": {"r_rows": 5}}), "[" * 100_000):
        assert engine_pages(text) == {}
