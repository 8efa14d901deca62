# SPDX-License-Identifier: Apache-2.0
"""Tests with real drivers. The tape has the same commands as the server's log, and a replay ends with the same tables.
`make test-long args="tests/whole/drivers -k go"` runs one driver. If a driver cannot be built, the test is skipped with
a reason.
"""

import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest
from querytape.capture.library import capture
from querytape.capture.source import Settings
from querytape.replay import replay
from querytape.servers.sandbox import Server

from tests.conftest import skip_loudly
from tests.helpers.relay import Relay
from tests.helpers.whole import accounting, options

from .programs import DRIVERS, HERE

LOGS = {"general_log": "general.log", "slow_query_log": "slow.log"}
TABLES = ("items", "large", "steps", "loaded")
# For each command name on the tape, its name in the general log.
COMMANDS = {
    "query": "Query",
    "prepare": "Prepare",
    "execute": "Execute",
    "bulk_execute": "Execute",
    "close_stmt": "Close stmt",
    "long_data": "Long Data",
    "init_db": "Init DB",
}
# An entry of the general log: an optional time, the connection id, and the command.
ENTRY = re.compile(
    rb"^(?:\d{6} +\d+:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+Z)?\t+ *(\d+) (Connect|Quit|%s|Reset stmt|Change user"
    rb"|Reset Connection|Set option|Ping|Statistics|Fetch|Bulk_execute)(?:\t|\n|$)"
    % "|".join({*COMMANDS.values()}).encode(),
    re.M,
)
# Statements that the server logs a second time under the name of a protocol command.
LOGGED_TWICE = {b"PREPARE": "Prepare", b"EXECUTE": "Execute", b"DEALLOCATE": "Close stmt"}
# Commands that the server logs without a text, or with values in place of `?`.
WITHOUT_TEXT = ("Execute", "Close stmt", "Long Data")


@dataclass(frozen=True)
class Said:
    """A command of a connection: its name in the general log, its text, and whether it failed. None means unknown."""

    command: str
    text: bytes
    failed: bool | None = None


@pytest.fixture(params=("mariadb", "mysql80"))
def pair(request: pytest.FixtureRequest, server_factory: Callable[..., Server]) -> tuple[Server, Server]:
    """Start two equal servers with the empty tables of the workload."""
    made = []
    for _ in range(2):
        server = server_factory(request.param, {"local-infile": "ON", "max-allowed-packet": "64M"})
        fresh(server)
        for log in ("general_log", "slow_query_log"):
            server.execute(f"SET GLOBAL {log}_file = '{server.datadir / LOGS[log]}'")
        made.append(server)
    return made[0], made[1]


def fresh(server: Server) -> None:
    """Create the empty tables of the workload."""
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
    for statement in re.split(r";\n(?=CREATE)", (HERE / "schema.sql").read_text(encoding="utf-8")):
        server.execute(statement, "shop")


def run(name: str, port: int) -> None:
    """Run the program of a driver against a port."""
    env = {"QT_HOST": "127.0.0.1", "QT_PORT": str(port), "QT_USER": "root", "QT_PASSWORD": "", "QT_DB": "shop"}
    done = subprocess.run(DRIVERS[name].command, env=os.environ | env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]


def log_entries(server: Server) -> Iterator[tuple[int, str, bytes]]:
    """Yield (connection id, command, text) of each entry in the server's general log."""
    log = (server.datadir / LOGS["general_log"]).read_bytes()
    entries = list(ENTRY.finditer(log))
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        text = log[entry.end() : following.start() if following else None].removesuffix(b"\n")
        yield int(entry[1]), entry[2].decode(), text.strip()


def logged(server: Server) -> dict[int, list[Said]]:
    """Return the commands in the server's general log, grouped by connection."""
    said: dict[int, list[Said]] = defaultdict(list)
    for connection, command, text in log_entries(server):
        if command in COMMANDS.values():
            said[connection].append(Said(command, b"" if command in WITHOUT_TEXT else text))
    return said


