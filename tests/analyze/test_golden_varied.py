# SPDX-License-Identifier: Apache-2.0
"""Each analysis of a varied comparison with two rounds per side, compared with reviewed results.

The runs contain cases that the small tape of test_golden.py lacks: many ratios per digest, ties, and errors of each
side. Row counts, warnings and checksums differ, and some events are sent on one side only. The runs have all causes of
lateness, stalls of several sessions, and waits for other commits. They also contain counters of servers and machines.
QT_GOLDEN=write rewrites golden_varied.json. Review the changes before you commit them.
"""

import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.analyze import Report, build
from querytape.analyze.build_report import prepare
from querytape.analyze.database import DETAILS, VERDICTS, open_analysis
from querytape.common.duck import sql_text

from tests.analyze.test_golden import plain
from tests.helpers.golden import check_all, each_point
from tests.helpers.runs import make_run
from tests.helpers.tables import insert_rows
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden_varied.json"
EVENTS, SESSIONS = 900, 6
STARTED_NS = 1_700_000_100_000_000_000
TEXTS = ("SELECT a FROM t", "SELECT b FROM u", "UPDATE t SET a = 1", "INSERT INTO u VALUES (1)", "DELETE FROM t", "BEGIN", "COMMIT")  # fmt: skip
KINDS = ("read", "read", "write", "write", "write", "transaction", "transaction")
ERRORS = {1205: "Lock wait timeout", 1213: "Deadlock found", 1062: "Duplicate entry '7'"}


def tape_events() -> list[dict[str, Any]]:
    """Return events of sessions in an unusual order. Each event has its outcome on the original server."""
    chance = random.Random(11)
    found: list[dict[str, Any]] = []
    for number in range(EVENTS):
        kind = chance.choice((0, 0, 0, 1, 1, 2, 3, 4, 5, 6))
        found.append(
            {
                "session": 1 + chance.randrange(SESSIONS),
                "start_ns": T0 + number * 10 * MS + chance.randrange(5 * MS),
                "duration_ns": int(MS * 1.5**kind * chance.lognormvariate(0, 0.4)),
                "statement": TEXTS[kind],
                "digest": f"{kind:016x}",
                "class": KINDS[kind],
                "user": ("app", "batch", "root")[kind % 3],
                "db": ("shop", "crm")[kind % 2],
                "rows_sent": kind + 1 if kind < 2 else 0,
                "rows_affected": 0 if kind < 2 else kind % 3,
                "warnings": number % 50 == 0,
                "errno": 1062 if kind == 3 and number % 9 == 0 else 0,
                "checksum": f"{number % 5:08x}" if kind < 2 else None,
            }
        )
    return found


