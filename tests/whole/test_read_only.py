# SPDX-License-Identifier: Apache-2.0
"""A replay of reads only sends nothing that a server in read-only mode refuses."""

from pathlib import Path

from querytape.native.bindings.statements import Normalizer
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


def test_nothing_is_refused_in_read_only_mode(any_shop: Server, tmp_path: Path) -> None:
    """Locking reads and explained writes are filtered like writes: the server never answers 1792."""
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
