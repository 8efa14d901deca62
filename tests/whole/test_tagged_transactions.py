# SPDX-License-Identifier: Apache-2.0
"""Transactions, temporary tables and locks whose statements have comments from a framework. They are replayed
completely. The traffic of each server is recorded as packets through a relay, and by the slow log. A comment at the end
of each statement contains the number of its group. A replay sends all statements of a group or none.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.replay import RunSummary, parse_target, replay
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Pace
from querytape.replay.plan.selection import Selection
from querytape.servers.programs import find_program, missing_sentence
from querytape.servers.sandbox import Server, start_server

from tests.conftest import KINDS, skip_loudly
from tests.helpers.processes import run_command
from tests.helpers.relay import Relay
from tests.helpers.tapes import make_tape
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import accounting, killing, options, outcomes, query

ROUNDS = 30
TABLES = (
    "DROP DATABASE IF EXISTS shop",
    "CREATE DATABASE shop",
    "CREATE TABLE shop.account (id INT PRIMARY KEY, v BIGINT)",
    "CREATE TABLE shop.hot (id INT PRIMARY KEY, v BIGINT)",
    "CREATE TABLE shop.totals (v BIGINT)",
    "INSERT INTO shop.account VALUES (1, 0), (2, 0), (3, 0)",
    "INSERT INTO shop.hot VALUES (1, 1)",
)
READ = "SELECT v FROM account WHERE id = 1"
GIVE = ("UPDATE account SET v = v - 5 WHERE id = 1", READ, "UPDATE account SET v = v + 5 WHERE id = 2")
# (account, groups): after each complete group, the sum of table `account` is zero.
SPOKEN: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...] = (
    (
        "app",
        (
            (READ,),
            ("/* app:checkout */ BEGIN", *GIVE, "COMMIT /* x */"),
            ("-- tag\nSTART TRANSACTION", *GIVE, "-- tag\nROLLBACK"),
            (READ,),
            ("/*!40101 START TRANSACTION */", *GIVE, "/*!40101 COMMIT */"),
            ("/* a */ BEGIN", *GIVE, "/* z */ COMMIT AND CHAIN", *GIVE, "COMMIT WORK -- done"),
            ("BEGIN", *GIVE, "/* s */ SAVEPOINT s", GIVE[0], "/* t */ ROLLBACK TO SAVEPOINT s", "/* e */ COMMIT"),
            ("/* x */ XA START 'x'", *GIVE, "/* x */ XA END 'x'", "/* x */ XA COMMIT 'x' ONE PHASE"),
            (READ,),
        ),
    ),
    (
        "batch",
        (
            ("/* job */ LOCK TABLES account WRITE", *GIVE, "/* job */ UNLOCK TABLES"),
            (READ,),
            ("/* off */ SET autocommit = 0",),
            (*GIVE, "/* app:batch */ COMMIT"),
            (*GIVE, "/* app:batch */ ROLLBACK"),
            ("/* on */ SET autocommit = 1",),
            (READ,),
        ),
    ),
    (
        "report",
        (
            (READ,),
            ("/* report */ CREATE TEMPORARY TABLE own AS SELECT 3 AS c",),
            ("/* own */ SELECT c FROM own",),
            ("INSERT INTO totals SELECT SUM(c) FROM own",),
        ),
    ),
)


@dataclass(frozen=True)
class Taped:
    """A server, the tape of its workload, and the rows after the workload."""

    server: Server
    tape: Path
    final: tuple[Any, ...]


def set_up(server: Server) -> None:
    for statement in TABLES:
        server.execute(statement)


def contents(server: Server) -> tuple[Any, ...]:
    return tuple(server.execute(f"SELECT * FROM shop.{name} ORDER BY 1") for name in ("account", "hot", "totals"))


def connect(port: int, user: str) -> Any:
    given: dict[str, Any] = {
        "user": user,
        "password": "x",
        "database": "shop",
        "autocommit": None,
        "ssl_disabled": True,
    }
    return pymysql.connect(host="127.0.0.1", port=port, **given)


def say(connection: Any, statement: str, group: int) -> None:
    """Run a statement with a comment at the end that has its group number."""
    with connection.cursor() as cursor:
        cursor.execute(f"{statement}\n/*group:{group}*/")


def drive(port: int, recorded: Callable[[int], None]) -> None:
    """Send the groups. Then two sessions take turns with one row. Each of them reads the row before it writes the row.
    Each turn waits until `recorded` has found the end of the previous turn. MariaDB logs a COMMIT only after it has
    answered, and its log has only whole seconds. Without the wait, the log could show the COMMIT after the statements
    of the other session.
    """
    group = 0
    for user, groups in SPOKEN:
        with closing(connect(port, user)) as connection:
            for statements in groups:
                group += 1
                for statement in statements:
                    say(connection, statement, group)
    with closing(connect(port, "app")) as one, closing(connect(port, "app")) as other:
        for n in range(ROUNDS):
            group += 1
            text = (
                "UPDATE hot SET v = @v + 1 WHERE id = 1" if n % 2 else "UPDATE hot SET v = @v * 3 % 1009 WHERE id = 1"
            )
            for statement in (
                "/* app:turns */ BEGIN",
                "SELECT v INTO @v FROM hot WHERE id = 1",
                text,
                "/* x */ COMMIT",
            ):
                say(one if n % 2 else other, statement, group)
            recorded(group)


def wait_for_the_log(log: Path, group: int) -> None:
    """Wait until a slow log contains the COMMIT of a group."""
    sought = f"COMMIT\n/*group:{group}*/".encode()
    ends = time.monotonic() + 60
    while sought not in log.read_bytes():
        assert time.monotonic() < ends, f"{log} has not got the end of group {group}"
        time.sleep(0.001)


def tape_of(server: Server, source: str, folder: Path) -> Path:
    """Record the workload as packets or by the slow log."""
    tape = folder / "t.tape"
    if source == "packets":
        with Relay(server.port) as relay:
            drive(relay.port, lambda group: None)
        return relay.capture(tape)
    server.execute("SET GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON")
    drive(server.port, partial(wait_for_the_log, server.slow_log))
    server.execute("SET GLOBAL slow_query_log = OFF")
    run_command("capture", "slowlog", server.slow_log, "-o", tape)
    return tape


@pytest.fixture(
    scope="module",
    params=mostly_long(
        [f"{kind} {source}" for kind in sorted(KINDS) for source in ("packets", "slowlog")], "mysql80 packets"
    ),
)
def taped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Taped]:
    """Provide each kind of server with a tape from each source."""
    kind, source = request.param.split()
    if find_program(KINDS[kind]) is None:
        skip_loudly(request, missing_sentence(KINDS[kind]))
    with start_server(KINDS[kind]) as server:
        set_up(server)
        for user, _ in SPOKEN:
            plugin = "" if kind == "mariadb" else "WITH mysql_native_password "
            server.execute(f"CREATE USER {user}@'127.0.0.1' IDENTIFIED {plugin}BY 'x'")
            server.execute(f"GRANT ALL ON *.* TO {user}@'127.0.0.1'")
        tape = tape_of(server, source, tmp_path_factory.mktemp("taped"))
        yield Taped(server, tape, contents(server))


def run(taped: Taped, output: Path, **more: Any) -> RunSummary:
    """Restore the rows before the workload, and replay on the same server."""
    set_up(taped.server)
    given = {"pace": Pace("none"), "overrides": Overrides(clock=True), "partial_ok": True, **more}
    return replay(taped.tape, options(taped.server, output, **given))


def groups(taped: Taped, output: Path) -> dict[int, list[tuple[Any, ...]]]:
    """Return (statement, status, errno, on_read_target) for the events of each group, in order."""
    rows = query(
        "SELECT regexp_extract(statement::VARCHAR, 'group:(\\d+)', 1)::INTEGER AS g, statement::VARCHAR, status,"
        f" coalesce(o.errno, 0), on_read_target FROM '{output}/outcomes/*.parquet' o"
        f" JOIN '{taped.tape}/events/*.parquet' e USING (session, seq)"
        " WHERE contains(statement::VARCHAR, 'group:') ORDER BY g, session, seq"
    )
    found: dict[int, list[tuple[Any, ...]]] = {}
    for number, *rest in rows:
        found.setdefault(number, []).append(tuple(rest))
    return found


def spoken_groups() -> list[tuple[str, ...]]:
    """Return the statements of each group, in the order of group numbers."""
    return [statements for _, said in SPOKEN for statements in said]


def test_every_statement_of_a_group_is_on_the_tape(taped: Taped) -> None:
    rows = query(f"SELECT count(*) FROM '{taped.tape}/events/*.parquet' WHERE contains(statement::VARCHAR, 'group:')")
    assert rows == [(sum(map(len, spoken_groups())) + ROUNDS * 4,)]


def test_commit_order_gives_the_original_rows(taped: Taped, tmp_path: Path) -> None:
    """The replay runs at full speed. A session that reads a row after the COMMIT of another session gets the committed
    value.
    """
    summary = run(taped, tmp_path / "a.run", commit_order=True)
    assert accounting(summary)[3] == 0
    assert summary.errors == {}
    assert contents(taped.server) == taped.final


def digest_inside_transaction(taped: Taped) -> str:
    """Return the digest of one of the two writes of a transaction."""
    text = GIVE[0]
    rows = query(
        f"SELECT DISTINCT digest FROM '{taped.tape}/events/*.parquet' WHERE starts_with(statement::VARCHAR, '{text}')"
    )
    assert len(rows) == 1
    return str(rows[0][0])


def moment_inside(taped: Taped) -> int:
    """Return the start time of an event in the middle of a transaction."""
    rows = query(
        f"SELECT start_ns FROM '{taped.tape}/events/*.parquet'"
        " WHERE regexp_matches(statement::VARCHAR, 'COMMIT AND CHAIN') AND class = 'transaction'"
    )
    return int(rows[0][0])


FILTERS = ("users", "dbs", "digests", "classes", "from_ns", "to_ns")


@pytest.mark.sampled
@pytest.mark.parametrize("name", FILTERS)
def test_filters_keep_transactions_complete(name: str, taped: Taped, tmp_path: Path) -> None:
    """With any filter, a replay sends all statements of a group or none, so the sums stay zero."""
    chosen: dict[str, Any] = {
        "users": ("app",),
        "dbs": ("shop",),
        "digests": (digest_inside_transaction(taped),),
        "classes": ("write",),
        "from_ns": moment_inside(taped),
        "to_ns": moment_inside(taped),
    }
    summary = run(taped, tmp_path / "a.run", selection=Selection(**{name: chosen[name]}))
    assert accounting(summary)[3] == 0
    found = groups(taped, tmp_path / "a.run")
    assert {number for number, events in found.items() if len({status for _, status, _, _ in events}) > 1} == set()
    sent = {number for number, events in found.items() if events[0][1] == "executed"}
    assert sent
    if name not in ("dbs",):
        assert sent != found.keys()
    assert taped.server.execute("SELECT SUM(v) FROM shop.account") == ((0,),)


def test_reads_inside_transactions_stay_on_the_main_target(taped: Taped, tmp_path: Path) -> None:
    """The read target gets only reads outside transactions. Reads of locked or temporary tables stay on the main
    target.
    """
    with start_server(taped.server.kind, config={"server-id": "77"}) as read_target:
        set_up(read_target)
        target = parse_target(read_target.url("shop"), environ={})
        summary = run(taped, tmp_path / "a.run", reads_to=target, commit_order=True)
    assert accounting(summary)[3] == 0
    assert summary.info["accounting"]["read_target_errors"] == 0
    assert {event[2] for events in groups(taped, tmp_path / "a.run").values() for event in events} == {0}
    for number, events in groups(taped, tmp_path / "a.run").items():
        alone = len(events) == 1 and events[0][0].startswith(READ)
        assert {event[3] for event in events} == {alone}, (number, events)
    assert contents(taped.server) == taped.final


@pytest.mark.sampled
def test_lost_session_reopens_at_the_next_transaction(any_shop: Server, tmp_path: Path) -> None:
    """The remaining statements of the lost transaction, including its COMMIT with a comment, are not sent. Later
    transactions are complete.
    """
    any_shop.execute("CREATE TABLE shop.totals (v BIGINT)")
    spoken = (
        "/* a */ BEGIN",
        "INSERT INTO totals VALUES (1)",
        "SELECT SLEEP(60)",
        "INSERT INTO totals VALUES (2)",
        "/* a */ ROLLBACK TO SAVEPOINT s",
        "/* a */ COMMIT",
        "/* b */ START TRANSACTION",
        "INSERT INTO totals VALUES (3)",
        "COMMIT AND CHAIN /* c */",
        "INSERT INTO totals VALUES (4)",
        "-- d\nCOMMIT",
    )
    events = [{"statement": text, "db": "shop", "class": "write", **class_of(text)} for text in spoken]
    tape = make_tape(tmp_path / "t.tape", events)
    given = options(any_shop, tmp_path / "a.run", pace=Pace("none"), on_lost="reopen")
    with killing(any_shop, "SELECT SLEEP(60)"):
        summary = replay(tape, given)
    assert summary.info["accounting"]["balanced"]
    assert [row[0] for row in outcomes(tmp_path / "a.run", "reason")][3:] == ["transaction_lost"] * 3 + [None] * 5
    assert any_shop.execute("SELECT v FROM shop.totals ORDER BY v") == ((3,), (4,))


def class_of(text: str) -> dict[str, str]:
    """Return the class field of a statement. Return no field for a write."""
    words = ("BEGIN", "ROLLBACK", "COMMIT", "START TRANSACTION")
    if any(word in text for word in words):
        return {"class": "transaction"}
    return {"class": "read"} if "SELECT" in text else {}
