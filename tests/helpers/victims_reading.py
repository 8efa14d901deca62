# SPDX-License-Identifier: Apache-2.0
"""Commands to be killed that read tapes, runs and logs: they leave what they read as it was, and nothing beside it."""

import shutil
from collections.abc import Callable
from pathlib import Path

from querytape.capture import SOURCES, Settings, capture_source
from querytape.schemas import read_json

from . import log_writers
from .kills import Victim, judge_nothing, judge_tape, sentence

STATEMENTS = 12_000
SIZE = 90


def reading(folder: Path, tape: Path, runs: tuple[Path, Path, Path]) -> dict[str, Victim]:
    """Return the commands that show what is on a tape or in a run, and those that capture other logs.

    `tape`: of many events; `runs`: a small tape and two runs of it.
    """
    small, a, b = (str(path) for path in runs)
    events = int(read_json("tape", tape / "tape.json")["counts"]["events"])
    texts = folder / "texts.sql"
    texts.write_bytes(b"\n".join(log_writers.make_statements([SIZE] * STATEMENTS, 3)))

    def unharmed() -> list[str]:
        return sentence("tape", "verify", str(tape), may=(0,))[1] + sentence("report", small, a, b, may=(0,))[1]

    def shows(*words: str) -> Victim:
        return Victim(words, judge_nothing, after=unharmed)

    return {
        "inspect": shows("inspect", str(tape)),
        "inspect-json": shows("inspect", str(tape), "--json"),
        "inspect-facts": shows("inspect", str(tape), "--facts"),
        "inspect-against": shows("inspect", str(tape), "--against", small),
        "lint": shows("lint", str(tape), "--to", "mysql-8.4"),
        "sql": shows("sql", str(tape), "-c", "SELECT count(*) FROM event_texts", "-c", "FROM events LIMIT 20"),
        "sql-run": shows("sql", a, "-c", "FROM outcomes", "--format", "csv"),
        "completion": shows("completion", "bash"),
        "fingerprint": shows("fingerprint", str(texts)),
        "export-said": shows("export", str(tape), "--format", "csv"),
        "report": shows("report", small, a, b),
        "report-tables": Victim(("report", small, a, b, "--tables", "{out}"), judge_tables, after=unharmed),
        "report-charts": Victim(("report", small, a, b, "--charts", "{out}"), judge_charts, after=unharmed),
        "report-junit": Victim(("report", small, a, b, "--junit", "{out}"), judge_ending("</testsuite>")),
        "export-jsonl": Victim(
            ("export", str(tape), "--format", "jsonl", "-o", "{out}"), judge_lines(events), after=unharmed
        ),
        "speed": _speed(folder, Path(a)),
        **_logs(folder),
    }


def _logs(folder: Path) -> dict[str, Victim]:
    """Return captures of logs of every other kind."""
    statements = log_writers.make_statements([SIZE] * STATEMENTS, 4)
    found = {}
    for name, (kind, write, extra) in log_writers.KINDS.items():
        if kind == "slowlog":
            continue
        log, tape = folder / f"{name}.log", folder / f"{name}.tape"
        log.write_bytes(write(statements))
        columns = [word for pair in extra.get("column", ()) for word in ("--column", pair)]  # type: ignore[attr-defined]
        counts = capture_source(SOURCES[kind], [str(log)], tape, Settings(extra=extra))["counts"]
        assert counts["events"] >= STATEMENTS, name
        shutil.rmtree(tape)
        found[f"capture-{name}"] = Victim(
            ("capture", kind, str(log), *columns, "-o", "{out}"), judge_tape, counts["events"]
        )
    return found


def _speed(folder: Path, ended: Path) -> Victim:
    """Return a change of speed of a run that takes itself to be under way."""
    run = folder / "under-way.run"
    shutil.copytree(ended, run)
    text = (run / "run.json").read_text()
    assert '"finished": true' in text
    (run / "run.json").write_text(text.replace('"finished": true', '"finished": false'))
    request = run / "speed"

    def after() -> list[str]:
        wrong = [] if not request.exists() or request.read_text() == "1.5\n" else [f"speed: {request.read_text()!r}"]
        request.unlink(missing_ok=True)
        read_json("run", run / "run.json")
        return wrong + [f"{path.name} was left" for path in run.iterdir() if "speed" in path.name]

    return Victim(("speed", str(run), "3/2"), judge_nothing, after=after)


# ---- judges ----


def judge_ending(*endings: str) -> Callable[[Path, Victim], list[str]]:
    """Return a judge of a text that is whole, or not there."""

    def judge(path: Path, victim: Victim) -> list[str]:
        text = path.read_text() if path.exists() else endings[0]
        return [] if text.rstrip().endswith(endings) else [f"{path.name}: half of it: {text[-200:]!r}"]

    return judge


def judge_lines(events: int) -> Callable[[Path, Victim], list[str]]:
    """Return a judge of a file with a line for each event, or not there."""

    def judge(path: Path, victim: Victim) -> list[str]:
        lines = path.read_bytes().count(b"\n") if path.exists() else events
        return [] if lines == events else [f"{path.name}: {lines} lines of {events}"]

    return judge


def judge_tables(path: Path, victim: Victim) -> list[str]:
    """A folder of tables has each as CSV and Parquet, all of which can be read."""
    import duckdb

    wrong = []
    with duckdb.connect() as con:
        for file in path.glob("*.parquet") if path.exists() else ():
            try:
                con.execute(f"SELECT count(*) FROM '{file}'").fetchall()
            except duckdb.Error as error:
                wrong.append(f"{file.name}: {error}")
    return wrong


def judge_charts(path: Path, victim: Victim) -> list[str]:
    """A folder of charts has whole pictures."""
    ends = {".svg": b"</svg>", ".png": b"IEND\xaeB`\x82"}
    found = [] if not path.exists() else [file for file in path.iterdir() if file.suffix in ends]
    return [f"{file.name}: half" for file in found if not file.read_bytes().rstrip(b"\n").endswith(ends[file.suffix])]
