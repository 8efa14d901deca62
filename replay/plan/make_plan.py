# SPDX-License-Identifier: Apache-2.0
"""Plan a replay: build the sessions and the event stream for the engine from a tape and the rules.

The tape is read twice. The first pass reads no statement text. It counts events, lists the sessions and writes an
outcome for each event that is not sent. The second pass feeds the engine one sorted window after another during the
replay.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from ...common.duck import insert_rows, load_sql, sql_files, sql_text, write_parquet
from ...common.errors import FolderError, InputError
from ...native.bindings.statements import Normalizer
from ...schemas import Folder, open_folder, select_list
from .catalog import Catalog, created_schemas
from .commit_order import order_commits
from .database import all_cores, define_due, open_planner, plan_windows, select, show_feed, show_window, view_threads
from .rules import NARROW, Plan, Rules
from .send_again import find_picks
from .transactions import find_resumed, find_transactions
from .unknown_values import count_unknown_ids, count_window

REPAIRED_GROUP_BYTES = 32 << 20


class NothingToSend(InputError):
    """All of a tape's events are filtered or skipped. `reasons`: see Plan."""

    def __init__(self, text: str, reasons: Counter[tuple[str, str]] | None = None) -> None:
        super().__init__(text)
        self.reasons: Counter[tuple[str, str]] = reasons or Counter()


@dataclass(frozen=True)
class PlanRequest:
    """A tape, the rules for its plan, properties of the target, and the folders for the results.

    - `spill`: the folder for the list of sessions.
    - `outcomes`: the folder for outcomes of events that are not sent.
    - `catalog`: the target's tables.
    - `collations`: the target's collations by id.
    - `after`: the plan of the previous piece, if the tape is still being written. The new piece has the same zero time
      as the previous piece, and may have no events to send.
    - `keep_planner`: keep the database open in the plan, for `take_planner`.
    - `span`: maps the first and last moment of this tape to those of all tapes replayed together.
    - `lists_tables`: whether the plan lists the tables of its events, for the order of commits over several drivers.
    - `progress`: called after each window with the number of events read so far.
    - `max_rows`: the largest number of events in a window. None means that only the size limits a window.
    """

    tape: Folder
    rules: Rules
    spill: Path
    outcomes: Path
    catalog: Catalog = field(default_factory=Catalog)
    collations: Mapping[int, str] = field(default_factory=dict)
    after: Plan | None = None
    keep_planner: bool = False
    span: Callable[[int, int], tuple[int, int]] = lambda first_ns, last_ns: (first_ns, last_ns)
    lists_tables: bool = False
    progress: Callable[[int], None] = lambda events: None
    max_rows: int | None = None


def make_plan(request: PlanRequest) -> Plan:
    """Plan the tape. Raises NothingToSend if no event remains to be sent. Outcomes are also written in this case."""
    tape, rules, after = request.tape, request.rules, request.after
    plan = Plan(tape, rules, request.spill, files=tape.files("events"), max_rows=request.max_rows)
    plan.collations, plan.catalog = request.collations, request.catalog
    plan.table_uses = [] if request.lists_tables else None
    name = "plan" if after is None else _go_on(plan, after)
    with ExitStack() as stack:
        con = stack.enter_context(open_planner(plan))
        xa = con.execute("FROM tape_digests WHERE has_property(properties, 'prepares_xa') LIMIT 1").fetchall()
        plan.prepares_xa = bool(xa)
        if rules.allow_writes:
            plan.created_schemas = created_schemas(con)
        with all_cores(con, plan):
            _prepare(con, plan)
            for number, window in enumerate(plan_windows(con, plan)):
                show_window(con, plan, window)
                _take_window(con, plan, number, request.outcomes / f"part-{name}-{number:05d}.parquet")
                request.progress(plan.events)
        if con.execute("FROM excluded_statements LIMIT 1").fetchall():
            write_parquet(con, "FROM excluded_statements", plan.excluded_statements)
        if not plan.planned:
            if after is not None:
                return plan
            text = f"{tape.path}: no event is left to send: {excluded_text(plan.reasons)}"
            raise NothingToSend(text, plan.reasons)
        count_unknown_ids(con, plan)
        if _find_disordered(con, plan):
            _repair_disordered(con, plan)
        _settle_times(con, plan, request.span)
        _list_sessions(con, plan)
        if rules.commit_order:
            with all_cores(con, plan):
                order_commits(con, plan)
        if rules.pace.scales_separately:
            _sort_feed(con, plan, "due_ns, session, seq", rules.amplification.loop)
        elif rules.max_concurrent_sessions:
            _sort_feed(con, plan, "session, seq", 1)
        if request.keep_planner:
            con.execute("DROP TABLE session_windows; DROP TABLE window_groups; DROP TABLE disordered")
            plan.planner = con
            stack.pop_all()
    return plan


