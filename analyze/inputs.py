# SPDX-License-Identifier: Apache-2.0
"""The inputs of a report as SQL: open the tape and the runs, and create the variables and views that analyses read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..common.errors import InputError
from ..schemas import Folder, open_folder
from ..schemas.tape_set import TapeSet
from .database import AnalysisDatabase
from .lint.rules import sorts_groups, tape_version
from .model import Report, Settings
from .run_set import RunSet, open_run

MAX_BINS = 240
TARGET_TAPE = "target.tape"  # the target's own slow log (replay --target-slowlog)


@dataclass(frozen=True)
class Share:
    """Some of the sessions: those whose hash with this seed gives `number` modulo `of`. `of` = 0: no session.

    `tapes`: instead, the sessions of these tapes of a set.
    """

    number: int = 0
    of: int = 1
    seed: int = 0
    tapes: tuple[str, ...] = ()

    def condition(self) -> str:
        """Return the SQL condition for the sessions of the share. A share of tapes needs no condition."""
        if self.of == 1 or self.tapes:
            return "true"
        return f"hash(session::BIGINT, {self.seed}) % {self.of} = {self.number}" if self.of else "false"

    def of_tape(self, tape: Folder) -> Folder:
        """Return the tapes of the share as a smaller set, or the whole tape."""
        if not self.tapes or not isinstance(tape, TapeSet):
            return tape
        return replace(tape, members=tuple(each for each in tape.members if each.tape.path.name in self.tapes))

    def of_run(self, tape: Folder, run: Folder, table: str) -> str:
        """Return an SQL table expression for the rows of a run that belong to the share."""
        if not self.tapes or not isinstance(tape, TapeSet):
            return f"(FROM {run.source(table)} WHERE {self.condition()})"
        if isinstance(run, RunSet):
            return run.part_of([each.tape.path.name in self.tapes for each in tape.members]).source(table)
        sessions = f"(SELECT session FROM {self.of_tape(tape).source('sessions')})"
        return f"(FROM {run.source(table)} WHERE session IN {sessions})"


ALL = Share()


def open_report(tape_path: Path, a_paths: Sequence[Path], b_paths: Sequence[Path], settings: Settings) -> Report:
    """Return a report without query results. Rounds without a partner on the other side are left out.

    Raises FolderError and InputError.
    """
    tape = open_folder("tape", tape_path)
    a, b = ([open_run(tape, path) for path in paths] for paths in (a_paths, b_paths))
    for run in (*a, *b):
        check(tape, run)
    rounds = min(len(a), len(b)) if b else len(a)
    unpaired = len(a) + len(b) - 2 * rounds if b else 0
    return Report(tape, a[:rounds], b[:rounds], settings, unpaired)


def check(tape: Folder, run: Folder) -> None:
    """Raise InputError if a run is empty or belongs to another tape."""
    if not run.files("outcomes"):
        raise InputError(f"{run.path}: the run is empty, because the replay stopped before it wrote any data")
    played, events = run.run_info.get("tape") or {}, (tape.tape_info.get("counts") or {}).get("events")
    if played.get("events") not in (None, events):
        raise InputError(
            f"{run.path} is a run of another tape: {played.get('path')} with {played.get('events'):,} events, but"
            f" {tape.path} has {events:,}"
        )


def set_variables(database: AnalysisDatabase, report: Report) -> None:
    """Set the SQL variables that depend only on the report's inputs and settings."""
    tape_info = report.tape.tape_info
    logged = any((run.path / TARGET_TAPE).exists() for runs in report.sides.values() for run in runs)
    in_server = tape_info.get("measuring_point") == "server"
    database.set_variable("errors_known", "errno" in tape_info.get("known_columns", []), "BOOLEAN")
    database.set_variable("tape_in_server", in_server, "BOOLEAN")
    database.set_variable("tape_times", not report.b or (in_server and logged), "BOOLEAN")
    database.set_variable("skip_ns", report.settings.skip_ns, "BIGINT")
    database.set_variable("sort_lost", sort_lost(report), "BOOLEAN")
    database.set_variable("time_kept", time_kept(report), "BOOLEAN")
    database.set_variable("writes_race", writes_race(report), "BOOLEAN")
    database.set_variable("b", "b" if report.b else None, "VARCHAR")


