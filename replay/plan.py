# SPDX-License-Identifier: Apache-2.0
"""What is sent, and when: a tape and the rules become sessions and a stream of events for the engine.

Two walks over the tape. The first reads no statement: it counts, lists the sessions and writes an outcome for each
event that is not sent. The second gives the engine one sorted window after the other while the replay runs.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

from ..errors import InputError
from ..schemas import CLASSES, COMMANDS, DANGER_SHIFT, DANGERS, FLAGS, Folder, select_list, sql_text
from .pacing import due_sql
from .storage import open_storage, question, write_parquet
from .windows import Window, row_groups, windows

NARROW = ("session", "seq", "start_ns", "duration_ns", "command", "class", "flags", "db", "stmt")


@dataclass(frozen=True)
class Rules:
    """What may be sent, and how fast; `speed` None is as fast as it goes. Times in nanoseconds."""

    speed: Fraction | None = Fraction(1)
    allow_writes: bool = False
    allowed: frozenset[str] = frozenset()
    lead_ns: int = 2_000_000_000

    def __post_init__(self) -> None:
        unknown = sorted(self.allowed - (DANGERS.keys() - {"none"}))
        if unknown:
            known = ", ".join(name for name in DANGERS if name != "none")
            raise InputError(f"--allow-statement {unknown[0]}: expected one of {known}")


@dataclass
class Plan:
    """A planned tape. Times in nanoseconds: `zero_ns` since the epoch, the others from the run's zero."""

    tape: Folder
    rules: Rules
    spill: Path
    zero_ns: int = 0
    last_due_ns: int = 0
    events: int = 0
    planned: int = 0
    sessions: int = 0
    peak_sessions: int = 0
    disordered: int = 0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    schemas: dict[str, int] = field(default_factory=dict)
    files: tuple[Path, ...] = ()

    @property
    def repaired(self) -> Path:
        """Events of sessions whose times ran backwards, with times that do not. Exists where there are any."""
        return self.spill / "repaired.parquet"

    @property
    def held_statements(self) -> Path:
        """Prepared statements whose PREPARE is not sent, and why. Exists where there are any."""
        return self.spill / "held_statements.parquet"

    @property
    def session_list(self) -> Path:
        """The sessions for the engine."""
        return self.spill / "sessions.parquet"


def make_plan(
    tape: Folder,
    rules: Rules,
    spill: Path,
    outcomes: Path,
    max_rows: int | None = None,
    tell: Callable[[int], None] = lambda events: None,
) -> Plan:
    """Walk the tape once; leave the list of sessions in `spill` and the outcomes of what is not sent in `outcomes`.

    `tell` is called with the events looked at so far, once a window.
    Raises InputError where nothing is left to send.
    """
    plan = Plan(tape, rules, spill, files=tuple(sorted((tape.path / "events").glob("part-*.parquet"))))
    with open_planner(plan) as con:
        for number, window in enumerate(plan_windows(con, plan, max_rows)):
            show_window(con, plan, window, ", ".join(NARROW))
            _hold_statements(con)
            _add_window(con, number)
            _count(con, plan)
            _write_held(con, outcomes / f"part-plan-{number:05d}.parquet")
            tell(plan.events)
        if con.execute("FROM held_statements LIMIT 1").fetchall():
            write_parquet(con, "FROM held_statements", plan.held_statements)
        if not plan.planned:
            raise InputError(f"{tape.path}: nothing is left to send: {_held_text(plan)}")
        if _find_disordered(con, plan):
            _gather_again(con, plan, max_rows)
        _settle_times(con, plan)
        _list_sessions(con, plan)
    return plan


def open_planner(plan: Plan) -> duckdb.DuckDBPyConnection:
    """Return a database that knows the rules: variables, macros, and `due_of` for the plan's zero."""
    con = open_storage(plan.spill)
    rules = plan.rules
    _set(con, "flag_bits", FLAGS)
    _set(con, "danger_names", {code: name for name, code in DANGERS.items()})
    _set(con, "commands", COMMANDS)
    _set(con, "classes", {name: code for code, name in enumerate(CLASSES)})
    allowed = ", ".join(sql_text(name) for name in sorted(rules.allowed))
    con.execute(f"SET VARIABLE allowed = [{allowed}]::VARCHAR[]")
    con.execute(f"SET VARIABLE allow_writes = {rules.allow_writes}")
    con.execute(f"SET VARIABLE danger_shift = {DANGER_SHIFT}")
    con.execute(f"SET VARIABLE lead_ns = {rules.lead_ns}")
    con.execute(question("plan.sql"))
    con.execute("CREATE TEMP TABLE held_statements (session BIGINT, stmt BIGINT, reason VARCHAR)")
    if plan.held_statements.exists():
        con.execute(f"INSERT INTO held_statements FROM read_parquet({sql_text(plan.held_statements)})")
    _define_due(con, plan)
    return con