def outcome(event: dict[str, Any], side: int, number: int, chance: random.Random) -> dict[str, Any]:
    """Return the outcome of an event on side 0 or 1."""
    kind, due = int(event["digest"], 16), event["start_ns"] - T0
    row: dict[str, Any] = {"session": event["session"]}
    if chance.random() < 0.01 * (1 + side):
        return row | {"status": "not_sent", "reason": ("stopped", "connection_lost", "not_prepared")[number % 3]}
    if number % 83 == 7:
        return row | {"status": "filtered", "reason": "write"}
    queued = due + (3 * MS if number % 97 == 5 else -MS)
    free = due + (8 * MS if number % 61 == 9 + side else -2 * MS)
    sent = max(due, queued, free) + chance.randrange(50_000)
    took = max(int(MS * 1.5**kind * (1 + 0.3 * side * (kind == 2)) * chance.lognormvariate(0, 0.5)), 1000)
    if 400 <= number < 404 + 4 * side or (number in (700, 701, 800) and side):
        took += 1_300 * MS
    row |= {"due_ns": due, "queued_ns": queued, "free_ns": free, "sent_ns": sent, "first_ns": sent + took // 2}
    row |= {
        "rows_sent": event["rows_sent"],
        "rows_affected": event["rows_affected"],
        "warnings": int(event["warnings"]),
    }
    row |= {"checksum": event["checksum"], "bytes_received": 100 * kind, "errno": event["errno"]}
    row["done_ns"] = sent + took
    row["order_ns"] = 2 * MS if number % 41 == 0 else None
    if number % 71 == 3 * side + 2:
        row |= {"rows_sent": row["rows_sent"] + 1 + side}
    if number % 73 == 5 * side + 1:
        row |= {"rows_affected": row["rows_affected"] + 1}
    if number % 79 == 2 * side + 3 and row["checksum"]:
        row |= {"checksum": "ffffffff"}
    if number % 67 == 4 * side:
        row |= {"warnings": row["warnings"] + 2}
    if number % 37 == side + 1:
        errno = sorted(ERRORS)[(number + side * (number % 2)) % 3]
        row |= {"errno": errno, "error": ERRORS[errno], "rows_sent": None, "checksum": None}
    elif row["errno"]:
        row |= {"error": ERRORS[row["errno"]]}
    if number == 500 + side:
        row |= {"done_ns": None, "errno": None}
    return row


RATES: dict[str, dict[str, float]] = {  # per second; "own cpu_ns" in nanoseconds, processors in hundredths of a second
    "status": {
        "Innodb_buffer_pool_reads": 40, "Innodb_row_lock_waits": 3, "Innodb_buffer_pool_pages_flushed": 9,
        "Created_tmp_disk_tables": 2, "Handler_read_next": 5000, "Innodb_rows_read": 7000, "Sort_rows": 20,
        "Select_full_join": 1, "Questions": 900, "Uptime": 1,
    },
    "host": {
        "cpu user": 60, "cpu nice": 2, "cpu system": 20, "cpu idle": 90, "cpu iowait": 11, "cpu irq": 1, "cpu softirq": 3,
        "cpu steal": 4, "target cpu": 30, "own cpu_ns": 5e7, "pressure cpu some_us": 20_000, "disk sda read_bytes": 4096,
        "disk sda written_bytes": 8192, "disk sdb written_bytes": 1024, "net eth0 received_bytes": 500, "net eth0 sent_bytes": 700,
    },
    "tool": {"cpu user": 30, "cpu nice": 0, "cpu system": 10, "cpu idle": 150, "own cpu_ns": 2e8},
}  # fmt: skip
LEVELS: dict[str, dict[str, int]] = {
    "status": {"Threads_running": 3},
    "host": {"cpus": 2, "procs_running": 4},
    "tool": {"cpus": 4, "procs_running": 1},
}


def write_samples(run: Path, side: int, seed: int) -> None:
    """Write one sample of the counters per second, and fewer samples while no counter changes. B does more work and
    shares its machine.
    """
    chance = random.Random(seed)
    rows: list[tuple[int, str, str, float]] = []
    for second in range(-2, 13):
        at = STARTED_NS + second * 1000 * MS + chance.randrange(MS)
        for source, rates in RATES.items():
            for name, rate in rates.items():
                busy = 1 + side * (name.startswith(("cpu user", "Handler", "Innodb_row")) * 0.8)
                if chance.random() < 0.9 or second in (-2, 12):
                    rows.append(
                        (at, source, name, round((second + 100) * rate * busy + chance.random() * rate / 10, 3))
                    )
        for source, levels in LEVELS.items():
            rows += [
                (at, source, name, level + chance.randrange(3) * (name != "cpus")) for name, level in levels.items()
            ]
    (run / "samples").mkdir()
    with duckdb.connect() as con:
        con.execute("CREATE TABLE s (real_ns BIGINT, source VARCHAR, name VARCHAR, value DOUBLE)")
        insert_rows(con, "s", rows)
        con.execute(f"COPY s TO {sql_text(run / 'samples' / 'part-00000.parquet')} (FORMAT parquet)")


def shortened(rows: Any) -> Any:
    """Return a long table as its row count and every 25th row."""
    if len(rows) <= 80:
        return rows
    return {"rows": len(rows), "every_25th": rows[::25]}


def varied_runs(folder: Path) -> tuple[Path, list[list[Path]]]:
    """Write the tape and the rounds of both sides."""
    events = tape_events()
    tape = make_tape(folder / "t.tape", events, known_columns=["errno", "rows_sent"], measuring_point="server")
    runs: list[list[Path]] = [[], []]
    for side in (0, 1):
        for turn in (0, 1):
            chance = random.Random(100 * side + turn)
            rows = [outcome(event, side, number, chance) for number, event in enumerate(events)]
            name = f"{'ab'[side]}{turn}.run"
            sessions = {"opened": SESSIONS, "opened_ahead": 1, "failed": side, "lost": turn, "in_transaction_at_end": 0}
            run = make_run(folder / name, tape, rows, sessions=sessions, started_ns=STARTED_NS)
            write_samples(run, side, 10 * side + turn)
            runs[side].append(run)
    return tape, runs


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Build the comparison of the varied runs. Tests must not change it."""
    tape, runs = varied_runs(tmp_path_factory.mktemp("varied"))
    return build(tape, runs[0], runs[1])


@pytest.mark.long
def test_each_analysis_of_the_varied_runs_gives_its_golden_rows(varied: Report) -> None:
    database = open_analysis()
    prepare(database, varied)
    found: dict[str, Any] = {name: database.query(f"report/{name}") for name in (*DETAILS, *VERDICTS)}
    database.close()
    found.update(varied.answers.items())
    got = {
        name: shortened(rows) for name, rows in each_point(json.loads(json.dumps(plain(found), default=str))).items()
    }
    check_all(GOLDEN, got)


def test_cpu_use_of_other_programs_is_unknown_without_target_process(tmp_path: Path) -> None:
    """If the target's process is unknown, the CPU use of other programs is unknown. It is neither zero nor the total of
    the machine.
    """
    tape, runs = varied_runs(tmp_path)
    for file in tmp_path.glob("*.run/samples/part-00000.parquet"):
        with duckdb.connect() as con:
            con.execute(f"CREATE TABLE s AS FROM {sql_text(file)} WHERE name <> 'target cpu'")
            con.execute(f"COPY s TO {sql_text(file)} (FORMAT parquet)")
    report = build(tape, runs[0], runs[1])
    assert {row["others"] for row in report.answers["interference"] if row["machine"] == "host"} == {None}
    assert not report.disturbance.seen