def _prepare(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Compute the input of the rules before any event is planned.

    The input consists of events to send again, transactions, KILLs, and silent stretches.
    """
    rules = plan.rules
    if rules.selection.picks:
        find_picks(con, plan)
    if rules.selection.by_event or rules.commit_order:
        find_transactions(con, plan)
    if rules.selection.resume:
        find_resumed(con, plan, _interrupted(rules.selection.resume))
    if "kill" in rules.allowed:
        _exclude_kills(con, plan)
    if con.execute("FROM excluded_events LIMIT 1").fetchall():
        write_parquet(con, "FROM excluded_events", plan.excluded_events)
    if rules.pace.max_idle_ns is not None:
        _find_gaps(con, plan, rules.pace.max_idle_ns)


def _go_on(plan: Plan, after: Plan) -> str:
    """Continue the plan of the previous piece. Return the prefix of the file names of its outcomes."""
    plan.zero_ns, plan.piece = after.zero_ns, after.piece + 1
    if after.excluded_statements.exists():
        shutil.copyfile(after.excluded_statements, plan.excluded_statements)
    return f"plan-{plan.piece:06d}"


def _interrupted(path: Path) -> Folder:
    try:
        return open_folder("run", path)
    except FolderError as error:
        raise InputError(f"--resume: {error}") from error


def _find_gaps(con: duckdb.DuckDBPyConnection, plan: Plan, max_idle_ns: int) -> None:
    """Find the silent stretches of the tape. The views of the plan then omit them.

    In a silent stretch, no event that must be sent is running.
    """
    busy_until, cut, gaps = None, 0, []
    for window in plan_windows(con, plan):
        show_window(con, plan, window)
        rows: Iterable[tuple[int, int]] = con.execute(
            "SELECT start_ns, before FROM (SELECT start_ns, start_ns + coalesce(duration_ns, 0) AS end_ns,"
            " max(end_ns) OVER (ORDER BY start_ns, session, seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
            f" AS before FROM window_events WHERE reason IS NULL) WHERE start_ns - coalesce(before, 0) > {max_idle_ns}"
            " ORDER BY start_ns"
        ).fetchall()
        for start, before in rows:
            quiet_since = max(value for value in (before, busy_until, 0) if value is not None)
            if quiet_since and start - quiet_since > max_idle_ns:
                cut += start - quiet_since - max_idle_ns
                gaps.append((start, cut))
        latest = con.execute(
            "SELECT max(start_ns + coalesce(duration_ns, 0)) FROM window_events WHERE reason IS NULL"
        ).fetchall()[0][0]
        busy_until = max(value for value in (latest, busy_until, 0) if value is not None)
    plan.gaps = gaps
    insert_rows(con, "gaps", gaps)


def _take_window(con: duckdb.DuckDBPyConnection, plan: Plan, number: int, excluded: Path) -> None:
    """Add one window to the plan. Write the outcomes of its events that are not sent."""
    _exclude_statements(con)
    _add_window(con, number)
    n = _count(con, plan)
    count_window(con, plan)
    if n:
        _write_excluded(con, excluded)


def _add_window(con: duckdb.DuckDBPyConnection, number: int) -> None:
    con.execute(f"CREATE OR REPLACE TEMP TABLE window_groups AS {load_sql(__package__, 'window_groups.sql')}")
    verb = "CREATE OR REPLACE TEMP TABLE session_windows AS" if number == 0 else "INSERT INTO session_windows"
    con.execute(f"{verb} SELECT {number} AS number, * FROM ({load_sql(__package__, 'session_window.sql')})")


def _exclude_kills(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Read which connection each KILL names. Exclude a KILL if its victim is not sent.

    Otherwise the KILL would hit another statement.
    """
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_events AS FROM {plan.source()}")
    normalizer = Normalizer()
    rows = con.execute(
        "SELECT session, seq, start_ns, CASE WHEN command = 'process_kill' THEN params END, statement FROM tape_events"
        " WHERE command = 'process_kill' OR danger_of(flags) = 'kill'"
    ).fetchall()
    kills = [(*place, *_killed(normalizer, params, statement)) for *place, params, statement in rows]
    insert_rows(con, "kills", kills)
    if kills:
        write_parquet(con, "FROM kills", plan.kills)
    view_threads(con, plan)
    names = ", ".join([*NARROW, '"user"', "digest", "start_ns AS tape_ns"])
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_selected AS {select(plan, f'(SELECT {names} FROM tape_events)')}")
    con.execute(f"INSERT INTO excluded_events {load_sql(__package__, 'kills_alone.sql')}")


def _killed(normalizer: Normalizer, params: bytes | None, statement: bytes | None) -> tuple[int | None, bool]:
    """Return the connection id of a KILL, and whether the KILL ends the session. `params`: of COM_PROCESS_KILL."""
    if params is None:
        return normalizer.killed_thread(statement or b"")
    return (int.from_bytes(params[1:5], "little") if len(params) >= 5 else None), True


def _exclude_statements(con: duckdb.DuckDBPyConnection) -> None:
    """Record the prepared statements of the window that are not sent.

    Later events of these statements are not sent either.
    """
    prepares = "command = 'prepare' AND stmt IS NOT NULL"
    if not con.execute(f"SELECT 1 FROM window_tape WHERE {prepares} LIMIT 1").fetchall():
        return
    con.execute(
        "INSERT INTO excluded_statements SELECT session, stmt, any_value(reason) FROM window_events"
        f" WHERE {prepares} AND reason IS NOT NULL GROUP BY session, stmt"
    )


def _count(con: duckdb.DuckDBPyConnection, plan: Plan) -> int:
    """Add the events of one window (table window_groups) to the plan's counts.

    Return the number of events that are not sent.
    """
    copies = plan.rules.amplification.total
    rows = con.execute(
        "SELECT reason, exclusion_status(reason), sum(events)::BIGINT FROM window_groups GROUP BY reason"
    ).fetchall()
    for reason, status, n in rows:
        plan.events += n
        if reason is None:
            plan.planned += n * copies
        else:
            plan.reasons[status, reason] += n * copies
    for column, counts in (("db", plan.schemas), ('"user"', plan.users)):
        for name, n in con.execute(
            f"SELECT {column}, sum(events)::BIGINT FROM window_groups WHERE coalesce({column}, '') <> ''"
            f" AND reason IS NULL GROUP BY {column}"
        ).fetchall():
            counts[name] = counts.get(name, 0) + n
    return sum(n for reason, _, n in rows if reason is not None)


def _write_excluded(con: duckdb.DuckDBPyConnection, final: Path) -> None:
    """Write the filtered and skipped events of one window as outcomes."""
    excluded = (
        "SELECT session, seq, clone, reason, exclusion_status(reason) AS status"
        " FROM window_events, every_clone WHERE reason IS NOT NULL"
    )
    have = {"session", "seq", "clone", "status", "reason"}
    write_parquet(con, f"SELECT {select_list('run', 'outcomes', have)} FROM ({excluded})", final)


def excluded_text(reasons: Counter[tuple[str, str]]) -> str:
    """Return the reasons why no event is sent, the most frequent first."""
    parts = [f"{n} {status} ({reason})" for (status, reason), n in reasons.most_common()]
    hint = "; use --allow-writes to replay writes" if ("filtered", "write") in reasons else ""
    return (", ".join(parts) or "the tape contains no event") + hint


def _find_disordered(con: duckdb.DuckDBPyConnection, plan: Plan) -> int:
    """Find the sessions whose times run backwards, inside a window or between windows.

    Return the number of these sessions.
    """
    con.execute(
        "CREATE OR REPLACE TEMP TABLE disordered AS SELECT session FROM ("
        "  SELECT session, disordered, min_seq < max(max_seq) OVER (PARTITION BY session ORDER BY number"
        "    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS across FROM session_windows"
        ") GROUP BY session HAVING bool_or(disordered) OR bool_or(across)"
    )
    plan.disordered = int(con.execute("SELECT count(*) FROM disordered").fetchall()[0][0])
    return plan.disordered


def _repair_disordered(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Give the disordered sessions times that never run backwards, and list the sessions again.

    The events of these sessions are copied to one more part. Each copied event starts no earlier than its predecessors.
    """
    source = plan.source()
    con.execute(
        "CREATE OR REPLACE TEMP TABLE repaired_times AS SELECT session, seq,"
        " max(start_ns) OVER (PARTITION BY session ORDER BY seq) AS start_ns"
        f" FROM {source} SEMI JOIN disordered USING (session)"
    )
    con.execute("SET preserve_insertion_order = false")  # DuckDB limits row groups by bytes only for unordered output
    con.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")  # join on the small table of times
    write_parquet(
        con,
        "SELECT e.* REPLACE (r.start_ns AS start_ns)"
        f" FROM {source} e JOIN repaired_times r ON e.session = r.session AND e.seq = r.seq",
        plan.repaired,
        f"COMPRESSION zstd, ROW_GROUP_SIZE_BYTES {REPAIRED_GROUP_BYTES}",
    )
    con.execute("SET preserve_insertion_order = true; RESET disabled_optimizers")
    con.execute("DROP TABLE repaired_times")
    for number, window in enumerate(plan_windows(con, plan)):
        show_window(con, plan, window)
        _add_window(con, number)


def _settle_times(con: duckdb.DuckDBPyConnection, plan: Plan, span: Callable[[int, int], tuple[int, int]]) -> None:
    """Make the first planned event the zero time of the run.

    Events before --from that are sent only for session state do not count.
    """
    first, last, early = con.execute(
        "SELECT min(timed_ns), max(end_ns), min(first_ns) FROM session_windows"
    ).fetchall()[0]
    if not plan.piece:
        zero = int(first if first is not None else plan.rules.selection.from_ns or early or 0)
        plan.zero_ns, last = span(zero, int(last))
    define_due(con, plan)
    plan.round_ns = con.execute(f"SELECT due_of({last}, {plan.zero_ns})").fetchall()[0][0]
    define_due(con, plan)


def _list_sessions(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Write the sessions for the engine. Determine the peak number of open sessions and the last due time."""
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_sessions AS FROM {plan.tape.source('sessions')}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW charsets AS {load_sql(__package__, 'charsets.sql')}")
    con.execute("CREATE OR REPLACE TEMP TABLE collations (id INTEGER, names VARCHAR)")
    if known := plan.collations:
        con.execute("INSERT INTO collations SELECT unnest(?), unnest(?)", [list(known), list(known.values())])
    write_parquet(con, load_sql(__package__, "sessions.sql"), plan.session_list)
    source = f"read_parquet({sql_text(plan.session_list)})"
    plan.collations_unknown = con.execute(
        f"SELECT collation_id, charset, count(*) FROM {source} WHERE collation_id > 0 AND names IS NULL"
        " GROUP BY ALL ORDER BY 3 DESC, 1"
    ).fetchall()
    plan.sessions, plan.last_due_ns = con.execute(f"SELECT count(*), max(last_due_ns) FROM {source}").fetchall()[0]
    plan.peak_sessions = min(plan.sessions, plan.rules.max_concurrent_sessions or plan.sessions)
    if plan.rules.pace.paced:
        plan.peak_sessions = con.execute(
            "SELECT max(open)::BIGINT FROM (SELECT sum(step) OVER (ORDER BY at_ns, step DESC ROWS UNBOUNDED PRECEDING)"
            f" AS open FROM (SELECT open_due_ns AS at_ns, 1 AS step FROM {source}"
            f" UNION ALL SELECT close_due_ns, -1 FROM {source}))"
        ).fetchall()[0][0]


def _sort_feed(con: duckdb.DuckDBPyConnection, plan: Plan, order: str, rounds: int) -> None:
    """Write all fed events sorted by `order`. Used when `order` differs from the tape's order.

    If connects are scaled separately, due times have a different order. If few sessions may be open at once, events of
    waiting sessions must not fill the queue.
    """
    parts: list[Path] = []
    for turn in range(rounds):
        con.execute(f"SET VARIABLE round = {turn}")
        for window in plan_windows(con, plan):
            show_feed(con, plan, window)
            parts.append(plan.spill / f"feed-{len(parts):05d}.parquet")
            write_parquet(con, "FROM window_feed", parts[-1])
    fed = sql_files(part for part in parts if part.exists())
    write_parquet(con, f"FROM read_parquet({fed}) ORDER BY {order}", plan.sorted_feed)
    for part in parts:
        part.unlink(missing_ok=True)
