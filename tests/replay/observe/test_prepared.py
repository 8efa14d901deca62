# SPDX-License-Identifier: Apache-2.0
"""Tests of prepared XA transactions. A replay that ends before XA COMMIT leaves no locks and reports the transactions
that it ended.
"""

from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from querytape.capture.library import capture
from querytape.cli.run_lines import exit_code, summary_lines
from querytape.common.errors import RefusedError
from querytape.common.exit_codes import ExitCode
from querytape.replay import ReplayOptions, replay
from querytape.replay.watcher import Watcher
from querytape.servers.prepared import Xid, end_prepared, prepared_transactions
from querytape.servers.sandbox import Server

from tests.helpers.logs import write_mariadb
from tests.helpers.whole import options as usual_options

FIRST = ["XA START 'g1'", "UPDATE account SET n = n + 1 WHERE id = 1", "XA END 'g1'", "XA PREPARE 'g1'"]
SECOND = ["XA START 'g2','b'", "UPDATE account SET n = n + 1 WHERE id = 2", "XA END 'g2','b'", "XA PREPARE 'g2','b'"]


def options(server: Server, output: Path) -> ReplayOptions:
    """Return options of a fast replay. The logs have times in whole seconds, with one statement per second."""
    return usual_options(server, output, speed=Fraction(50))


def create(server: Server) -> None:
    """Create the rows that each test needs at its beginning."""
    server.execute("DROP TABLE IF EXISTS shop.account")
    server.execute("CREATE TABLE shop.account (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB")
    server.execute("INSERT INTO shop.account VALUES (1, 0), (2, 0)")


def tape_of(folder: Path, *sessions: list[str]) -> Path:
    """Return the tape of a slow log in which the sessions take turns."""
    rows = [
        (1718000000 + at, session, 0.001, statements[at])
        for at in range(max(map(len, sessions)))
        for session, statements in enumerate(sessions, 1)
        if at < len(statements)
    ]
    folder.mkdir(exist_ok=True)
    capture([write_mariadb(folder / "s.log", rows)], folder / "t.tape", "slowlog")
    return folder / "t.tape"


def prepared(server: Server) -> tuple[Xid, ...] | None:
    with closing(server.connect()) as con:
        return prepared_transactions(con)


def test_unfinished_xa_transaction_is_rolled_back(any_shop: Server, tmp_path: Path) -> None:
    """The rollback releases the locks. The summary names the transaction. The exit code shows that the data may differ."""
    create(any_shop)
    tape = tape_of(tmp_path, [*FIRST, "XA COMMIT 'g1'"], SECOND)
    summary = replay(tape, options(any_shop, tmp_path / "t.run"))
    assert prepared(any_shop) == ()
    assert any_shop.execute("SELECT n FROM shop.account ORDER BY id") == ((1,), (0,))
    assert summary.info["prepared"] == {"rolled_back": ["'g2','b'"], "left": [], "unseen": 0}
    assert exit_code(summary) == ExitCode.INCOMPLETE
    lines = summary_lines(summary)
    said = "  WARNING: XA: querytape rolled back 1 transaction that the replay had prepared but not ended ('g2','b')"
    assert [line.startswith(said) for line in lines[:3]].count(True) == 1


def test_xa_prepare_in_a_multi_statement_text(any_shop: Server, tmp_path: Path) -> None:
    """XA PREPARE counts at any position of the text, even if a later statement of the text fails. The text itself may
    also end the transaction.
    """
    create(any_shop)
    any_shop.execute("INSERT INTO shop.account VALUES (3, 0)")
    several = [*FIRST[:2], "; ".join(FIRST[2:])]
    failing = [*SECOND[:2], "; ".join([*SECOND[2:], "SELECT gone FROM nowhere"])]
    ends = ["; ".join([*FIRST, "XA COMMIT 'g1'"]).replace("'g1'", "'g3'").replace("id = 1", "id = 3")]
    tape = tape_of(tmp_path, several, failing, ends)
    summary = replay(tape, options(any_shop, tmp_path / "t.run"))
    assert prepared(any_shop) == ()
    assert summary.info["prepared"] == {"rolled_back": ["'g1'", "'g2','b'"], "left": [], "unseen": 0}
    assert exit_code(summary) == ExitCode.INCOMPLETE
    assert any_shop.execute("SELECT n FROM shop.account ORDER BY id") == ((0,), (0,), (1,))


