# SPDX-License-Identifier: Apache-2.0
"""Replays on real servers that reproduce the recording: results, clock, ids, users, TLS, KILL, limits and speed."""

import dataclasses
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.analyze import build
from querytape.common.errors import InputError, TargetError
from querytape.replay import ReplayOptions, parse_target, replay
from querytape.replay.observe.control_files import request_speed, request_stop
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Pace
from querytape.replay.plan.selection import Selection
from querytape.servers.option_files import Account
from querytape.servers.sandbox import Server
from querytape.servers.tls import Tls

from tests.helpers.relay import Relay
from tests.helpers.tapes import MS, SECOND, T0, flag_bits, make_tape
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import accounting, killing, options, outcomes, query


def recorded(server: Server, tmp_path: Path, talk: Any, **connect: Any) -> Path:
    """Record the packets of `talk(connection)` through a relay and return the tape."""
    with Relay(server.port) as relay:
        given = {"user": "root", "database": "shop", "autocommit": True, "ssl_disabled": True, **connect}
        with closing(pymysql.connect(host="127.0.0.1", port=relay.port, **given)) as connection:
            talk(connection)
    return relay.capture(tmp_path / "f.tape")


def say(connection: Any, *statements: str) -> None:
    """Run statements, and read all of their results."""
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            while cursor.nextset():
                pass


@pytest.mark.sampled
def test_result_checksums_find_changed_data_order_and_rows(any_shop: Server, tmp_path: Path) -> None:
    """Equal data gives equal checksums. The report names each kind of difference."""

    def fill(third: str) -> None:
        any_shop.execute("DROP TABLE IF EXISTS shop.r")
        any_shop.execute("CREATE TABLE shop.r (a INT, b VARCHAR(400) NULL)")
        any_shop.execute(f"INSERT INTO shop.r VALUES (1, REPEAT('x', 300)), (2, NULL), (3, '{third}'), (4, '')")

    fill("three")
    tape = recorded(
        any_shop,
        tmp_path,
        lambda con: say(
            con,
            "SELECT * FROM r ORDER BY a",
            "SELECT a FROM r WHERE a < 3 ORDER BY a",
            "SELECT a, RAND() * 0 + 1 FROM r LIMIT 2",
            "SELECT NOW(6)",
            "SELECT COUNT(*) FROM r WHERE b = 'three'",
        ),
    )
    same = replay(tape, options(any_shop, tmp_path / "a.run", verify=True, pace=Pace("none")))
    sums = query(
        f"SELECT e.checksum, o.checksum FROM '{tape}/events/*.parquet' e JOIN '{same.path}/outcomes/*.parquet' o"
        " USING (session, seq) WHERE e.statement::VARCHAR LIKE 'SELECT%' AND e.statement::VARCHAR NOT LIKE '%NOW%'"
    )
    assert len(sums) == 4
    assert all(a is not None and a == b for a, b in sums)
    fill("other")
    any_shop.execute("INSERT INTO shop.r VALUES (5, 'five')")
    other = replay(tape, options(any_shop, tmp_path / "b.run", verify=True, pace=Pace("none")))
    found = {(row["kind"], row["known"]) for row in build(tape, [other.path]).answers["results"]}
    assert {("rows", None), ("data", None), ("data", "asks_time")} <= found
    plain = replay(tape, options(any_shop, tmp_path / "c.run", pace=Pace("none")))
    assert {row[0] for row in outcomes(plain.path, "checksum")} == {None}


