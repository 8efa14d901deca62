# SPDX-License-Identifier: Apache-2.0
"""A second target that gets reads if this is safe. All other statements stay on the main target. The sessions on both
targets have the same state.
"""

from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import RefusedError
from querytape.replay import parse_target, replay
from querytape.replay.options import ReplayOptions
from querytape.servers.sandbox import Server, start_server

from tests.helpers.tapes import make_tape
from tests.helpers.whole import accounting, options, outcomes
from tests.whole.test_faithful import recorded, say

SETUP = (
    "DROP TABLE IF EXISTS shop.t",
    "CREATE TABLE shop.t (a INT PRIMARY KEY, b INT)",
    "INSERT INTO shop.t VALUES (1, 1), (2, 2)",
)
# The parameter of an execution, the BIGINT 1, in the format of schemas/params.md.
ONE = b"E\x01\0" + (1).to_bytes(4, "little") + b"\0\x01\x08\0" + (1).to_bytes(8, "little")


def split(server: Server, read_target: Server, output: Path) -> ReplayOptions:
    """Return replay options for the target and the read target."""
    return options(server, output, reads_to=parse_target(read_target.url("shop"), environ={}))


@pytest.mark.sampled
def test_reads_are_sent_to_the_read_target(any_shop: Server, tmp_path: Path) -> None:
    """The server id in each result shows the server that answered. The session settings are equal on both servers."""
    for statement in SETUP:
        any_shop.execute(statement)
    spoken = (
        "SELECT @@server_id, 'a@b for update'",
        "SET @x = 7",  # sent to both servers
        "SELECT @@server_id, a FROM t WHERE a = 1",
        "SELECT @@server_id FROM t WHERE a = 1 FOR UPDATE",  # locks rows
        "SELECT @x",  # depends on its connection
        "UPDATE t SET b = 5 WHERE a = 2",
        "BEGIN",
        "SELECT @@server_id FROM t",  # is in a transaction
        "COMMIT",
        "SET sql_mode = 'PIPES_AS_CONCAT'",
        "SELECT a FROM t WHERE 'a' || 'b' = 'ab'",  # returns two rows only with PIPES_AS_CONCAT
        "CREATE TEMPORARY TABLE own (c INT)",
        "SELECT COUNT(*) FROM own",  # a table that only the main target has
    )
    tape = recorded(any_shop, tmp_path, lambda con: say(con, *spoken))
    with start_server(any_shop.kind, config={"server-id": "77"}) as read_target:
        read_target.execute("CREATE DATABASE shop")
        for statement in SETUP:
            read_target.execute(statement)
        summary = replay(tape, split(any_shop, read_target, tmp_path / "a.run"))
        kept = read_target.execute("SELECT b FROM shop.t WHERE a = 2")
    assert accounting(summary)[3] == 0
    assert summary.info["accounting"]["read_target_errors"] == 0
    assert summary.info["read_target"]["name"].startswith("root@")
    found = outcomes(tmp_path / "a.run", "on_read_target, errno, rows_sent")
    answered = [row for row in found if row[0] is not None]
    assert [row[1] for row in answered if row[1]] == []
    texts = [row[0] for row in answered][-len(spoken) - 1 : -1]
    assert [row[2] for row in answered][-4] == 2
    assert texts == [True, False, True, False, False, False, False, False, False, False, True, False, False]
    assert kept == ((2,),)  # only the main target got the write
    assert any_shop.execute("SELECT b FROM shop.t WHERE a = 2") == ((5,),)


@pytest.mark.long
def test_prepared_reads_are_split_between_both_targets(any_shop: Server, tmp_path: Path) -> None:
    """A read is prepared on both servers. Inside a transaction, the main target executes the read. Outside, the read
    target executes it.
    """
    for statement in SETUP:
        any_shop.execute(statement)
    with start_server(any_shop.kind, config={"server-id": "77"}) as read_target:
        read_target.execute("CREATE DATABASE shop")
        for statement in SETUP:
            read_target.execute(statement)
        text = "SELECT b FROM t WHERE a = ?"
        execute = {"command": "execute", "class": "read", "stmt": 1, "params": ONE}
        events: list[dict[str, Any]] = [
            {"statement": "SELECT 1", "db": "shop"},
            {"command": "prepare", "statement": text, "stmt": 1, "db": "shop"},
            execute,
            {"statement": "BEGIN", "class": "transaction"},
            execute,
            {"statement": "COMMIT", "class": "transaction"},
            {"command": "close_stmt", "stmt": 1},
        ]
        tape = make_tape(tmp_path / "p.tape", events)
        summary = replay(tape, split(any_shop, read_target, tmp_path / "p.run"))
    assert accounting(summary)[0] == len(events)
    assert outcomes(tmp_path / "p.run", "on_read_target, errno") == [
        (True, 0),
        (False, 0),
        (True, 0),
        (False, 0),
        (False, 0),
        (False, 0),
        (False, 0),
    ]


@pytest.mark.sampled
def test_target_is_refused_as_its_own_read_target(any_shop: Server, tmp_path: Path) -> None:
    tape = recorded(any_shop, tmp_path, lambda con: say(con, "SELECT 1"))
    with pytest.raises(RefusedError, match="--reads-to is the target itself"):
        replay(tape, split(any_shop, any_shop, tmp_path / "a.run"))
