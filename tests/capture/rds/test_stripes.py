# SPDX-License-Identifier: Apache-2.0
"""Aurora's audit log: files written side by side are one text in the order of time, or what is missing is named."""

import random

import pytest
from querytape.capture.rds.cloud import Cloud
from querytape.capture.rds.stripes import Stripes

from tests.helpers.rds import Aws, audit_row, write

pytestmark = pytest.mark.slow

BEGIN_US = 1_795_000_000_000_000


class Server:
    """Writes rows into four files at once, in no strict order; turns each at its own moments, by minute and number."""

    def __init__(self, aws: Aws, seed: int) -> None:
        self.aws, self.chance = aws, random.Random(seed)
        self.turns, self.now, self.count = [0] * 4, BEGIN_US, 0
        self.written: list[tuple[int, str]] = []
        (aws.folder / "audit").mkdir()

    def name(self, stripe: int) -> str:
        turn = self.turns[stripe]
        return f"audit/audit.log.{stripe}.2026-11-22-07-{turn // 3 * 30:02d}.{turn % 3}"

    def rows(self, count: int, late_us: int = 900_000) -> None:
        """Write rows of the seconds that follow; each up to `late_us` behind others."""
        for _ in range(count):
            stripe = self.chance.randrange(4)
            self.now += self.chance.randrange(1, 400_000)
            row = (self.now - self.chance.randrange(late_us), audit_row(0, self.count)[1:])
            row = (row[0], f"{row[0]}{row[1]}")
            self.count += 1
            self.written.append(row)
            write(self.aws, row[1], self.name(stripe))
            if self.chance.random() < 0.02:
                self.turns[stripe] += 1

    def in_order(self) -> list[str]:
        return [text for _, text in sorted(self.written, key=lambda row: row[0])]


@pytest.mark.parametrize("seed", range(3))
def test_one_text_in_the_order_of_time(aws: Aws, seed: int) -> None:
    """Files grow and turn between portions, rows are cut by them: all rows of the time, once, in order; none before."""
    aws.largest = 2_000
    server = Server(aws, seed)
    server.rows(200)
    log = Stripes(Cloud(), "au-1")
    log.begin()
    server.written.clear()
    pulled = ""
    for _ in range(8):
        aws.before_portion = lambda name: server.rows(2) if server.chance.random() < 0.3 else None
        pulled += "".join(log.pull())
        aws.before_portion = lambda name: None
        server.rows(60)
    pulled += "".join(log.pull()) + "".join(log.rest())
    times = [int(line.partition(",")[0]) for line in pulled.splitlines()]
    assert times == sorted(times)
    assert sorted(pulled.splitlines(keepends=True)) == sorted(server.in_order())
    assert (log.holes, log.cuts, log.late) == ([], 0, 0)
    assert sum(log.read.values()) == sum(len(row) for _, row in server.written)


def test_rows_that_come_too_late_are_counted(aws: Aws) -> None:
    """A row that comes long after later ones were given is given all the same, and counted."""
    server = Server(aws, 1)
    log = Stripes(Cloud(), "au-1")
    log.begin()
    server.rows(300)
    assert "".join(log.pull()) == ""  # nothing is known yet of what comes
    first = "".join(log.pull())
    assert first
    write(aws, audit_row(BEGIN_US + 5, 9_999), server.name(0))
    rest = "".join(log.pull()) + "".join(log.rest())
    assert "SELECT 9999" in rest
    assert log.late == 1
    assert first.count("\n") + rest.count("\n") == 301


def test_a_file_that_is_removed_is_named(aws: Aws) -> None:
    """The newest file of a stripe, gone before its end was read, is a hole with its name; an old one is none."""
    server = Server(aws, 2)
    old = "audit/audit.log.0.2026-11-21-07-00.0"
    write(aws, audit_row(BEGIN_US - 10**9, 1), old)
    server.rows(50)
    log = Stripes(Cloud(), "au-1")
    log.begin()
    server.rows(50)
    list(log.pull())
    (aws.folder / old).unlink()
    list(log.pull())
    assert log.holes == []
    gone = server.name(3)
    (aws.folder / gone).unlink()
    list(log.pull())
    assert log.holes == [f"{gone} was removed before its end was read"]
    new = "audit/audit.log.3.2026-11-22-09-00.0"
    write(aws, audit_row(server.now, 5), new)
    aws.before_portion = lambda name: (aws.folder / new).unlink(missing_ok=True)
    list(log.pull())
    assert log.holes[1:] == [f"{new} was removed before its end was read"]


def test_a_file_that_was_there_and_grows(aws: Aws) -> None:
    """A file that was not its stripe's newest is read where it grows: from there on, not what it had."""
    server = Server(aws, 2)
    old = "audit/audit.log.1.2026-11-21-07-00.0"
    write(aws, audit_row(BEGIN_US - 10**9, 1), old)
    write(aws, audit_row(BEGIN_US, 2), server.name(1))
    log = Stripes(Cloud(), "au-1")
    log.begin()
    write(aws, audit_row(BEGIN_US + 7, 3), old)
    list(log.pull())
    write(aws, audit_row(BEGIN_US + 9, 4), old)
    list(log.pull())
    assert "".join(log.rest()) == audit_row(BEGIN_US + 7, 3) + audit_row(BEGIN_US + 9, 4)