@pytest.mark.sampled
def test_original_clock_and_ids_are_reproduced(any_shop: Server, tmp_path: Path) -> None:
    """With --now original and --insert-id original, NOW() returns the recorded time, and each row gets its recorded id."""
    any_shop.execute("CREATE TABLE shop.n (id INT AUTO_INCREMENT PRIMARY KEY, at DATETIME(6))")
    events = [
        {"statement": "SET time_zone = '+00:00'", "class": "session", "db": "shop"},
        {"statement": "INSERT INTO n (at) VALUES (NOW(6))", "class": "write", "db": "shop", "insert_id": 700},
        {"statement": "INSERT INTO n (at) VALUES (NOW(6))", "class": "write", "db": "shop"},
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    summary = replay(tape, options(any_shop, tmp_path / "a.run", overrides=Overrides(clock=True, ids=True)))
    assert accounting(summary)[0] == 3
    assert summary.info["accounting"]["overrides_failed"] == 0
    rows = any_shop.execute("SELECT id, CAST(at AS CHAR) FROM shop.n ORDER BY id")
    assert rows == ((700, "2023-11-14 22:13:20.001000"), (701, "2023-11-14 22:13:20.002000"))


@pytest.mark.sampled
def test_users_and_schemas_are_mapped(any_shop: Server, tmp_path: Path) -> None:
    """The mapping of users also applies to COM_CHANGE_USER."""
    any_shop.execute("CREATE DATABASE IF NOT EXISTS shop2")
    any_shop.execute("CREATE TABLE IF NOT EXISTS shop2.who (name VARCHAR(80), db VARCHAR(80))")
    any_shop.execute("DELETE FROM shop2.who")
    for name in ("app2", "batch"):
        any_shop.execute(f"CREATE USER {name} IDENTIFIED BY 'pw {name}'")
        any_shop.execute(f"GRANT ALL ON shop2.* TO {name}")
    note = {"statement": "INSERT INTO who VALUES (SUBSTRING_INDEX(USER(), '@', 1), DATABASE())", "class": "write"}
    events = [
        {"session": 1, **note, "user": "app", "db": "shop"},
        {"session": 2, **note, "user": "batch", "db": "shop"},
        {"session": 2, "command": "change_user", "user": "app", "db": "shop"},
        {"session": 2, **note, "user": "app", "db": "shop"},
        {"session": 3, **note, "user": "nobody", "db": "shop"},
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    accounts = {"app": Account("app2", "pw app2"), "batch": Account("batch", "pw batch")}
    overrides = Overrides(schemas={"shop": "shop2"}, accounts=accounts)
    try:
        summary = replay(tape, options(any_shop, tmp_path / "a.run", overrides=overrides, pace=Pace("none")))
        assert accounting(summary)[0] == 5
        assert summary.errors == {}
        found = sorted(any_shop.execute("SELECT name, db FROM shop2.who"))
        assert found == [("app2", "shop2"), ("app2", "shop2"), ("batch", "shop2"), ("root", "shop2")]
        wrong = Overrides(accounts={"app": Account("app2", "no")})
        with pytest.raises(TargetError, match="app2@"):
            replay(tape, options(any_shop, tmp_path / "b.run", overrides=wrong))
        assert "pw app2" not in (tmp_path / "a.run" / "run.json").read_text()
    finally:
        any_shop.execute("DROP DATABASE shop2")
        any_shop.execute("DROP USER app2, batch")


def certificates(folder: Path) -> Iterator[str]:
    """Create two certificate authorities and a server certificate. Yield the file names of the authorities."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder, timeout=60)

    for name, subject in (("ca", "/CN=test ca"), ("other", "/CN=other ca")):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", subject, "-keyout", f"{name}.key",
                "-out", f"{name}.pem")  # fmt: skip
    (folder / "ext").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "s.key", "-out", "s.csr")
    openssl("x509", "-req", "-in", "s.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "ext", "-out", "s.pem")  # fmt: skip
    yield from ("ca.pem", "other.pem")


@pytest.mark.long
@pytest.mark.parametrize("kind", mostly_long(["mariadb", "mysql-8.0", "mysql-9"], "mysql-8.0"))
def test_each_tls_mode_and_compression_can_be_used(kind: str, server_factory: Any, tmp_path: Path) -> None:
    """Each TLS mode is tried against a server with TLS and a server without TLS. The certificate is right or wrong."""
    list(certificates(tmp_path))
    for name in ("ca.pem", "s.pem", "s.key"):
        (tmp_path / name).chmod(0o644)
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:3]:
        if parent != Path("/tmp"):
            parent.chmod(0o755)
    config = {
        f"ssl-{name}": str(tmp_path / file) for name, file in (("ca", "ca.pem"), ("cert", "s.pem"), ("key", "s.key"))
    }
    server = server_factory(kind, config)
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.c (v VARCHAR(200), z VARCHAR(20))")
    note = (
        "INSERT INTO c SELECT a.VARIABLE_VALUE, b.VARIABLE_VALUE FROM {0} a, {0} b WHERE a.VARIABLE_NAME = 'Ssl_cipher'"
    )
    where = "information_schema.SESSION_STATUS" if kind == "mariadb" else "performance_schema.session_status"
    statement = note.format(where) + " AND b.VARIABLE_NAME = 'Compression'"
    tape = make_tape(tmp_path / "t.tape", [{"statement": statement, "class": "write", "db": "shop"}])
    table = [
        (Tls(), False, False),
        (Tls("PREFERRED"), False, True),
        (Tls("REQUIRED"), True, True),
        (Tls("VERIFY_CA", str(tmp_path / "ca.pem")), False, True),
        (Tls("VERIFY_IDENTITY", str(tmp_path / "ca.pem")), False, True),
    ]
    for number, (tls, compress, encrypted) in enumerate(table):
        server.execute("DELETE FROM shop.c")
        given = options(server, tmp_path / f"{number}.run", pace=Pace("none"))
        target = dataclasses.replace(given.target, tls=tls, compress=compress)
        summary = replay(tape, dataclasses.replace(given, target=target))
        assert accounting(summary)[0] == 1, summary.info["partial"]
        cipher, compressed = server.execute("SELECT v, z FROM shop.c")[0]
        assert (bool(cipher), compressed) == (encrypted, "ON" if compress else "OFF"), tls
    given = options(server, tmp_path / "wrong.run", pace=Pace("none"))
    target = dataclasses.replace(given.target, tls=Tls("VERIFY_CA", str(tmp_path / "other.pem")))
    with pytest.raises(TargetError, match="certificate"):
        replay(tape, dataclasses.replace(given, target=target))
    with pytest.raises(InputError, match="--ssl-ca"):
        Tls("VERIFY_CA")
    server.execute("CREATE USER certified@'%' REQUIRE X509")
    server.execute("GRANT ALL ON shop.* TO certified@'%'")
    own, ca = (str(tmp_path / "s.pem"), str(tmp_path / "s.key")), str(tmp_path / "ca.pem")
    for tls, works in ((Tls("VERIFY_IDENTITY", ca, *own), True), (Tls("VERIFY_IDENTITY", ca), False)):
        given = options(server, tmp_path / f"certified-{works}.run", pace=Pace("none"))
        target = dataclasses.replace(given.target, user="certified", tls=tls)
        if works:
            assert accounting(replay(tape, dataclasses.replace(given, target=target)))[0] == 1
        else:
            with pytest.raises(TargetError, match="certified"):
                replay(tape, dataclasses.replace(given, target=target))


@pytest.mark.sampled
def test_kill_uses_the_connection_ids_of_the_replay(any_shop: Server, tmp_path: Path) -> None:
    """KILL QUERY contains a recorded connection id. The replay kills the statement of the corresponding session."""
    kill = {"class": "admin", "flags": flag_bits(danger="kill")}
    events = [
        {"session": 1, "thread_id": 41, "statement": "SELECT SLEEP(120)", "start_ns": T0},
        {"session": 1, "thread_id": 41, "statement": "SELECT 1", "start_ns": T0 + 6 * SECOND},
        {"session": 2, "thread_id": 42, "statement": "KILL QUERY 41", "start_ns": T0 + 5000 * MS, **kill},
        {"session": 2, "thread_id": 42, "statement": "KILL 4000000", "start_ns": T0 + 5100 * MS, **kill},
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    began = time.monotonic()
    summary = replay(tape, options(any_shop, tmp_path / "a.run", allow_statements=frozenset({"kill"})))
    assert time.monotonic() - began < 60
    assert accounting(summary) == (3, 0, 0, 1)
    assert summary.info["accounting"]["reasons"] == {"not_sent": {"kill_target_unknown": 1}}


@pytest.mark.sampled
def test_statement_timeout_ends_only_the_statement(any_shop: Server, tmp_path: Path) -> None:
    events = [{"statement": "SELECT SLEEP(30), COUNT(*) FROM log"}, {"statement": "SELECT 1"}]
    tape = make_tape(tmp_path / "t.tape", [{**event, "db": "shop"} for event in events])
    given = options(any_shop, tmp_path / "a.run", statement_timeout_ns=3 * SECOND, pace=Pace("none"))
    summary = replay(tape, given)
    assert accounting(summary)[0] == 2
    assert summary.info["accounting"]["timeouts"] == 1
    assert outcomes(summary.path, "done_ns - sent_ns < 20000000000") == [(True,), (True,)]


def test_lost_session_reopens_after_the_lost_transaction(shop: Server, tmp_path: Path) -> None:
    """The new connection of the session has the previous schema and user."""
    events = [
        {"statement": "SELECT 1", "start_ns": T0, "db": "shop"},
        {"statement": "SELECT SLEEP(60)", "start_ns": T0 + 100 * MS, "db": "shop"},
        {
            "statement": "INSERT INTO log (session, seq) VALUES (1, 3)",
            "class": "write",
            "start_ns": T0 + SECOND,
            "db": "shop",
        },
    ]
    tape = make_tape(tmp_path / "t.tape", events)

    with killing(shop, "SELECT SLEEP(60)"):
        summary = replay(tape, options(shop, tmp_path / "a.run", on_lost="reopen"))
    assert accounting(summary) == (3, 0, 0, 0)
    assert summary.info["accounting"]["sessions_reopened"] == 1
    assert shop.execute("SELECT session, seq FROM shop.log") == ((1, 3),)


def test_max_errors_option_ends_the_run_as_partial(shop: Server, tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT nothing_{n}"} for n in range(10)])
    summary = replay(tape, options(shop, tmp_path / "a.run", max_errors=3, pace=Pace("none")))
    assert accounting(summary) == (4, 0, 0, 6)
    assert "more statements failed than --max-errors allows" in summary.info["partial"]


def test_speed_can_change_during_a_run(shop: Server, tmp_path: Path) -> None:
    """The run records the time of each speed change."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "start_ns": T0 + n * SECOND} for n in (0, 1, 60)])
    run = tmp_path / "a.run"

    def faster() -> None:
        while not (run / "run.json").exists():
            time.sleep(0.05)
        time.sleep(1)
        request_speed(run, "100")

    asker = threading.Thread(target=faster)
    asker.start()
    began = time.monotonic()
    summary = replay(tape, options(shop, run))
    asker.join()
    assert time.monotonic() - began < 50
    assert accounting(summary)[0] == 3
    assert [change["speed"] for change in summary.info["speed_changes"]] == ["100"]
    with pytest.raises(InputError, match="has ended"):
        request_speed(run, "2")


@pytest.mark.long
def test_run_can_be_paused_and_stopped(shop: Server, tmp_path: Path) -> None:
    """During a pause, no statements are sent, and the pause does not count as lateness. A stop request ends the run
    like Ctrl-C.
    """
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "start_ns": T0 + n * SECOND} for n in (0, 2, 300)])
    run = tmp_path / "a.run"

    def ask() -> None:
        while not (run / "run.json").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        request_speed(run, "pause")
        time.sleep(4)
        request_speed(run, "1")
        time.sleep(4)
        request_stop(run)

    asker = threading.Thread(target=ask)
    asker.start()
    began = time.monotonic()
    summary = replay(tape, options(shop, run))
    asker.join()
    assert time.monotonic() - began < 200
    assert [change["speed"] for change in summary.info["speed_changes"]] == ["0", "1"]
    paused, resumed = (change["at_ns"] for change in summary.info["speed_changes"])
    due = outcomes(run, "due_ns, sent_ns, status, reason")
    assert due[1][0] == pytest.approx(2 * SECOND + resumed - paused, abs=SECOND)
    assert due[1][1] >= resumed
    assert due[2][2:] == ("not_sent", "stopped")
    assert summary.info["partial"] is not None
    assert not (run / "stop").exists()
    assert not (run / "speed").exists()


