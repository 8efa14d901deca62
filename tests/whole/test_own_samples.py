# SPDX-License-Identifier: Apache-2.0
"""Recordings of our own of each server, in tests/samples/: each statement that was sent is on the tape, and nothing else.

`make samples` makes them; scripts/make_samples.py says what was sent. They need no server and nothing outside of a clone.
"""

import contextlib
import json
import random
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from querytape.capture import SOURCES, Settings, detect_source
from querytape.cli.commands.capture import capture_group
from querytape.common.errors import InputError, NativeFault
from querytape.scripts.make_samples import FAILING, SERVERS, SESSIONS, STATEMENTS, statements

from .test_samples import damaged, read

FOLDER = Path(__file__).resolve().parent.parent / "samples"
KNOWN = json.loads((FOLDER / "samples.json").read_text(encoding="utf-8"))
KINDS = {"slow.log": "slowlog", "general.log": "general", "pcap": "packets"}
FILES = [(server, end) for server in SERVERS for end in KINDS]
NOT_OURS = ("SET NAMES", "SET GLOBAL")  # of the driver, and of who switched the log on and off


def port_of(server: str, end: str) -> list[int]:
    """Return the port of a capture file's server."""
    return [KNOWN[server]["port"]] if end == "pcap" else []


def tape_of(server: str, end: str, folder: Path) -> list[tuple[str, int, int | None]]:
    """Capture a file and return its statements with session and error number; nothing may be not understood."""
    tape = folder / "x.tape"
    ports = [word for port in port_of(server, end) for word in ("--port", str(port))]
    done = CliRunner().invoke(capture_group, [KINDS[end], str(FOLDER / f"{server}.{end}"), *ports, "-o", str(tape)])
    assert done.exit_code == 0, done.output
    with duckdb.connect() as con:
        assert con.execute(f"SELECT count(*) FROM '{tape}/problems.parquet'").fetchone() == (0,)
        rows = con.execute(
            f"SELECT statement::BLOB, session, errno FROM '{tape}/events/*.parquet' WHERE statement IS NOT NULL"
        ).fetchall()
    return [(bytes(text).decode(), session, errno) for text, session, errno in rows]


def expected(server: str, kind: str) -> "Counter[str]":
    """Return what has to be on the tape: packets have what was sent, logs what the server makes of it.

    A server runs `EXECUTE p` as the statement that was prepared: the slow log has that alone, the general log both. MySQL
    hides the text of PREPARE in the general log, since 8.0 in the slow log, too. Logs end a statement without its last
    newline.
    """
    found: list[str] = []
    hides = server.startswith("mysql") and (kind == "general" or server != "mysql-5.7")
    for session in range(1, SESSIONS + 1):
        for text in statements(session):
            if kind == "packets":
                found.append(text)
            elif "PREPARE p FROM" in text:
                found.append("PREPARE p FROM ..." if hides else text)
                found += ["SELECT id FROM t WHERE id = ?"] if kind == "general" else []
            elif "EXECUTE p" in text:
                found += [f"SELECT id FROM t WHERE id = {session}00", *([text] if kind == "general" else [])]
            else:
                found.append(text.rstrip("\n"))
    return Counter(found)


@pytest.mark.sampled
@pytest.mark.parametrize(("server", "end"), FILES)
def test_each_statement_is_on_the_tape(server: str, end: str, tmp_path: Path) -> None:
    """Known by its first bytes; every statement once, as it was sent, and no other; each session's apart."""
    assert detect_source(str(FOLDER / f"{server}.{end}"), SOURCES.values()).name == KINDS[end]
    rows = tape_of(server, end, tmp_path)
    assert Counter(text for text, _, _ in rows if not text.startswith(NOT_OURS)) == expected(server, KINDS[end])
    pairs = {(text[:5], session) for text, session, _ in rows if text.startswith("/* s")}
    assert len(pairs) == len({session for _, session in pairs}) == SESSIONS


@pytest.mark.parametrize("server", SERVERS)
def test_packets_have_the_error_of_the_failed_statement_and_no_other(server: str, tmp_path: Path) -> None:
    rows = tape_of(server, "pcap", tmp_path)
    found = {(text[4], int(text[6:8])): errno for text, _, errno in rows if text.startswith("/* s")}
    sessions = [str(1 + number) for number in range(SESSIONS)]
    numbers = range(len(STATEMENTS))
    assert found == {(s, n): 1146 if n in FAILING else 0 for s in sessions for n in numbers}


@pytest.mark.long
@pytest.mark.parametrize(("server", "end"), FILES)
def test_a_damaged_recording_gives_our_errors_only(server: str, end: str, tmp_path: Path) -> None:
    """Cut and turned bits: fewer events or problems, or a sentence; never a crash or a hang."""
    data, state = (FOLDER / f"{server}.{end}").read_bytes(), random.Random(server + end)
    settings = Settings(extra={"port": tuple(port_of(server, end))})
    for _ in range(25):
        bad = tmp_path / "bad"
        bad.write_bytes(damaged(data, state))
        with contextlib.suppress(NativeFault, InputError):
            events, _ = read(SOURCES[KINDS[end]].open([str(bad)], settings))
            assert events <= len(data) // 4


def test_recordings_name_no_place_of_this_machine() -> None:
    """The folder of a server's program is not in them; they are small."""
    for server, end in FILES:
        data = (FOLDER / f"{server}.{end}").read_bytes()
        assert b"/home/" not in data
        assert b".servers/" not in data
        assert len(data) < 32_000
