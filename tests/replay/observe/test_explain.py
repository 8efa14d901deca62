# SPDX-License-Identifier: Apache-2.0
"""Tests of EXPLAIN on a server. EXPLAIN writes nothing and has a time limit. Statements that cannot be explained give
an error.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest
from querytape.analyze.findings.plans import measured
from querytape.common.errors import TargetError
from querytape.replay import parse_target
from querytape.replay.observe import explain
from querytape.replay.observe.explain import Explainer, PlanText, Sample
from querytape.servers.sandbox import Server

from tests.helpers.growing_log import wait_until

WRITER = (
    "CREATE FUNCTION shop.w(x INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA"
    " BEGIN INSERT INTO shop.log (conn) VALUES (x); RETURN x; END"
)


@pytest.fixture
def writing(any_shop: Server) -> Iterator[Server]:
    """A server with a function `w` that writes a row, and a view that calls `w`."""
    trust = "SET GLOBAL log_bin_trust_function_creators = {}"
    any_shop.execute(trust.format(1))
    any_shop.execute("CREATE TABLE shop.kept (id INT) ENGINE=MyISAM")
    any_shop.execute(WRITER)
    any_shop.execute("CREATE VIEW hidden AS SELECT w(7) AS x", db="shop")
    any_shop.execute("INSERT INTO shop.log (conn) VALUES (1), (2)")
    yield any_shop
    any_shop.execute(trust.format(0))


def explained_plans(server: Explainer, statement: str, more: bool = False) -> list[PlanText]:
    """Return the plans of a statement."""
    return list(server.explain(Sample("d", "shop", statement), more))


def test_explain_writes_nothing(writing: Server) -> None:
    """EXPLAIN executes functions with constant arguments and fills derived tables. Writes are explained only if they
    cannot call such a function.
    """
    reads = (
        "SELECT * FROM (SELECT w(3) AS x) AS d",
        "SELECT * FROM shop.log WHERE id = w(4)",
        "SELECT * FROM shop.hidden",
    )
    refused = ("DELETE FROM log WHERE id = w(5)", "INSERT INTO kept SELECT x FROM hidden", "SELECT w(6) FOR UPDATE")
    harmless = ("UPDATE log SET seq = 9 WHERE id = 1", "DELETE FROM kept", "SELECT * FROM log FOR UPDATE")
    with closing(Explainer(parse_target(writing.url("shop"), environ={}), {})) as server:
        for statement in reads:
            assert "1792" in (explained_plans(server, statement)[0].error or "1792")
        for statement in refused:
            assert "not asked" in (explained_plans(server, statement)[0].error or "")
        for statement in (*harmless, "SELECT * FROM log"):
            assert explained_plans(server, statement)[0].text, statement
        for statement in (
            "DROP TABLE log",
            "SELECT 1 INTO OUTFILE '/tmp/x'",
            "SELECT 1; DELETE FROM log",
            "SET GLOBAL a = 1",
        ):
            assert "not asked" in (explained_plans(server, statement)[0].error or "")
    assert writing.execute("SELECT conn, seq FROM shop.log ORDER BY id") == ((1, None), (2, None))


def test_long_explain_is_killed(writing: Server) -> None:
    """The server ends the statement. The next statement runs in a new session, which is read-only again."""
    with closing(Explainer(parse_target(writing.url("shop"), environ={}), {}, each_s=20)) as server:
        server.each_s = 0.5
        assert explained_plans(server, "SELECT * FROM (SELECT SLEEP(300)) AS d")[0].error
        server.each_s = 20
        assert explained_plans(server, "SELECT * FROM log")[0].text
        assert not explained_plans(server, "SELECT * FROM (SELECT w(3) AS x) AS d")[0].text
        assert server.lost == 1
    sleeping = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'EXPLAIN%SLEEP(300)%'"
    wait_until(lambda: writing.execute(sleeping) == ((0,),), "the statement is killed")


def test_analyze_runs_only_reads(writing: Server) -> None:
    """ANALYZE is optional. Its plan contains the measured values."""
    with closing(Explainer(parse_target(writing.url("shop"), environ={}), {}, analyze_s=5)) as server:
        found = {plan.kind: plan.text or "" for plan in explained_plans(server, "SELECT * FROM log", more=True)}
        assert "r_rows" in found["analyze"] or "actual time" in found["analyze"]
        assert measured(found["analyze"])[0] is not None
        assert server.is_mariadb or {"tree", "server_digest"} <= found.keys()
        assert [plan.kind for plan in explained_plans(server, "UPDATE log SET seq = 9")] == ["json"]
    assert writing.execute("SELECT count(*) FROM shop.log WHERE seq = 9") == ((0,),)


def test_server_that_ignores_read_only_gets_no_explain(any_shop: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "READ_ONLY", "DO 1")
    with pytest.raises(TargetError, match="does not confirm that the session is read-only"):
        Explainer(parse_target(any_shop.url("shop"), environ={}), {})