def plan_windows(con: duckdb.DuckDBPyConnection, plan: Plan, max_rows: int | None = None) -> Iterator[Window]:
    """Yield the tape's windows in order of time."""
    files = [*plan.files, *([plan.repaired] if plan.repaired.exists() else [])]
    bound = {} if max_rows is None else {"max_rows": max_rows}
    return windows(row_groups(con, files), **bound)


def show_window(con: duckdb.DuckDBPyConnection, plan: Plan, window: Window, names: str = "*") -> None:
    """Make `window_events` the events of one window, with the `reason` why one is not sent."""
    inside = f"start_ns >= {window.begin_ns} AND start_ns < {window.end_ns}"
    repaired = str(plan.repaired)
    parts = [file for file in window.files if file != repaired]
    selects = []
    if parts:
        listed = ", ".join(sql_text(file) for file in parts)
        copied = f"(SELECT session FROM read_parquet({sql_text(repaired)}))"
        skip = f" AND session NOT IN {copied}" if plan.disordered else ""
        selects.append(f"SELECT {names} FROM read_parquet([{listed}]) WHERE {inside}{skip}")
    if repaired in window.files:
        selects.append(f"SELECT {names} FROM read_parquet({sql_text(repaired)}) WHERE {inside}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_tape AS {' UNION ALL BY NAME '.join(selects)}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_events AS {question('plan_events.sql')}")


def feed_stream(con: duckdb.DuckDBPyConnection, plan: Plan, window: Window) -> Any:
    """Return one window's events for `Engine.feed`; nothing else may run on `con` until they are read."""
    show_window(con, plan, window)
    return con.sql(question("plan_feed.sql"))


def session_stream(con: duckdb.DuckDBPyConnection, plan: Plan) -> Any:
    """Return the sessions for `Engine.sessions`."""
    return con.sql(
        "SELECT session, open_due_ns, events, db, opened_ahead"
        f" FROM read_parquet({sql_text(plan.session_list)}) ORDER BY open_due_ns, session"
    )


def write_missing(plan: Plan, run_files: str, final: Path, reason: str) -> int:
    """Write a not_sent outcome for each planned event that has none in `run_files` (an SQL table); return how many."""
    total = 0
    with open_planner(plan) as con:
        for number, window in enumerate(plan_windows(con, plan)):
            show_window(con, plan, window, ", ".join(NARROW))
            con.execute(
                "CREATE OR REPLACE TEMP VIEW missing AS SELECT session, seq, 0 AS clone, 'not_sent' AS status,"
                f" {sql_text(reason)} AS reason FROM window_events w WHERE reason IS NULL"
                f" AND NOT EXISTS (SELECT 1 FROM {run_files} o WHERE o.session = w.session AND o.seq = w.seq)"
            )
            have = {"session", "seq", "clone", "status", "reason"}
            query = f"SELECT {select_list('run', 'outcomes', have)} FROM missing"
            total += write_parquet(con, query, final.with_name(f"{final.stem}-{number:05d}.parquet"))
    return total


def _set(con: duckdb.DuckDBPyConnection, name: str, mapping: dict[Any, Any]) -> None:
    """Set a DuckDB variable to a MAP."""
    con.execute(f"SET VARIABLE {name} = MAP(?, ?)", [list(mapping.keys()), list(mapping.values())])


