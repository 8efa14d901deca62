# SPDX-License-Identifier: Apache-2.0
"""Golden test of plans: a tape with all commands and kinds of statements is planned under each rule.

The golden file has the excluded events with reasons, the events and sessions for the engine, and the plan's counts.
QT_GOLDEN=write rewrites golden.json. Review the changes before you commit the file.
"""

import hashlib
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from querytape.native.bindings.statements import Normalizer
from querytape.replay.plan.catalog import Catalog
from querytape.replay.plan.database import feed_streams, session_stream, take_planner
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Amplification, Pace
from querytape.replay.plan.rules import Plan, Rules
from querytape.replay.plan.selection import Selection
from querytape.schemas import CLASSES, DANGERS, FLAGS, open_folder, tape_id
from querytape.servers.option_files import Account

from tests.helpers.golden import check_one
from tests.helpers.planning import excluded, plan_tape
from tests.helpers.runs import make_run
from tests.helpers.tapes import MS, SECOND, T0, flag_bits, make_tape

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden.json"
TEXTS: list[tuple[str, str]] = [
    ("read", "SELECT a FROM t WHERE id = {n}"), ("read", "SELECT b FROM u FOR UPDATE"), ("read", "SELECT NOW(), LAST_INSERT_ID()"),
    ("write", "INSERT INTO t VALUES ({n})"), ("write", "UPDATE u SET a = {n}"), ("write", "DELETE FROM t WHERE id = {n}"),
    ("transaction", "BEGIN"), ("transaction", "COMMIT"), ("transaction", "ROLLBACK"), ("transaction", "SAVEPOINT s"),
    ("session", "SET autocommit=0"), ("session", "SET autocommit=1"), ("session", "SET NAMES latin1"), ("session", "USE crm"),
    ("ddl", "CREATE TEMPORARY TABLE tt (a INT)"), ("ddl", "ALTER TABLE t ADD b INT"), ("read", "SELECT * FROM tt"), ("admin", "KILL 103"),
    ("admin", "FLUSH TABLES"), ("read", "CALL p()"), ("write", "INSERT INTO t VALUES (1); INSERT INTO u VALUES ({n})"),
]  # fmt: skip
COMMANDS = ("ping", "init_db", "reset_connection", "change_user", "set_option", "statistics", "field_list", "other")


def one(chance: random.Random, number: int, normalizer: Normalizer) -> dict[str, Any]:
    row: dict[str, Any] = {
        "session": 1 + int(12 * chance.random() ** 2),
        "start_ns": T0 + number * 30 * MS + (5 * SECOND if number > 200 else 0),
        "duration_ns": chance.choice((None, MS, 7 * MS, 90 * MS)),
        "errno": chance.choice((0, 0, 0, None, 1062)),
        "offset": number,
    }
    row |= {"user": ("app", "batch", None)[row["session"] % 3], "db": chance.choice(("shop", "shop", "crm", "", None))}
    row["thread_id"] = 100 + row["session"]
    if chance.random() < 0.2:
        command = chance.choice(COMMANDS)
        return row | {"command": command, "db": "crm" if command == "init_db" else row["db"]}
    kind, text = TEXTS[min(int(len(TEXTS) * chance.random() ** 1.5), len(TEXTS) - 1)]
    text = text.format(n=number)
    flags = ["use"] if text.startswith("USE") else []
    if chance.random() < 0.15:
        flags.append(chance.choice([name for name in FLAGS if name not in ("carried", "use")]))
    danger = "kill" if text.startswith("KILL") else "flush" if text.startswith("FLUSH") else "none"
    if chance.random() < 0.06:
        danger = chance.choice(sorted(DANGERS))
    row |= {
        "statement": text,
        "class": kind,
        "digest": hashlib.sha256(text.split("{")[0][:12].encode()).hexdigest()[:16],
    }
    row |= {"rows_affected": chance.choice((0, 1, None)), "rows_sent": chance.choice((0, 1, None))}
    if kind == "write":
        row["insert_id"] = chance.choice((None, number))
    return row | {"flags": flag_bits(*flags, danger=danger), "actions": normalizer.normalize(text.encode()).actions}


