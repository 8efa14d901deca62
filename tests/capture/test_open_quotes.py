# SPDX-License-Identifier: Apache-2.0
"""Statements with unclosed quotes, and literals that contain log text. Statements between them are not lost."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from querytape.native.bindings.parsers import open_general, open_slowlog
from querytape.native.bindings.reader import Reader
from querytape.schemas import FLAGS

from tests.helpers.reading import Read, read_all

# Typing errors, and statements of programs that concatenate strings. The server responds with error 1064 and logs these
# statements.
BROKEN = ["SELECT 'it's'", "SELECT * FROM t WHERE a = 'x", 'SELECT "5" tape"', "SELECT `a", "SELECT 1 /* left open"]
WHOLE = [
    "SELECT 'a'",
    "INSERT INTO t VALUES ('it''s', \"x\")",
    "SELECT 1 /* a 'note' */",
    "UPDATE t SET a = 'line\nnext'",
]
ENDS = {"slow": ";\n", "general": "\n", "general-8": "\n"}


class Log:
    """A writer of a growing log in a server's format. Each statement comes 0 to 2 seconds after the previous one."""

    def __init__(self, kind: str, chance: random.Random) -> None:
        self.kind, self.chance, self.text, self.second, self.written = kind, chance, "", 0, -1

    def add(self, statement: str) -> None:
        """Write one statement of one of four sessions, chosen at random."""
        self.second += self.chance.choice([0, 0, 0, 1, 2])
        thread, at = self.chance.randrange(7, 11), 22_400 + self.second
        clock = f"{at // 3600:2d}:{at // 60 % 60:02d}:{at % 60:02d}"
        is_new = self.second != self.written
        self.written = self.second
        if self.kind == "slow":
            self.text += f"# Time: 240610 {clock}\n" if is_new else ""
            self.text += (
                f"# User@Host: app[app] @ localhost [127.0.0.1]\n# Thread_id: {thread}  Schema: shop  QC_hit: No\n"
                "# Query_time: 0.000100  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1\n"
                f"SET timestamp={1_718_000_000 + self.second};\n{statement};\n"
            )
        elif self.kind == "general":
            self.text += (f"240610 {clock}\t" if is_new else "\t\t") + f"{thread:6d} Query\t{statement}\n"
        else:
            self.text += (
                f"2024-06-10T{clock.replace(' ', '0')}.{len(self.text) % 10**6:06d}Z\t{thread:5d} Query\t{statement}\n"
            )


KINDS: dict[str, Callable[..., Reader]] = {"slow": open_slowlog, "general": open_general, "general-8": open_general}


def read_log(kind: str, text: str, folder: Path) -> tuple[list[str], Read]:
    """Return the statements in log order, and the result of reading the log."""
    (folder / "log").write_text(text)
    read = read_all(KINDS[kind]([folder / "log"]))
    events = sorted(read.events, key=lambda event: event["offset"])
    return [event["statement"].decode() for event in events if event["statement"] is not None], read


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", KINDS)
def test_statements_between_unclosed_quotes_are_kept(kind: str, seed: int, tmp_path: Path) -> None:
    """A literal with an unclosed quote does not extend to the next unclosed quote. Each unclosed quote is counted."""
    chance = random.Random(seed)
    log, sent = Log(kind, chance), []
    for thread in range(30):
        sent.append(f"SELECT {thread}")
        log.add(sent[-1])
    for _ in range(120):
        sent.append(chance.choice(BROKEN if chance.random() < 0.1 else WHOLE))
        log.add(sent[-1])
    log.add("SELECT 'the end'")
    found, read = read_log(kind, log.text, tmp_path)
    assert found == [*sent, "SELECT 'the end'"]
    assert set(read.kinds) <= {"unbalanced_quote"}
    assert len(read.kinds) == sum(text in BROKEN for text in sent)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", KINDS)
def test_literal_with_a_copy_of_its_own_log_is_complete(kind: str, seed: int, tmp_path: Path) -> None:
    """The copied rows have earlier times, so they do not count as new rows. The copy is counted."""
    chance = random.Random(seed)
    log, sent = Log(kind, chance), []
    for number in range(60):
        statement = f"SELECT {number}"
        if number > 20 and chance.random() < 0.2:
            log.second += 3  # time that the copying takes
            rows = log.text.splitlines(keepends=True)
            begin = chance.choice([at for at, row in enumerate(rows) if row.startswith(("# Time", "240610 ", "2024-"))])
            copied = "".join(rows[begin : begin + 30]).replace("'", '"')
            statement = f"INSERT INTO notes VALUES ('{ENDS[kind]}{copied}')"
        sent.append(statement)
        log.add(statement)
    found, read = read_log(kind, log.text, tmp_path)
    assert found == sent
    assert set(read.kinds) == {"ambiguous_boundary"}


@pytest.mark.parametrize("kind", KINDS)
def test_cut_log_has_only_statements_that_were_sent(kind: str, tmp_path: Path) -> None:
    """A statement at the end of the file is marked as cut. Neither a partial statement nor the SET of a header counts
    as complete.
    """
    log, whole = Log(kind, random.Random(3)), WHOLE[::3]
    for statement in whole:
        log.add(statement)
    for end in range(1, len(log.text)):
        _, read = read_log(kind, log.text[:end], tmp_path)
        sent = [e["statement"].decode() for e in read.events if e["statement"] and not e["flags"] & FLAGS["truncated"]]
        assert sent[:-1] == whole[: max(len(sent) - 1, 0)], end
        if kind == "slow":  # without end marks, the cut of the last statement is not visible
            assert sent == whole[: len(sent)], end