def record_logs(server: Server, on: bool) -> None:
    """Enable or disable the server's general log and slow log. The slow log then contains every statement."""
    server.execute("SET GLOBAL long_query_time = 0")
    for log in LOGS:
        server.execute(f"SET GLOBAL {log} = {'ON' if on else 'OFF'}")


def ran(server: Server, threads: Container[int]) -> dict[int, list[bytes]]:
    """Return the executed statements with their values from the server's general log, grouped by connection."""
    statements: dict[int, list[bytes]] = defaultdict(list)
    for connection, command, text in log_entries(server):
        if connection in threads and command in ("Query", "Execute"):
            statements[connection].append(bare(text))
    return statements


def ran_on_tape(tape: Path, threads: Container[int]) -> dict[int, list[bytes]]:
    """Return the executed statements with their values from the tape of a log, grouped by connection."""
    statements: dict[int, list[bytes]] = defaultdict(list)
    with duckdb.connect() as con:
        for thread, text in con.execute(
            f"SELECT thread_id, statement FROM '{tape}/events/*.parquet'"
            " WHERE command IN ('query', 'execute', 'bulk_execute') ORDER BY session, seq"
        ).fetchall():
            if thread in threads:
                statements[thread].append(bare(bytes(text)))
    return statements


def bare(text: bytes) -> bytes:
    """Return a statement as the slow log writes it, without surrounding blanks and final semicolons."""
    return text.strip().rstrip(b";").rstrip()


def taped(tape: Path) -> dict[int, list[Said]]:
    """Return the commands of a tape, grouped by connection."""
    said: dict[int, list[Said]] = defaultdict(list)
    with duckdb.connect() as con:
        for thread, command, text, db, errno in con.execute(
            f"SELECT thread_id, command, statement, db, errno FROM '{tape}/events/*.parquet' ORDER BY session, seq"
        ).fetchall():
            if command in COMMANDS:
                word = COMMANDS[command]
                shown = (
                    b"" if word in WITHOUT_TEXT else (db or "").encode() if word == "Init DB" else bytes(text).strip()
                )
                said[thread].append(Said(word, shown, bool(errno)))
    return said


def differences(on_tape: list[Said], in_log: list[Said]) -> Iterator[str]:
    """Yield the differences between the tape and the general log, except these known ones:

    - The server logs the parts of a multi-statement separately.
    - MySQL does not log a PREPARE that failed.
    - The server does not log the closing of a statement that a connection reset has already closed.
    - MySQL 8 prepares a statement again if the types of its values change, and logs that.
    - PREPARE and EXECUTE as text are logged both as text and as a command. MySQL truncates the text.
    """
    rest = list(in_log)
    prepared: set[bytes] = set()
    for said in on_tape:
        if said.command == "Prepare":
            prepared.add(said.text)
        while said.command == "Execute" and rest and rest[0].command == "Prepare" and rest[0].text in prepared:
            rest.pop(0)
        if said.command == "Prepare" and said.failed and (not rest or rest[0] != Said("Prepare", said.text)):
            continue
        if said.command == "Close stmt" and (not rest or rest[0].command != "Close stmt"):
            continue
        if not rest:
            yield f"not in the log: {said}"
            continue
        parts = rest.pop(0)
        text = parts.text
        while said.command == parts.command == "Query" and text != said.text and said.text.startswith(text) and rest:
            text += said.text[len(text) : said.text.find(rest[0].text, len(text))] + rest.pop(0).text
        if twice := LOGGED_TWICE.get(said.text.split(b" ")[0].upper() if said.command == "Query" else b""):
            text = said.text if text.endswith(b"...") and said.text.startswith(text[:-3]) else text
            if rest and rest[0].command == twice:
                rest.pop(0)
        if (said.command, said.text) != (parts.command, text):
            yield f"on the tape {said}, in the log {Said(parts.command, text)}"
            return
    yield from (f"not on the tape: {said}" for said in rest)


def contents(server: Server) -> dict[str, list[tuple[object, ...]]]:
    return {table: sorted(server.execute(f"SELECT * FROM shop.{table}"), key=repr) for table in TABLES}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(DRIVERS))