def tape_events() -> list[dict[str, Any]]:
    """Return events of every kind, including prepared statements. Some sessions begin before the tape."""
    chance, normalizer = random.Random(23), Normalizer()
    found: list[dict[str, Any]] = []
    for number in range(330):
        row = one(chance, number, normalizer)
        if all(each["session"] != row["session"] for each in found) and row["session"] % 4:
            login = {name: row[name] for name in ("session", "user", "thread_id")}
            found.append(
                {**login, "command": "connect", "start_ns": row["start_ns"] - 9 * MS, "db": "shop", "errno": 0}
            )
        if number % 31 == 7:
            base = {name: row[name] for name in ("session", "user", "thread_id", "db", "start_ns")}
            text = {
                "statement": "SELECT a FROM t WHERE id = ?",
                "class": "read",
                "digest": "00000000000000aa",
                "stmt": number,
            }
            found.append({**base, **text, "command": "prepare", "errno": 1146 if number % 2 else 0})
            for turn in range(2):
                flags = flag_bits("unbound") if turn and number % 5 == 0 else 0
                found.append({**base, **text, "command": "execute", "params": b"\0\1", "flags": flags})
            found.append({**base, "command": "close_stmt", "stmt": number})
        found.append(row)
    for session in (2, 3, 5):
        found.append({"session": session, "command": "quit", "start_ns": T0 + 330 * 30 * MS + 6 * SECOND})
    return found


DIGEST = hashlib.sha256(b"SELECT a FRO").hexdigest()[:16]
MAPPED = Overrides(
    clock=True, ids=True, schemas={"crm": "crm2"}, accounts={"app": Account("app2"), "batch": Account("b", "x")}
)
RULES: dict[str, Rules] = {
    "reads": Rules(),
    "writes": Rules(allow_writes=True),
    "dangers": Rules(allow_writes=True, allowed=frozenset(DANGERS) - {"none"}),
    "kill": Rules(allowed=frozenset({"kill"})),
    "no pace": Rules(pace=Pace("none"), max_concurrent_sessions=2),
    "think": Rules(pace=Pace("think", speed=Fraction(3, 2)), allow_writes=True, lead_ns=0),
    "speeds": Rules(
        pace=Pace(speed=Fraction(2), connect_speed=Fraction(1, 2), think_speed=Fraction(3), ramp_ns=SECOND)
    ),
    "idle": Rules(pace=Pace(max_idle_ns=SECOND), allow_writes=True),
    "copies": Rules(amplification=Amplification(amplify=2, shift_ns=50 * MS, loop=2)),
    "split": Rules(split=True, allow_writes=True),
    "overrides": Rules(overrides=MAPPED, allow_writes=True),
    "order": Rules(commit_order=True, allow_writes=True),
    "users": Rules(selection=Selection(users=("app",), max_sessions=2), allow_writes=True),
    "sample": Rules(selection=Selection(sample=Fraction(1, 2))),
    "schemas": Rules(selection=Selection(dbs=("crm",)), allow_writes=True),
    "digests": Rules(selection=Selection(digests=(DIGEST,), sessions=(1, 2, 3)), allow_writes=True),
    "classes": Rules(selection=Selection(classes=("write", CLASSES[0])), allow_writes=True),
    "picked": Rules(selection=Selection(failed_in=Path("failed.run")), allow_writes=True),
    "resumed": Rules(selection=Selection(resume=Path("cut.run")), allow_writes=True),
    "disordered": Rules(allow_writes=True, lead_ns=0, overrides=MAPPED),
    "times": Rules(selection=Selection(from_ns=T0 + 2 * SECOND, to_ns=T0 + 4 * SECOND), allow_writes=True),
}


NOT_SENT = ("session", "seq", "status", "reason")
EVERY = 16  # the golden file has every 16th row


