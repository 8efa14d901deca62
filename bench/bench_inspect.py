# SPDX-License-Identifier: Apache-2.0
"""Measures a complete `querytape inspect` on tapes of 1 and 10 million events.

The tapes have 200 sessions and over 500 digests. There are 90 kinds of transactions on 60 tables. A transaction has
eight statements.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb

from ..common.duck import sql_text
from ..common.files import write_json
from ..native.bindings.statements import Normalizer
from ..replay.calibrate import make_even_tape
from ..schemas import CLASSES, select_list
from .bench_report import apart, timed
from .made_tapes import list_files
from .pairs import Pair, Side

SIZES = (1_000_000, 10_000_000)
SESSIONS = 200
PER_SECOND = 10_000
KINDS = 90  # kinds of transactions
TABLES = 60
# The statements of a transaction of kind {k}. {v} is a value that differs in each statement.
STEPS = (
    "BEGIN",
    "SELECT c{k}, note FROM t{a} WHERE id = {v}",
    "SELECT o.id, SUM(l.price) FROM t{a} AS o JOIN t{b} AS l ON l.t{a}_id = o.id WHERE o.c{k} = {v} GROUP BY o.id",
    "UPDATE t{a} SET c{k} = c{k} + 1 WHERE id = {v}",
    "INSERT INTO t{b} (t{a}_id, c{k}, note) VALUES ({v}, 7, 'x')",
    "UPDATE t{b} SET note = 'y' WHERE id = {v} AND c{k} > 3",
    "SELECT id FROM t{c} WHERE c{k} BETWEEN {v} AND {v} + 10 ORDER BY id LIMIT 20",
    "COMMIT",
)


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield one measurement for each of the two tapes. We know of no comparable program, so there is no peer."""
    for events in SIZES:
        tape = apart(make_workload_tape, work / f"{events}.tape", events)
        command = (sys.executable, "-m", "querytape", "inspect", str(tape), "--json")
        yield Pair(
            f"inspect of {events:,} events",
            Side("querytape", f"querytape inspect {tape.name} --json", lambda c=command: timed(*c)),  # type: ignore[misc]
            None,
            f"{SESSIONS} sessions, transactions, {KINDS * (len(STEPS) - 2) + 2} digests.",
        )


# A digest's text and its row on a tape. `text` has @ in place of the value.
TEXTS = """
    kind INTEGER, step INTEGER, text VARCHAR, digest VARCHAR, class VARCHAR, actions BIGINT, tables VARCHAR[],
    normalized VARCHAR
"""
EVENTS = """
    SELECT p.* EXCLUDE (h) REPLACE (
        replace(t.text, '@', ((p.h >> 8) % 100000)::VARCHAR)::BLOB AS statement, t.digest AS digest, t.class AS class,
        t.actions AS actions, 'shop' AS db, 0 AS errno,
        CASE WHEN t.class = 'read' THEN p.h % 5 END::BIGINT AS rows_sent,
        (150000 * exp(0.6 * sqrt(-2 * ln((hash(p."offset") % 1000003 + 1) / 1000004.0))))::BIGINT AS duration_ns,
        (hash(p."offset" + 1) % 40000)::BIGINT AS lock_ns)
    FROM (SELECT *, hash(session, (seq - 1) // {steps}) AS h FROM {part}) AS p
    JOIN texts AS t ON t.kind = p.h % {kinds} AND t.step = (p.seq - 1) % {steps}
    ORDER BY p.start_ns
"""
DIGESTS = """
    SELECT e.*, t.class, t.actions, t.tables, t.normalized
    FROM (SELECT digest, any_value(statement) AS sample, octet_length(any_value(statement)) AS sample_bytes,
        count(*) AS events, sum(duration_ns)::BIGINT AS duration_ns, min(start_ns) AS first_ns, max(start_ns) AS last_ns
        FROM {part} GROUP BY digest) AS e
    JOIN (SELECT DISTINCT ON (digest) * FROM texts) AS t USING (digest)
"""


def make_workload_tape(path: Path, events: int) -> Path:
    """Write the tape. Each session sends transactions one after another, with random kinds and values."""
    make_even_tape(path, SESSIONS, events, PER_SECOND)
    part, made = path / "events" / "part-00000.parquet", path / "made.parquet"
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE texts ({TEXTS})")
        con.executemany("INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", list(texts()))
        query = EVENTS.format(part=sql_text(part), steps=len(STEPS), kinds=KINDS)
        con.execute(f"COPY ({query}) TO {sql_text(made)} (FORMAT parquet)")
        made.rename(part)
        have = {"digest", "class", "actions", "tables", "normalized", "sample", "sample_bytes", "events"}
        columns = select_list("tape", "digests", have | {"duration_ns", "first_ns", "last_ns"})
        rows = f"SELECT {columns} FROM ({DIGESTS.format(part=sql_text(part))})"
        con.execute(f"COPY ({rows}) TO {sql_text(path / 'digests.parquet')} (FORMAT parquet)")
    list_files(path)
    info = json.loads((path / "tape.json").read_text(encoding="utf-8"))
    known = {"measuring_point": "server", "known_columns": ["errno", "lock_ns", "rows_sent"]}
    write_json(path / "tape.json", info | known)
    return path


def texts() -> Iterator[tuple[object, ...]]:
    """Yield the rows of TEXTS: one for each statement of each kind of transaction."""
    normalizer = Normalizer()
    for kind in range(KINDS):
        for step, pattern in enumerate(STEPS):
            a, b, c = (f"{(kind + shift) % TABLES}" for shift in (0, 7, 20))
            text = pattern.format(k=kind, a=a, b=b, c=c, v="@")
            found = normalizer.normalize(text.replace("@", "1").encode())
            tables = normalizer.names(text.replace("@", "1").encode())[0]
            yield kind, step, text, found.digest, CLASSES[found.class_], found.actions, tables, found.text