@pytest.mark.sampled
def test_multi_statement_is_replayed_with_all_results(any_shop: Server, tmp_path: Path) -> None:
    flags = pymysql.constants.CLIENT.MULTI_STATEMENTS
    text = "SELECT 1; INSERT INTO log (session, seq) VALUES (7, 7); SELECT 2 UNION SELECT 3"
    tape = recorded(any_shop, tmp_path, lambda con: say(con, text), client_flag=flags)
    any_shop.execute("DELETE FROM shop.log")
    summary = replay(tape, options(any_shop, tmp_path / "a.run", pace=Pace("none")))
    assert summary.errors == {}
    assert any_shop.execute("SELECT session, seq FROM shop.log") == ((7, 7),)
    assert (3,) in query(f"SELECT rows_sent FROM '{summary.path}/outcomes/*.parquet'")


@pytest.mark.long
def test_sandbox_target_starts_and_removes_a_server(shop: Server, tmp_path: Path) -> None:
    tape = make_tape(
        tmp_path / "t.tape", [{"statement": "SELECT 1"}, {"statement": "CREATE DATABASE x", "class": "ddl"}]
    )
    command = [sys.executable, "-m", "querytape", "replay", str(tape), "--target", "sandbox", "--allow-writes"]
    done = subprocess.run([*command, "-o", str(tmp_path / "s.run")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "2 executed" in done.stdout
    target = json.loads((tmp_path / "s.run" / "run.json").read_text())["target"]
    with pytest.raises(TargetError):
        parse_target(f"mysql://root@127.0.0.1:{target['port']}", environ={}).connect(2)


def test_run_json_contains_the_run_options(shop: Server, tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1", "db": "shop"}])
    given = ReplayOptions(
        parse_target(shop.url("shop"), environ={}), tmp_path / "a.run", pace=Pace("think"), verify=True
    )
    kept = replay(tape, given).info["parameters"]
    assert (kept["pace"], kept["verify"], kept["order"], kept["on_lost"]) == ("think", True, "time", "end")


def test_interrupted_run_can_be_resumed(shop: Server, tmp_path: Path) -> None:
    """The two runs together send each event once, except events of interrupted transactions. An interrupted transaction
    is repeated completely, with its session state.
    """
    note = "INSERT INTO log (session, seq) VALUES ({}, {})"
    events = []
    for n in range(100):
        for session in (1, 2):
            sql = "SET @a = 5" if n == 0 else note.format(session, n)
            kind = "session" if n == 0 else "write"
            events.append(
                {"session": session, "statement": sql, "class": kind, "start_ns": T0 + n * 100 * MS, "db": "shop"}
            )
    for n, sql in enumerate(
        ["SET @b = 7", "BEGIN", note.format(3, "@b"), "SELECT SLEEP(0.1)", note.format(3, 8), "COMMIT"]
    ):
        kind = {0: "session", 1: "transaction", 5: "transaction", 3: "read"}.get(n, "write")
        start = T0 + (n * 1000 + 100) * MS
        events.append({"session": 3, "statement": sql, "class": kind, "start_ns": start, "db": "shop"})
    tape = make_tape(tmp_path / "t.tape", events)
    first = replay(tape, options(shop, tmp_path / "a.run", stop_after_ns=2 * SECOND))
    assert accounting(first)[3] > 10
    selection = Selection(resume=tmp_path / "a.run")
    second = replay(tape, options(shop, tmp_path / "b.run", selection=selection, pace=Pace(speed=Fraction(4))))
    _, filtered, skipped, not_sent = accounting(second)
    assert (skipped, not_sent) == (0, 0)
    assert second.info["accounting"]["reasons"] == {"filtered": {"filter:resumed": filtered}}
    assert filtered > 20
    found = shop.execute("SELECT session, seq FROM shop.log ORDER BY session, seq")
    assert found == (*((s, n) for s in (1, 2) for n in range(1, 100)), (3, 7), (3, 8))
    assert min(row[0] for row in outcomes(second.path, "due_ns") if row[0] is not None) == 0
    with pytest.raises(InputError, match="the run is complete"):
        replay(tape, options(shop, tmp_path / "c.run", selection=Selection(resume=tmp_path / "b.run")))
    other = make_tape(tmp_path / "o.tape", events[:5])
    with pytest.raises(InputError, match="another tape"):
        replay(other, options(shop, tmp_path / "d.run", selection=selection))
