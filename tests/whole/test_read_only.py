# SPDX-License-Identifier: Apache-2.0
"""A replay of reads. A read-only server refuses none of its statements."""

from contextlib import closing, suppress
from pathlib import Path

import pymysql
import pytest
from querytape.native.bindings.statements import Mode, Normalizer
from querytape.replay import replay
from querytape.schemas import CLASSES
from querytape.servers.sandbox import Server

from tests.helpers.tapes import make_tape
from tests.helpers.whole import options, outcomes

STATEMENTS = """
SELECT * FROM log FOR UPDATE
SELECT * FROM log LOCK IN SHARE MODE
(SELECT * FROM log FOR UPDATE)
SELECT * FROM (SELECT * FROM log FOR UPDATE) x
SELECT * FROM log WHERE id IN (SELECT id FROM log FOR UPDATE)
SELECT * FROM log WHERE id = 1 FOR UPDATE SKIP LOCKED
WITH x AS (SELECT 1) SELECT * FROM log FOR UPDATE
EXPLAIN UPDATE log SET seq = 1
EXPLAIN DELETE FROM log
EXPLAIN INSERT INTO log VALUES (1, 2, 3, 4)
EXPLAIN SELECT * FROM log FOR UPDATE
EXPLAIN SELECT * FROM log
INSERT INTO log VALUES (1, 2, 3, 4)
UPDATE log SET seq = 1
DELETE FROM log
CREATE TEMPORARY TABLE x (a INT)
DROP TABLE log
TRUNCATE TABLE log
LOCK TABLES log WRITE
UNLOCK TABLES
ANALYZE TABLE log
SET PASSWORD = ''
SELECT * FROM log INTO @x
SELECT @a := 1
SELECT GET_LOCK('a', 0)
SELECT RELEASE_LOCK('a')
SELECT LAST_INSERT_ID(5)
DO SLEEP(0)
HANDLER log OPEN
HANDLER log CLOSE
BEGIN
SAVEPOINT a
ROLLBACK
START TRANSACTION WITH CONSISTENT SNAPSHOT
COMMIT
SET autocommit = 0
SET autocommit = 1
SHOW CREATE TABLE log
CHECKSUM TABLE log
""".strip().split("\n")


@pytest.mark.sampled
def test_replay_of_reads_is_accepted_in_read_only_mode(any_shop: Server, tmp_path: Path) -> None:
    """Locking reads and EXPLAIN of writes are filtered like writes. The server never returns error 1792."""
    normalizer = Normalizer()
    events = []
    for text in STATEMENTS:
        statement = normalizer.normalize(text.encode())
        class_ = CLASSES[statement.class_]
        danger = statement.danger << 16
        events.append({"statement": text, "class": class_, "flags": statement.flags | danger, "db": "shop"})
    tape = make_tape(tmp_path / "t.tape", events)
    run = replay(tape, options(any_shop, tmp_path / "t.run", allow_writes=False, target_is_disposable=False))
    rows = outcomes(run.path, "seq, status, reason, errno, error")
    refused = [(STATEMENTS[seq - 1], error) for seq, _, _, errno, error in rows if errno == 1792]
    assert refused == []
    reasons = {STATEMENTS[seq - 1]: (status, reason) for seq, status, reason, _, _ in rows}
    assert reasons["SELECT * FROM log FOR UPDATE"] == ("filtered", "locking_read")
    assert reasons["EXPLAIN DELETE FROM log"] == ("filtered", "write")
    assert reasons["EXPLAIN SELECT * FROM log"] == ("executed", None)


def blanks(server: Server) -> dict[str, list[int]]:
    """For each client charset, return the bytes above 127 that the server treats as white space."""
    found: dict[str, list[int]] = {}
    for (charset,) in server.execute("SELECT CHARACTER_SET_NAME FROM information_schema.CHARACTER_SETS"):
        with closing(server.connect()) as con, suppress(pymysql.err.OperationalError), con.cursor() as cursor:
            cursor.execute(f"SET NAMES {charset}")
            found[charset] = []
            for byte in range(128, 256):
                with suppress(pymysql.Error):
                    con._execute_command(3, b"SELECT" + bytes([byte]) + b"1")  # type: ignore[attr-defined]
                    con._read_query_result()  # type: ignore[attr-defined]
                    found[charset].append(byte)
    return found