def test_driver_workload_is_captured_and_replayed(
    name: str, pair: tuple[Server, Server], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The test captures packets, the general log and the slow log. The replay of each tape ends with the same tables."""
    if why := DRIVERS[name].build():
        skip_loudly(request, f"the driver {name} is not tried: {why}")
    original, target = pair
    record_logs(original, on=True)
    with Relay(original.port) as relay:
        run(name, relay.port)
    record_logs(original, on=False)
    in_log = logged(original)
    pcap = relay.write(tmp_path / "driver.pcap")
    info = capture(pcap, tmp_path / "a.tape", "packets", Settings(extra={"port": (3306,)})).info
    assert info["counts"]["problems"] == 0, info["problems"]
    on_tape = taped(tmp_path / "a.tape")
    assert on_tape
    for thread, said in on_tape.items():
        assert list(differences(said, in_log[thread])) == []
    summary = replay(
        tmp_path / "a.tape",
        options(target, tmp_path / "a.run", commit_order=True, allow_statements=frozenset({"load_data"})),
    )
    accounting(summary)
    reasons = summary.info["accounting"]["reasons"]
    reasons["skipped"].pop("nothing_to_close", None)  # a reset has already closed the statement, or its PREPARE failed
    assert reasons == {"skipped": {"connect_by_replayer": summary.info["sessions"]["opened"]}}, reasons
    expected, found = contents(original), contents(target)
    for table in TABLES:
        assert found[table] == expected[table], table
    compare_logs(original, target, tmp_path, on_tape)


def compare_logs(original: Server, target: Server, tmp_path: Path, threads: Container[int]) -> None:
    """Check that tapes of the server's logs have the executed statements, and that replays end with the same tables.
    Both logs show executions with their values, so the executed statements of each connection are compared. The logs
    lack the file of a LOAD DATA LOCAL. MariaDB's logs also lack the values of a bulk execution. Both kinds of
    statements are counted as skipped.
    """
    want, expected = ran(original, threads), contents(original)
    for source, log in (("general", "general_log"), ("slowlog", "slow_query_log")):
        tape = tmp_path / f"{source}.tape"
        info = capture(original.datadir / LOGS[log], tape, source).info
        assert info["counts"]["problems"] == 0, info["problems"]
        got = ran_on_tape(tape, threads)
        ran_there = {t: texts if source == "general" else without_execute(texts) for t, texts in want.items()}
        assert {t: list(not_equal(texts, got[t])) for t, texts in ran_there.items()} == {t: [] for t in want}, source
        fresh(target)
        summary = replay(tape, options(target, tmp_path / f"{source}.run", commit_order=True))
        accounting(summary)
        assert 1064 not in summary.errors, (source, summary.errors)
        skipped = summary.info["accounting"]["reasons"]["skipped"]
        found = contents(target)
        assert found["loaded"] == expected["loaded"] or skipped["danger:load_data"] > 0
        for table in set(TABLES) - {"loaded"}:
            if not skipped.get("placeholder"):
                assert found[table] == expected[table], (source, table)


def without_execute(statements: list[bytes]) -> list[bytes]:
    """Return the statements without the text of each EXECUTE. The slow log contains only the prepared statement that an
    EXECUTE runs.
    """
    return [text for text in statements if not text.upper().startswith(b"EXECUTE ")]


def not_equal(want: list[bytes], got: list[bytes]) -> Iterator[str]:
    """Yield the differences between two lists of statements. In `got`, the parts of a multi-statement may be separate."""
    rest = list(got)
    for text in want:
        at = 0
        while at < len(text) and rest and (found := text.find(rest[0], at)) in (at, at + 1, at + 2):
            at = found + len(rest.pop(0))
        if text[at:].strip(b"; "):
            yield f"in the log {text[:200]!r}, on the tape {(rest[0] if rest else b'')[:200]!r}"
            return
    yield from (f"only on the tape: {text[:200]!r}" for text in rest)
