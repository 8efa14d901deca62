# SPDX-License-Identifier: Apache-2.0
"""Tests of the plan with `--reads-to`: the plan selects the server of each command."""

from pathlib import Path
from typing import Any

import pytest
from querytape.replay.plan.rules import Rules

from tests.helpers.planning import fed, planned
from tests.helpers.tapes import flag_bits

pytestmark = pytest.mark.slow

READER, BOTH, FAILED = 1 << 40, 1 << 41, 1 << 42  # QT_PLAN_FOR_READ_TARGET, QT_PLAN_FOR_BOTH, QT_PLAN_FAILED
ANYWHERE = ["SELECT a FROM t", "SHOW TABLES", "SELECT ROUND(a), NOW() FROM t", "SELECT * FROM t LIMIT 3"]
OF_ITS_CONNECTION = [
    "SELECT LAST_INSERT_ID()",
    "SELECT a FROM t WHERE id = last_insert_id()",
    "SELECT @@last_insert_id",
    "SELECT @@identity",
    "SELECT ROW_COUNT()",
    "SELECT FOUND_ROWS()",
    "SELECT CONNECTION_ID()",
    "SELECT @x",
    "SELECT @x := a FROM t",
    "SHOW WARNINGS",
    "SHOW ERRORS",
    "SELECT GET_LOCK('a', 1)",
    "SELECT RELEASE_LOCK('a')",
    "SELECT IS_USED_LOCK('a')",
    "SELECT a FROM t FOR UPDATE",
    "SELECT a FROM t LOCK IN SHARE MODE",
]
CASES: list[tuple[dict[str, Any], int]] = [
    *(({"statement": text}, READER) for text in ANYWHERE),
    *(({"statement": text}, 0) for text in OF_ITS_CONNECTION),
    *(({"statement": text, "command": "execute"}, READER) for text in ANYWHERE),
    *(({"statement": text, "command": "execute"}, 0) for text in OF_ITS_CONNECTION),
    ({"statement": "SELECT ?", "command": "prepare", "stmt": 1}, BOTH),
    ({"statement": "SELECT LAST_INSERT_ID()", "command": "prepare", "stmt": 2}, 0),
    ({"statement": "INSERT INTO t VALUES (?)", "class": "write", "command": "prepare", "stmt": 3}, 0),
    ({"statement": "SET NAMES utf8mb4", "class": "session"}, BOTH),
    ({"statement": "BEGIN", "class": "transaction"}, 0),
    ({"statement": "INSERT INTO t VALUES (1)", "class": "write"}, 0),
    ({"statement": "SELECT a", "errno": 1146}, READER | FAILED),
    ({"statement": "SELECT a", "errno": 0}, READER),
    ({"command": "init_db", "db": "shop"}, BOTH),
    ({"command": "reset_connection"}, BOTH),
    ({"command": "change_user", "db": "shop"}, BOTH),
    ({"command": "set_option", "params": b"C\x00\x00"}, BOTH),
    ({"command": "long_data", "stmt": 1, "params": b"L"}, BOTH),
    ({"command": "reset_stmt", "stmt": 1}, BOTH),
    ({"command": "close_stmt", "stmt": 1}, BOTH),
    ({"command": "ping"}, 0),
    ({"command": "quit"}, 0),
]


@pytest.mark.parametrize("split", [True, False])
def test_commands_are_split_between_targets(tmp_path: Path, split: bool) -> None:
    """The read target gets plain reads. Writes, locks and reads of connection state go to the main target. Commands
    that set up a session go to both targets.
    """
    plan = planned(tmp_path, [event for event, _ in CASES], Rules(allow_writes=True, split=split))
    found = {int(seq): int(flags) & (READER | BOTH | FAILED) for seq, flags in fed(plan, "seq", "flags")}
    for place, (event, wanted) in enumerate(CASES, 1):
        assert found[place] == (wanted if split else wanted & FAILED), event


def test_read_that_writes_a_file_stays_on_the_main_target(tmp_path: Path) -> None:
    events = [{"statement": "SELECT 1 INTO OUTFILE 'x'", "flags": flag_bits(danger="into_file")}]
    rules = Rules(allow_writes=True, allowed=frozenset({"into_file"}), split=True)
    assert [int(flags) >> 40 for (flags,) in fed(planned(tmp_path, events, rules), "flags")] == [0]
