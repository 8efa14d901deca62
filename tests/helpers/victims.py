# SPDX-License-Identifier: Apache-2.0
"""The commands that are killed, with inputs large enough that a kill finds them at work."""

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from querytape.capture import SOURCES, Settings, capture_source
from querytape.native.bindings.null_server import NullServer
from querytape.servers.facts import gather
from querytape.servers.sandbox import Server, start_server
from querytape.servers.target import parse_target

from .dialogue import Dialogue, ok, rows, write_pcap
from .kills import ANY, Victim, judge_file, judge_nothing, judge_run, judge_runs, judge_set, judge_tape, sentence
from .logs import write_mariadb
from .reports import small_runs
from .tapes import T0, make_tape
from .victims_live import following, of_rds, on_servers
from .victims_reading import reading

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
    """Return a tape of REPLAY_S seconds."""
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
    """Yield every victim by name; `server`: also those that need a real server."""
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
            with _production() as production, on_servers(folder) as asking, of_rds(folder) as rds:
                yield found | asking | rds | {NEEDS_SERVER[0]: _capture_server(production, folder)}


def _tools(tape: Path, events: int) -> dict[str, Victim]:
    """Return the tools that make tapes, or files, of a tape."""

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
    """Return what makes a set of two tapes in their folder, which is then as it was."""
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
    """Return what replays."""
    sides = ("--target", f"a={url}", "--target", f"b={url}")

    def judge_sweep(path: Path, victim: Victim) -> list[str]:
        wrong = [text for text in judge_runs(path, victim) if "accounting:" not in text]  # its runs are loops
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
    """Run a server with some traffic."""
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
    """Return the settings that a capture may change."""
    con = parse_target(server.url(), environ={}).connect()
    found = gather(con).variables
    con.close()
    words = ("slow", "long_query", "log_output", "general_log", "min_examined")
    return {name: value for name, value in found.items() if any(word in name for word in words)}


def _capture_server(server: Server, folder: Path) -> Victim:
    """Return a capture of a server's own log; after each kill the settings are as before, or --restore makes them so."""
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