@pytest.mark.sampled
def test_white_space_of_a_charset_cannot_hide_dangerous_statements(any_shop: Server, tmp_path: Path) -> None:
    """In latin1, 0xA0 is white space. A statement with this byte inside INTO OUTFILE or IDENTIFIED BY is recognized as
    dangerous and not sent.
    """
    normalizer, found = Normalizer(), blanks(any_shop)
    assert found["latin1"] == [0xA0]
    assert found["utf8mb4"] == []
    place = Path("/tmp") / f"qt-{any_shop.port}-{tmp_path.name}.txt"
    events: list[dict[str, object]] = []
    for charset, each in found.items():
        mode = normalizer.follow(Mode(), f"SET NAMES {charset}".encode())
        for blank in (bytes([byte]) for byte in each):
            writing = b"SELECT 1 INTO" + blank + b"OUTFILE '" + bytes(place) + b"'"
            secret = b"ALTER USER a IDENTIFIED" + blank + b"BY" + blank + b"'zqkvbnmw'"
            for known in (mode, Mode()):
                assert normalizer.normalize(writing, known).danger, (charset, known)
                hidden = normalizer.normalize(secret, known).redacted
                assert b"zqkvbnmw" not in (hidden or b"zqkvbnmw"), (charset, known)
            session = len(events) // 2 + 1
            events += [
                {"session": session, "seq": 1, "statement": f"SET NAMES {charset}", "class": "session"},
                {"session": session, "seq": 2, "statement": writing, "class": "read", "flags": 0},
            ]
        if not each:
            text = b"SELECT 1 FROM t WHERE b\xa0c = 1"
            assert normalizer.normalize(text, mode).digest == normalizer.normalize(text, Mode()).digest
    tape = make_tape(tmp_path / "t.tape", events)
    run = replay(tape, options(any_shop, tmp_path / "t.run", allow_writes=False, target_is_disposable=False))
    assert {row[2] for row in outcomes(run.path, "seq, status, reason, errno, error") if row[0] == 2} == {
        "not_permitted"
    }
    assert not place.exists()


@pytest.mark.sampled
@pytest.mark.parametrize("told", [True, False], ids=["true flags", "forged flags"])
def test_dangerous_prepared_statement_is_not_sent(told: bool, any_shop: Server, tmp_path: Path) -> None:
    """The replay may write, but it may not send statements that act on the server. The check reads the text inside a
    PREPARE, regardless of the flags on the tape.
    """
    before = any_shop.execute("SELECT @@GLOBAL.net_retry_count")
    texts = ["PREPARE s FROM 'SET GLOBAL net_retry_count = 77'", "EXECUTE s", "PREPARE t FROM 'DO 1'", "EXECUTE t"]
    if any_shop.execute("SELECT version() LIKE '%MariaDB%'") == ((1,),):
        texts += ["EXECUTE IMMEDIATE 'SET GLOBAL net_retry_count = 78'", "EXECUTE IMMEDIATE 'SHUTDOWN'"]
    normalizer, events = Normalizer(), []
    for text in texts:
        statement = normalizer.normalize(text.encode())
        flags = statement.flags | (statement.danger << 16 if told else 0)
        events.append({"statement": text, "class": CLASSES[statement.class_], "flags": flags, "db": "shop"})
    tape = make_tape(tmp_path / "t.tape", events, source="packets", measuring_point="wire")
    run = replay(tape, options(any_shop, tmp_path / "t.run"))
    found = {texts[row[0] - 1]: row[1:4] for row in outcomes(run.path, "seq, status, reason, errno")}
    assert found["EXECUTE t"] == ("executed", None, 0)
    dangers = [text for text in texts if "SET GLOBAL" in text or "SHUTDOWN" in text]
    assert {found[text][0] for text in dangers} == {"skipped" if told else "not_sent"}, found
    assert any_shop.execute("SELECT @@GLOBAL.net_retry_count") == before