def _define_due(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    speed = plan.rules.speed or Fraction(1)
    offset = f"greatest(start_ns - {plan.zero_ns}::BIGINT, 0)"
    con.execute(f"CREATE OR REPLACE TEMP MACRO due_of(start_ns) AS {due_sql(offset, speed)}")


def _add_window(con: duckdb.DuckDBPyConnection, number: int) -> None:
    verb = "CREATE OR REPLACE TEMP TABLE session_windows AS" if number == 0 else "INSERT INTO session_windows"
    con.execute(f"{verb} SELECT {number} AS number, * FROM ({question('plan_window.sql')})")


def _hold_statements(con: duckdb.DuckDBPyConnection) -> None:
    """Note the window's prepared statements that are not sent: nothing about them is."""
    con.execute(
        "INSERT INTO held_statements SELECT session, stmt, reason FROM window_events"
        " WHERE command = 'prepare' AND stmt IS NOT NULL AND reason IS NOT NULL"
    )


def _count(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Add one window's events to the plan's counts."""
    rows = con.execute("SELECT reason, held_status(reason), count(*) FROM window_events GROUP BY reason").fetchall()
    for reason, status, n in rows:
        plan.events += n
        if reason is None:
            plan.planned += n
        else:
            plan.reasons[status, reason] += n
    for db, n in con.execute(
        "SELECT db, count(*) FROM window_events WHERE coalesce(db, '') <> '' AND reason IS NULL GROUP BY db"
    ).fetchall():
        plan.schemas[db] = plan.schemas.get(db, 0) + n


def _write_held(con: duckdb.DuckDBPyConnection, final: Path) -> None:
    """Write one window's filtered and skipped events as outcomes."""
    con.execute(
        "CREATE OR REPLACE TEMP VIEW held AS SELECT session, seq, 0 AS clone,"
        " reason, held_status(reason) AS status"
        " FROM window_events WHERE reason IS NOT NULL"
    )
    have = {"session", "seq", "clone", "status", "reason"}
    write_parquet(con, f"SELECT {select_list('run', 'outcomes', have)} FROM held", final)


def _held_text(plan: Plan) -> str:
    parts = [f"{n} {status} ({reason})" for (status, reason), n in plan.reasons.most_common()]
    hint = "; --allow-writes replays writes" if ("filtered", "write") in plan.reasons else ""
    return (", ".join(parts) or "it has no event") + hint


def _find_disordered(con: duckdb.DuckDBPyConnection, plan: Plan) -> int:
    """Find the sessions whose times run backwards somewhere: inside a window, or from one to the next."""
    con.execute(
        "CREATE OR REPLACE TEMP TABLE disordered AS SELECT session FROM ("
        "  SELECT session, disordered, min_seq < max(max_seq) OVER (PARTITION BY session ORDER BY number"
        "    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS across FROM session_windows"
        ") GROUP BY session HAVING bool_or(disordered) OR bool_or(across)"
    )
    plan.disordered = int(con.execute("SELECT count(*) FROM disordered").fetchall()[0][0])
    return plan.disordered


def _gather_again(con: duckdb.DuckDBPyConnection, plan: Plan, max_rows: int | None) -> None:
    """Give the disordered sessions times that never run backwards, and list the sessions anew.

    Their events are copied, each no earlier than those before it in its session; the copy then counts as one more part.
    """
    listed = ", ".join(sql_text(file) for file in plan.files)
    write_parquet(
        con,
        "SELECT * REPLACE (max(start_ns) OVER (PARTITION BY session ORDER BY seq) AS start_ns)"
        f" FROM read_parquet([{listed}]) SEMI JOIN disordered USING (session) ORDER BY start_ns, session, seq",
        plan.repaired,
    )
    for number, window in enumerate(plan_windows(con, plan, max_rows)):
        show_window(con, plan, window, ", ".join(NARROW))
        _add_window(con, number)


def _settle_times(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Make the first planned event the run's zero."""
    plan.zero_ns = int(con.execute("SELECT min(first_ns) FROM session_windows").fetchall()[0][0])
    _define_due(con, plan)


def _list_sessions(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Write the sessions for the engine; find how many are open at once, and when the last event is due."""
    write_parquet(con, question("plan_sessions.sql"), plan.session_list)
    source = f"read_parquet({sql_text(plan.session_list)})"
    plan.sessions, plan.last_due_ns = con.execute(f"SELECT count(*), max(last_due_ns) FROM {source}").fetchall()[0]
    plan.peak_sessions = plan.sessions
    if plan.rules.speed is not None:
        plan.peak_sessions = con.execute(
            "SELECT max(open)::BIGINT FROM (SELECT sum(step) OVER (ORDER BY at_ns, step DESC ROWS UNBOUNDED PRECEDING)"
            f" AS open FROM (SELECT open_due_ns AS at_ns, 1 AS step FROM {source}"
            f" UNION ALL SELECT close_due_ns, -1 FROM {source}))"
        ).fetchall()[0][0]
