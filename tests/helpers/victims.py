# SPDX-License-Identifier: Apache-2.0
"""The commands for the kill tests. Their inputs are large enough that a kill interrupts their work."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from querytape.capture import SOURCES, Settings, capture_source
from querytape.native.bindings.null_server import NullServer
from querytape.schemas import read_json
from querytape.servers.facts import gather
from querytape.servers.sandbox import Server, start_server
from querytape.servers.target import parse_target

from . import log_writers
from .dialogue import Dialogue, ok, rows, write_pcap
from .kills import ANY, Victim, judge_file, judge_nothing, judge_run, judge_runs, judge_set, judge_tape, sentence
from .logs import write_mariadb
from .reports import small_runs
from .tapes import T0, make_tape
from .victims_live import following, rds_victims, server_victims

LOG_EVENTS = 12_000
REPLAY_EVENTS = 1_500
REPLAY_S = 0.8
CONNECTIONS, QUESTIONS = 30, 40
NEEDS_SERVER = (
    *("capture-server", "inspect-source", "capture-source", "plans", "quick", "compare-cache"),
    *("replay-sandbox", "try", "demo", "capture-rds"),
)


def _log(folder: Path) -> Path:
    """Return a slow log that takes about half a second to capture."""
    listed = [
        (1_718_000_000 + n // 50, n % 40, 0.001, f"SELECT * FROM t{n % 9} WHERE id = {n}") for n in range(LOG_EVENTS)
    ]
    return write_mariadb(folder / "slow.log", listed)


def _packets(folder: Path) -> Path:
    dialogues = []
    for n in range(CONNECTIONS):
        dialogue = Dialogue(client_port=40000 + n).logged_in()
        for k in range(QUESTIONS):
            dialogue.ask(b"SELECT %d FROM t%d" % (k, k % 3), rows([b"x"]) if k % 2 else ok(1))
        dialogues.append(dialogue.close())
    return write_pcap(folder / "traffic.pcap", dialogues)


def _replayed(folder: Path) -> Path:
    """Return a tape for a replay of REPLAY_S seconds."""
    step = int(REPLAY_S * 1e9 / REPLAY_EVENTS)
    return make_tape(
        folder / "replayed.tape",
        f"SELECT (1 + i % 20)::UINTEGER AS session, (1 + i // 20)::UINTEGER AS seq, 'query' AS command,"
        f" {T0} + i * {step} AS start_ns, 100000 AS duration_ns, 1000 AS precision_ns,"
        f" ('SELECT ' || i)::BLOB AS statement, '00000000000000' || printf('%02d', i % 7) AS digest,"
        f" 0 AS file, i AS \"offset\", 'read' AS class, 0 AS flags FROM range({REPLAY_EVENTS}) t(i)",
        parts=3,
    )


@contextmanager
def victims(folder: Path, server: bool) -> Iterator[dict[str, Victim]]:
    """Yield every victim by name. `server` adds the victims that need a real server."""
    log, packets = _log(folder), _packets(folder)
    tape, replayed = folder / "log.tape", _replayed(folder)
    events = capture_source(SOURCES["slowlog"], [str(log)], tape, Settings())["counts"]["events"]
    packet_events = capture_source(SOURCES["packets"], [str(packets)], folder / "p.tape", Settings())["counts"][
        "events"
    ]
    (folder / "small").mkdir()
    small, a, b = small_runs(folder / "small")
    found = {
        "capture-slowlog": Victim(("capture", "slowlog", str(log), "-o", "{out}"), judge_tape, events),
        "capture-packets": Victim(("capture", "packets", str(packets), "-o", "{out}"), judge_tape, packet_events),
        **_tools(tape, events),
        **reading(folder, tape, (small, a, b)),
        "report-html": Victim(("report", str(small), str(a), str(b), "--html", "{out}"), judge_file),
        "report-json": Victim(("report", str(small), str(a), str(b), "--json", "{out}"), judge_file),
    }
    with NullServer() as null:
        url = f"mysql://app@127.0.0.1:{null.port}"
        found |= _replays(replayed, url)
        with following(folder, url, null.port) as live:
            found |= live
            if not server:
                yield found
                return
            with _production() as production, server_victims(folder) as asking, rds_victims(folder) as rds:
                yield found | asking | rds | {NEEDS_SERVER[0]: _capture_server(production, folder)}


def _tools(tape: Path, events: int) -> dict[str, Victim]:
    """Return the commands that create tapes or files from a tape."""

    def tool(*words: str, events: int = events) -> Victim:
        return Victim(("tape", words[0], str(tape), *words[1:], "-o", "{out}"), judge_tape, events)

    return {
        "tape-merge": tool("merge", str(tape), events=2 * events),
        "tape-cut": tool("cut", "--from", "2020-01-01"),
        "tape-filter": tool("filter", "--class", "read"),
        "tape-pseudonymize": tool("pseudonymize"),
        "tape-deal": Victim(("tape", "deal", str(tape), "4", "-o", "{out}"), judge_set, events),
        "tape-set": _gathering(tape, events),
        "tape-salvage": Victim(("tape", "verify", str(tape), "--salvage", "{out}"), judge_tape, events),
        "tape-verify": Victim(("tape", "verify", str(tape)), judge_nothing),
        "export": Victim(("export", str(tape), "--format", "sql", "-o", "{out}"), judge_file),
    }


def _gathering(tape: Path, events: int) -> Victim:
    """Return a command that creates a set from two tapes. The folder of the tapes is restored after each kill."""
    folder = tape.parent / "gathered"
    for name in ("1.tape", "2.tape"):
        shutil.copytree(tape, folder / name)
    victim = Victim(("tape", "set", str(folder)), judge_nothing, 2 * events)

    def after() -> list[str]:
        wrong = judge_set(folder, victim)
        for path in folder.iterdir():
            if path.suffix != ".tape":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return wrong

    return replace(victim, after=after)


def _replays(tape: Path, url: str) -> dict[str, Victim]:
    """Return the replay commands."""
    sides = ("--target", f"a={url}", "--target", f"b={url}")

    def judge_sweep(path: Path, victim: Victim) -> list[str]:
        wrong = [text for text in judge_runs(path, victim) if "accounting:" not in text]  # sweep runs loop the tape
        marker = path / "sweep.json"
        return wrong + ([] if not marker.exists() or json.loads(marker.read_text())["levels"] else ["no level"])

    return {
        "replay": Victim(("replay", str(tape), "--target", url, "-o", "{out}"), judge_run, REPLAY_EVENTS, tape),
        "replay-fast": Victim(
            ("replay", str(tape), "--target", url, "--pace", "none", "-o", "{out}"), judge_run, REPLAY_EVENTS, tape
        ),
        "compare": Victim(
            ("compare", str(tape), *sides, "--rounds", "1", "--pause", "100ms", "-o", "{out}", "--", "--speed", "3"),
            judge_runs,
            REPLAY_EVENTS,
            tape,
        ),
        "sweep": Victim(
            ("sweep", str(tape), "--target", url, "--sessions", "1,3", "--each", "400ms", "-o", "{out}"),
            judge_sweep,
            REPLAY_EVENTS,
            tape,
        ),
        "calibrate": Victim(("calibrate", "--sessions", "2"), judge_nothing),
    }


@contextmanager
def _production() -> Iterator[Server]:
    """Run a server with background traffic."""
    ended = threading.Event()
    with start_server("mariadb") as server:

        def drive() -> None:
            while not ended.is_set():
                with suppress(Exception):
                    con: Any = server.connect(autocommit=True)
                    with con.cursor() as cursor:
                        for n in range(20):
                            cursor.execute(f"SELECT {n}")
                            time.sleep(0.01)
                    con.close()

        thread = threading.Thread(target=drive, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            ended.set()
            thread.join()


def settings_of(server: Server) -> dict[str, str]:
    """Return the server settings that a capture may change."""
    con = parse_target(server.url(), environ={}).connect()
    found = gather(con).variables
    con.close()
    words = ("slow", "long_query", "log_output", "general_log", "min_examined")
    return {name: value for name, value in found.items() if any(word in name for word in words)}


def _capture_server(server: Server, folder: Path) -> Victim:
    """Return a capture of the server's own log. After each kill the settings are unchanged or --restore works."""
    before, kept = settings_of(server), folder / "restore.json"
    command = ("capture", "server", server.url(), "--restore-file", str(kept))

    def after() -> list[str]:
        wrong: list[str] = []
        time.sleep(0.1)
        if kept.exists():
            wrong += sentence(*command, "--restore", may=(0,))[1]
        now = settings_of(server)
        wrong += [
            f"{name} = {now.get(name)!r}, was {value!r}" for name, value in before.items() if now.get(name) != value
        ]
        for name, value in before.items():
            if now.get(name) != value:
                server.execute(f"SET GLOBAL {name} = {value if value.replace('.', '').isdigit() else repr(value)}")
        return wrong + (["the restore file is still there"] if kept.exists() else [])

    return Victim((*command, "--duration", "1500ms", "-o", "{out}"), judge_tape, ANY, codes=(0, 1, 4, 130), after=after)


