# SPDX-License-Identifier: Apache-2.0
"""The project's own recordings of each server in tests/samples/. Each statement that was sent is on the tape exactly
once. `make samples` makes the recordings, and scripts/make_samples.py lists the statements. The tests need no server
and no files outside the repository.
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
NOT_OURS = ("SET NAMES", "SET GLOBAL")  # statements that the driver and the recording script send


def port_of(server: str, end: str) -> list[int]:
    """Return the server port of a capture file. Return an empty list for a log."""
    return [KNOWN[server]["port"]] if end == "pcap" else []


def tape_of(server: str, end: str, folder: Path) -> list[tuple[str, int, int | None]]:
    """Capture a file and check that it has no problems. Return the statements with session and error number."""
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
    """Return the statements expected on the tape. For packets these are the sent texts, and for logs the texts that the
    server logs. For `EXECUTE p`, the server runs the prepared statement. The slow log has only the prepared statement,
    and the general log has both statements. MySQL hides the text of PREPARE in the general log. MySQL 8.0 and later
    also hide this text in the slow log. Logs omit a newline at the end of a statement.
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
def test_each_statement_of_a_recording_is_on_the_tape_once(server: str, end: str, tmp_path: Path) -> None:
    """The kind of source is detected, and each session has its own statements."""
    assert detect_source(str(FOLDER / f"{server}.{end}"), SOURCES.values()).name == KINDS[end]
    rows = tape_of(server, end, tmp_path)
    assert Counter(text for text, _, _ in rows if not text.startswith(NOT_OURS)) == expected(server, KINDS[end])
    pairs = {(text[:5], session) for text, session, _ in rows if text.startswith("/* s")}
    assert len(pairs) == len({session for _, session in pairs}) == SESSIONS


@pytest.mark.parametrize("server", SERVERS)
def test_packets_show_the_error_of_each_failed_statement(server: str, tmp_path: Path) -> None:
    rows = tape_of(server, "pcap", tmp_path)
    found = {(text[4], int(text[6:8])): errno for text, _, errno in rows if text.startswith("/* s")}
    sessions = [str(1 + number) for number in range(SESSIONS)]
    numbers = range(len(STATEMENTS))
    assert found == {(s, n): 1146 if n in FAILING else 0 for s in sessions for n in numbers}


@pytest.mark.long
@pytest.mark.parametrize(("server", "end"), FILES)
def test_damaged_recording_raises_only_known_errors(server: str, end: str, tmp_path: Path) -> None:
    """The recording is truncated and has flipped bits. The capture may give fewer events, problems or an error message.
    It must not crash or hang.
    """
    data, state = (FOLDER / f"{server}.{end}").read_bytes(), random.Random(server + end)
    settings = Settings(extra={"port": tuple(port_of(server, end))})
    for _ in range(25):
        bad = tmp_path / "bad"
        bad.write_bytes(damaged(data, state))
        with contextlib.suppress(NativeFault, InputError):
            events, _ = read(SOURCES[KINDS[end]].open([str(bad)], settings))
            assert events <= len(data) // 4


def test_recordings_are_small_and_contain_no_local_paths() -> None:
    for server, end in FILES:
        data = (FOLDER / f"{server}.{end}").read_bytes()
        assert b"/home/" not in data
        assert b".servers/" not in data
        assert len(data) < 32_000