def create_views(database: AnalysisDatabase, report: Report, share: Share = ALL) -> None:
    """Create the views of the inputs: tape_event, tape_digest, every_outcome, run_session, log_event and sampled.

    tape_event, every_outcome and run_session have only the sessions of the share.
    """
    _view_events(database, report, share)
    database.con.execute(f"CREATE TEMP VIEW tape_digest AS FROM {report.tape.source('digests')}")
    for view, table in (("every_outcome", "outcomes"), ("run_session", "sessions")):
        _view_rounds(database, report, view, table, share)
    logs = [f"SELECT NULL AS run, * FROM {report.tape.source('events')} WHERE false"]
    for letter, runs in report.sides.items():
        there = [path for run in runs if (path := run.path / TARGET_TAPE).exists()]
        if there:
            logs.append(f"SELECT '{letter}', * FROM {open_folder('tape', there[0]).source('events')}")
    database.con.execute(f"CREATE TEMP VIEW log_event AS {' UNION ALL '.join(logs)}")
    _view_samples(database, report)


def _view_rounds(database: AnalysisDatabase, report: Report, view: str, table: str, share: Share) -> None:
    rounds = [
        f"SELECT '{letter}' AS run, {number}::INTEGER AS round, * FROM {share.of_run(report.tape, run, table)}"
        for letter, runs in report.sides.items()
        for number, run in enumerate(runs, 1)
    ]
    database.con.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {' UNION ALL BY NAME '.join(rounds)}")


def _view_events(database: AnalysisDatabase, report: Report, share: Share) -> None:
    events = f"{share.of_tape(report.tape).source('events')} WHERE {share.condition()}"
    database.con.execute(f"CREATE OR REPLACE TEMP VIEW tape_event AS FROM {events}")


def without_events(database: AnalysisDatabase, report: Report) -> None:
    """Let the views tape_event and every_outcome have no rows, because other processes read them."""
    _view_events(database, report, Share(of=0))
    _view_rounds(database, report, "every_outcome", "outcomes", Share(of=0))


def set_bins(database: AnalysisDatabase, report: Report) -> None:
    """Choose the bin width of the analyses over time. The variable end_ns must be known."""
    ((end_ns,),) = database.con.execute("SELECT getvariable('end_ns')").fetchall()
    report.bin_ns = max(1, -(-(end_ns - 1) // (MAX_BINS * 1_000_000_000))) * 1_000_000_000
    database.set_variable("bin_ns", report.bin_ns, "BIGINT")


def sort_lost(report: Report) -> bool:
    """Return whether GROUP BY sorts on the first server but not on the second.

    If the report has one run, the tape's server is the first server.
    """
    said = [str(run.target.get("version") or "") for run in report.runs]
    first, *others = said if report.b else (str(report.tape.tape_info.get("server_version") or ""), *said)
    before, after = tape_version(first), tape_version(others[0])
    return before is not None and after is not None and sorts_groups(before) and not sorts_groups(after)


def time_kept(report: Report) -> bool:
    """Return whether every run replayed with the tape's clock (--now original).

    If so, the clock explains no difference.
    """
    rounds = [run for side in report.sides.values() for run in side]
    return all(run.parameters.get("now") == "original" for run in rounds)


def writes_race(report: Report) -> bool:
    """Return whether a run sent writes of several sessions without keeping their order.

    The results of reads then depend on timing.
    """
    sent = [run.parameters for run in report.runs]
    several = int((report.tape.tape_info.get("counts") or {}).get("sessions") or 0) > 1
    return several and any(each.get("allow_writes") and each.get("order") != "commit" for each in sent)


def _view_samples(database: AnalysisDatabase, report: Report) -> None:
    """Create the view `sampled`: the counters of every run, with times relative to the start of the run."""
    parts = [
        f"SELECT '{letter}' AS run, {number} AS round, real_ns,"
        f" real_ns - {run.run_info.get('started_ns') or 0} AS at_ns, source, name, value FROM {run.source('samples')}"
        for letter, rounds in report.sides.items()
        for number, run in enumerate(rounds, 1)
    ]
    database.con.execute(f"CREATE OR REPLACE TEMP VIEW sampled AS {' UNION ALL '.join(parts)}")