STATEMENTS = 12_000
SIZE = 90


def reading(folder: Path, tape: Path, runs: tuple[Path, Path, Path]) -> dict[str, Victim]:
    """Return the commands that show the content of a tape or run, and the captures of other logs.

    `tape` has many events. `runs` is a small tape and two of its runs.
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
    """Return captures of all other log kinds."""
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
    """Return a command that changes the speed of a run. The run is finished but marked as still running."""
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


# ---- judges: faults in an output ----


def judge_ending(*endings: str) -> Callable[[Path, Victim], list[str]]:
    """Return a judge that accepts a complete text file or a missing file."""

    def judge(path: Path, victim: Victim) -> list[str]:
        text = path.read_text() if path.exists() else endings[0]
        return [] if text.rstrip().endswith(endings) else [f"{path.name}: half of it: {text[-200:]!r}"]

    return judge


def judge_lines(events: int) -> Callable[[Path, Victim], list[str]]:
    """Return a judge that accepts a missing file or a file with one line per event."""

    def judge(path: Path, victim: Victim) -> list[str]:
        lines = path.read_bytes().count(b"\n") if path.exists() else events
        return [] if lines == events else [f"{path.name}: {lines} lines of {events}"]

    return judge


def judge_tables(path: Path, victim: Victim) -> list[str]:
    """Return the faults in a folder of tables: Parquet files that cannot be read."""
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
    """Return the faults in a folder of charts: incomplete pictures."""
    ends = {".svg": b"</svg>", ".png": b"IEND\xaeB`\x82"}
    found = [] if not path.exists() else [file for file in path.iterdir() if file.suffix in ends]
    return [f"{file.name}: half" for file in found if not file.read_bytes().rstrip(b"\n").endswith(ends[file.suffix])]