@pytest.mark.sampled
def test_foreign_xa_transaction_is_left_alone(any_shop: Server, tmp_path: Path) -> None:
    """A replay that only reads sends no XA PREPARE. It ends no transaction, even if the tape contains the transaction's
    name.
    """
    create(any_shop)
    tape = tape_of(tmp_path, SECOND, ["DO SLEEP(1)"])
    with closing(any_shop.connect(db="shop")) as con, con.cursor() as cursor:

        def prepare(*_: object) -> None:
            for statement in SECOND:
                cursor.execute(statement)

        watcher = Watcher()
        watcher.planned = prepare  # type: ignore[assignment,method-assign]
        reads = replay(tape, replace(options(any_shop, tmp_path / "t.run"), allow_writes=False), watcher)
    assert (reads.info["prepared"], exit_code(reads)) == (None, 0)
    with closing(any_shop.connect()) as con:
        assert end_prepared(con, [Xid(b"g2", b"b")]) == []


@pytest.mark.sampled
def test_tape_that_ends_all_xa_transactions_reports_nothing(any_shop: Server, tmp_path: Path) -> None:
    create(any_shop)
    summary = replay(tape_of(tmp_path, [*FIRST, "XA COMMIT 'g1'"]), options(any_shop, tmp_path / "t.run"))
    assert (summary.info["prepared"], exit_code(summary)) == (None, 0)
    assert any_shop.execute("SELECT n FROM shop.account ORDER BY id") == ((1,), (0,))


@pytest.mark.long
def test_existing_xa_transactions_refuse_a_replay_of_writes(any_shop: Server, tmp_path: Path) -> None:
    """A replay that only reads may run next to existing XA transactions. No replay ends foreign transactions."""
    create(any_shop)
    with closing(any_shop.connect(db="shop")) as con, con.cursor() as cursor:
        for statement in SECOND:
            cursor.execute(statement)
    tape = tape_of(tmp_path, ["SELECT n FROM account WHERE id = 1"])
    given = options(any_shop, tmp_path / "t.run")
    try:
        with pytest.raises(RefusedError, match=r"1 prepared XA transaction.*'g2','b'.*XA ROLLBACK X'6732',X'62',1"):
            replay(tape, given)
        reads = replay(tape, replace(given, allow_writes=False, output=tmp_path / "reads.run"))
        assert (reads.info["prepared"], exit_code(reads)) == (None, 0)
        assert prepared(any_shop) == (Xid(b"g2", b"b"),)
    finally:
        with closing(any_shop.connect()) as con:
            assert end_prepared(con, [Xid(b"g2", b"b")]) == []


@pytest.mark.long
def test_missing_xa_privilege_is_named(any_shop: Server, tmp_path: Path) -> None:
    """MySQL 8 hides prepared transactions from the account. The check and the summary name the missing privilege.
    Unfinished transactions of the replay are still rolled back.
    """
    create(any_shop)
    any_shop.execute("CREATE USER blind")
    any_shop.execute("GRANT SELECT, INSERT, UPDATE ON shop.* TO blind")
    tape = tape_of(tmp_path, [*FIRST, "XA COMMIT 'g1'"], SECOND)
    ends = tape_of(tmp_path / "ends", [*FIRST, "XA COMMIT 'g1'", *FIRST, "XA ROLLBACK 'g1'"])
    plain = tape_of(tmp_path / "plain", ["UPDATE account SET n = n + 1 WHERE id = 1"])
    blind = any_shop.kind != "mariadb"
    given = options(any_shop, tmp_path / "t.run")
    given = replace(given, target=replace(given.target, user="blind"))
    try:
        for name, of, rolled_back, code in (
            ("t", tape, ["'g2','b'"], ExitCode.INCOMPLETE),
            ("e", ends, [], 0),
            ("p", plain, None, 0),
        ):
            watcher, found = Watcher(), list[str]()
            watcher.finding = lambda finding, found=found: found.append(finding.text)  # type: ignore[method-assign,misc]
            summary = replay(of, replace(given, output=tmp_path / f"{name}.run"), watcher)
            want = (
                None
                if rolled_back is None
                else {"rolled_back": rolled_back, "left": [], "unseen": blind * (2 - (name == "e"))}
            )
            assert summary.info["prepared"] == (want if blind or rolled_back else None)
            assert exit_code(summary) == code
            assert prepared(any_shop) == ()
            says = blind and rolled_back is not None
            assert any("GRANT XA_RECOVER_ADMIN" in text for text in found) == says
            assert any("GRANT XA_RECOVER_ADMIN" in line for line in summary_lines(summary)[:4]) == says
    finally:
        any_shop.execute("DROP USER blind")