def named(cursor: Any) -> list[dict[str, Any]]:
    """Return the rows of a cursor as dicts without NULL values."""
    names = cursor.columns
    return [
        {name: str(value) if isinstance(value, bytes) else value for name, value in zip(names, row, strict=True) if value is not None}
        for row in cursor.fetchall()
    ]  # fmt: skip


def fed(plan: Plan) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return all rows for the engine in order, and the sessions."""
    with take_planner(plan) as con:
        rows = [row for stream in feed_streams(con, plan) for row in named(stream)]
        return rows, named(session_stream(con, plan))


def sample_of_rows(rows: list[Any]) -> dict[str, Any]:
    """Return the number of rows and a sample of them."""
    return {"rows": len(rows), "some": rows[::EVERY]}


def tape_and_runs(folder: Path, events: list[dict[str, Any]], **info: Any) -> Path:
    """Write the tape in three parts, a run with failed statements, and an interrupted run."""
    made = make_tape(folder / "t.tape", events, 3, **info)
    rows: list[dict[str, Any]] = [
        {"session": row["session"], "errno": 1213 if n % 29 == 4 else 0} for n, row in enumerate(events)
    ]
    make_run(folder / "failed.run", made, rows)
    left = [{"session": row["session"], "status": "not_sent", "reason": "stopped"} for row in rows[200:]]
    make_run(folder / "cut.run", made, rows[:200] + left, partial="stopped")
    adopt_runs(made)
    return made


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tape_and_runs(tmp_path_factory.mktemp("golden"), tape_events())


def adopt_runs(tape: Path) -> None:
    """Change the runs next to a tape so that they match the current content of the tape."""
    for name in ("failed", "cut"):
        file = tape.parent / f"{name}.run" / "run.json"
        info = json.loads(file.read_text(encoding="utf-8"))
        info["tape"]["id"] = tape_id(open_folder("tape", tape).info)
        file.write_text(json.dumps(info), encoding="utf-8")


def answer(name: str, tape: Path, folder: Path) -> dict[str, Any]:
    """Return the whole plan under a rule. `folder` must be empty."""
    if name == "disordered":  # some clocks go back for a moment
        events = tape_events()
        for number, row in enumerate(events):
            row |= {
                "start_ns": row["start_ns"] - 3 * SECOND * (number % 17 == 9),
                "first_byte_ns": number % 5 * 200 * MS,
            }
        tape = make_tape(folder / "t.tape", events, 3, measuring_point="wire")
    told: list[int] = []
    plan = plan_tape(
        tape, folder, RULES[name], max_rows=100 if name == "disordered" else None, progress=told.append,
        catalog=Catalog(frozenset({"v"})), collations={45: "utf8mb4 COLLATE utf8mb4_general_ci"},
        keep_planner=True,
    )  # fmt: skip
    assert plan.planner is not None
    feed = fed(plan)
    assert plan.planner is None
    assert fed(plan) == feed  # a second database reads the plan
    kept = ("zero_ns", "last_due_ns", "round_ns", "events", "planned", "sessions", "peak_sessions", "disordered", "order_tables",
            "ids_unknown", "now_uncertain", "schemas", "users", "gaps")  # fmt: skip
    return {
        "plan": {key: getattr(plan, key) for key in kept},
        "reasons": sorted([*key, n] for key, n in plan.reasons.items()),
        "without_id": sorted([str(key), n] for key, n in plan.without_id.items()),
        "told": told,
        "json": plan.as_json(),
        "not_sent": sample_of_rows([dict(zip(NOT_SENT, row, strict=True)) for row in excluded(folder)]),
        "fed": sample_of_rows(feed[0]),
        "sessions": sample_of_rows(feed[1]),
    }


@pytest.mark.parametrize("name", RULES)
def test_plan_matches_the_golden_file(name: str, tape: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tape.parent)
    check_one(GOLDEN, name, answer(name, tape, tmp_path))
