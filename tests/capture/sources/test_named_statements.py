# SPDX-License-Identifier: Apache-2.0
"""Ids that an EXECUTE by name generates. The text of the PREPARE decides whether an id belongs to an INSERT, for any
statement name and text.
"""

import random
from pathlib import Path

import pytest

from ...helpers.dialogue import Dialogue, ok, write_pcap
from ...helpers.reading import events
from .test_packets_insert_ids import made

ROOM = 16  # number of names kept per session
NAMES = [*(f"n{n}" for n in range(20)), "A", "a", "Zz", "zZ", "`Zz`", "`a`", "`b c`", "`B C`", "`@Y`", "`@y`"]
INSERTS = ("INSERT INTO t VALUES (?)", " \n\t\rinsert t SET a=1", "Replace(", "replace`t` select 1", "insert/**/into t")
OTHERS = ("UPDATE t SET a=1", "\tselect 1", "delete from t", "CALL p()", "do 1", "show x", "truncate t", "Select(1)")
UNKNOWN = (
    "",
    "insert",
    "insertx 1",
    "x insert ",
    "/* */ insert t",
    "WITH x AS (SELECT 1) SELECT 2",
    "updates t",
    "set @a=1",
)
PREFIXES = ("", "", "  ", "/* why */ ", "/*!50003 SET NAMES utf8mb4 */; ")


def kind_of(quoted: str, ansi: bool) -> str:
    """Return the kind of the statement in a quoted text. The kind is unknown if the text is in a variable."""
    if quoted[0] != "'" and (ansi or quoted[0] != '"'):
        return "unknown"
    return "insert" if quoted[1:-1] in INSERTS else "other" if quoted[1:-1] in OTHERS else "unknown"


def expected(kind: str, generated: int) -> tuple[int | None, str | None]:
    """Return the expected insert_id and insert_ids of an event whose response has this id."""
    if kind == "insert":
        return generated or None, None
    return None, "" if kind == "unknown" and generated else None


@pytest.mark.parametrize("ansi", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_execute_by_name_uses_the_prepared_text(seed: int, ansi: bool, tmp_path: Path) -> None:
    """Statement names are equal without regard to case and quotes. The latest text of a name is used. Above the maximum
    number of names, the oldest name is dropped.
    """
    chance, known, order = random.Random(seed), dict[str, str](), list[str]()
    dialogue, wanted = Dialogue().logged_in(), []
    dialogue.ask(b"SET sql_mode = '%s'" % (b"ANSI_QUOTES" if ansi else b""), ok(1))
    for turn in range(300):
        name, generated = chance.choice(NAMES), chance.choice([0, turn + 1])
        quote, text = chance.choice(["'", "'", '"']), chance.choice([*INSERTS, *OTHERS, *UNKNOWN])
        source = chance.choice([f"{quote}{text}{quote}"] * 9 + ["@v", "N'insert t'"])
        way, key = chance.choice(["PREPARE", "execute", "execute", "IMMEDIATE"]), name.strip("`").lower()
        kind = "other"
        if way == "PREPARE":
            if chance.random() < 0.1:
                statement = f"PREPARE {name} FOR {source}"  # invalid syntax on all servers
            else:
                statement = f"{chance.choice(['PREPARE', 'prepare'])} {name} FROM {source}"
                if key not in known:
                    order.append(key)
                    if len(order) > ROOM:
                        del known[order.pop(0)]
                known[key] = kind_of(source, ansi)
        elif way == "execute":
            statement, kind = f"EXECUTE {name}{chance.choice(['', ' USING @a'])}", known.get(key, "unknown")
        else:
            statement, kind = f"EXECUTE immediate {source} USING 1", kind_of(source, ansi)
        prefix = chance.choice(PREFIXES)
        if ";" in prefix:
            kind = "other"  # there is one response, for the first of several statements
        dialogue.ask((prefix + statement).encode(), made(1, generated, False))
        wanted.append((prefix + statement, *expected(kind, generated)))
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue.close()]))
    assert problems == []
    got = [(e["statement"].decode(), e["insert_id"], e["insert_ids"]) for e in found if e["command"] == "query"]
    assert got[1:] == wanted


def test_each_session_has_its_own_statement_names(tmp_path: Path) -> None:
    first, second = Dialogue(40001).logged_in(), Dialogue(40002).logged_in()
    for dialogue, text in ((first, b"INSERT INTO t VALUES (1)"), (second, b"UPDATE t SET a=1")):
        dialogue.ask(b"PREPARE p FROM '%s'" % text, ok(1))
    pairs = [(dialogue, segment) for dialogue in (first, second) for segment in dialogue.segments]
    for n, dialogue in enumerate([first, second, second, first], 5):
        before = len(dialogue.segments)
        dialogue.ask(b"EXECUTE p", made(1, n, False))
        pairs += [(dialogue, segment) for segment in dialogue.segments[before:]]
    found, _, _ = events(write_pcap(tmp_path / "a.pcap", pairs))
    got = [(e["insert_id"], e["insert_ids"]) for e in found if e["statement"] == b"EXECUTE p"]
    assert sorted(got, key=str) == sorted([(5, None), (None, None), (None, None), (8, None)], key=str)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("insert t set a=1", "insert"),
        ("INSERT\nINTO t VALUES (1)", "insert"),
        ("replace t set a=1", "insert"),
        ("/*!50000 INSERT */ INTO t VALUES (1)", "insert"),
        ("/*!50000 REPLACE INTO t VALUES (1) */", "insert"),
        ("/*!50000 UPDATE t SET a = 1 */", "other"),
        ("SET STATEMENT max_statement_time=5 FOR INSERT INTO t VALUES (1)", "insert"),
        ("SET STATEMENT max_statement_time=5 FOR REPLACE INTO t VALUES (1)", "insert"),
        ("SET STATEMENT max_statement_time=5 FOR UPDATE t SET a = 'for insert '", "other"),
        ("SET STATEMENT max_statement_time=5, sort_buffer_size=9 FOR SELECT a FROM t", "other"),
        ("SET @a = 5, @b = 'set statement x for insert into t'", "other"),
        ("DO 1", "other"),
        ("x", "other"),
        ("insert", "other"),
        ("inserted into t", "other"),
        ("UPDATE t SET a=LAST_INSERT_ID(a+1)", "other"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT 1", "other"),
        ("LOAD DATA INFILE 'x' INTO TABLE t", "other"),
    ],
)
def test_only_insert_and_replace_generate_an_id(statement: str, kind: str, tmp_path: Path) -> None:
    """The cases include version comments and SET STATEMENT. An id in the response to any other statement is not a
    generated id.
    """
    dialogue = Dialogue().logged_in().ask(statement.encode(), made(1, 9, False)).close()
    found, _, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    assert (found[1]["insert_id"], found[1]["insert_ids"]) == expected(kind, 9)
