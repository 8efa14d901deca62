# SPDX-License-Identifier: Apache-2.0
"""Tapes in the formats of other programs. The exported files contain the data of the tape."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.tools.export import export

from tests.helpers.duck import query

from ...conftest import skip_loudly
from ...helpers.dialogue import Dialogue, err, ok, rows, write_pcap

pytestmark = pytest.mark.slow


def make_tape(tmp_path: Path) -> Path:
    """Return a tape of packets with 31 statements. Three of the statements fail, and one contains invalid UTF-8."""
    dialogue = Dialogue().logged_in()
    for n in range(30):
        answer = err(1, 1146, b"no table") if n % 10 == 0 else rows([b"x"] * n) if n % 2 else ok(1, affected=n)
        dialogue.ask(b"SELECT %d FROM t WHERE a = 'it''s\n%d;'" % (n, n), answer)
    dialogue.ask(b"SELECT '\xff\x00\xe4'", rows([b"1"])).close()
    path = write_pcap(tmp_path / "a.pcap", [dialogue])
    capture_source(SOURCES["packets"], [str(path)], tmp_path / "a.tape", Settings())
    return tmp_path / "a.tape"


def written(tape: Path, format_: str, tmp_path: Path) -> bytes:
    """Return the output of an export."""
    out = io.BytesIO()
    (tmp_path / "work").mkdir(exist_ok=True)
    export(tape, format_, out, tmp_path / "work")
    return out.getvalue()


def statements(tape: Path) -> list[tuple[Any, ...]]:
    """Return the event columns that a slow log can contain."""
    return query(
        'SELECT command, statement, "user", host, db, thread_id, coalesce(duration_ns, 0) // 1000, coalesce(errno, 0),'
        f" coalesce(rows_sent, 0) FROM '{tape}/events/*.parquet' WHERE command <> 'connect' ORDER BY session, seq"
    )


def test_exported_slow_log_gives_the_same_tape(tmp_path: Path) -> None:
    """The test compares statement bytes, accounts, times, errors and row counts."""
    tape = make_tape(tmp_path)
    (tmp_path / "a.log").write_bytes(written(tape, "slowlog", tmp_path))
    info = capture_source(SOURCES["slowlog"], [str(tmp_path / "a.log")], tmp_path / "b.tape", Settings())
    assert info["problems"] == {}
    assert statements(tmp_path / "b.tape") == statements(tape)
    assert len(statements(tape)) == 32


def test_pt_query_digest_agrees_with_the_exported_log(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Percona's tool reports the same number of queries and the same total time as the tape."""
    program = shutil.which("pt-query-digest")
    if program is None:
        skip_loudly(request, "no pt-query-digest (package percona-toolkit): exported slow logs are not tried with it")
    tape = make_tape(tmp_path)
    (tmp_path / "a.log").write_bytes(written(tape, "slowlog", tmp_path))
    command = [str(program), "--output", "json", "--limit", "100%", "--no-version-check", str(tmp_path / "a.log")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = json.loads(re.sub(r"^[^{]*", "", done.stdout, count=1))
    counted = found["global"]["query_count"]
    seconds = float(found["global"]["metrics"]["Query_time"]["sum"])
    events, total = query(
        f"SELECT count(*), sum(duration_ns) / 1e9 FROM '{tape}/events/*.parquet' WHERE command <> 'connect'"
    )[0]
    assert counted == events
    assert seconds == pytest.approx(total, abs=1e-6 * events)


def test_exported_tables_have_every_event(tmp_path: Path) -> None:
    """CSV and JSON lines files have one row per event. Text is readable, and other bytes are escaped."""
    tape = make_tape(tmp_path)
    table = list(csv.DictReader(io.StringIO(written(tape, "csv", tmp_path).decode())))
    lines = [json.loads(line) for line in written(tape, "jsonl", tmp_path).splitlines()]
    assert len(table) == len(lines) == 33
    assert table[2]["statement"] == lines[2]["statement"] == "SELECT 1 FROM t WHERE a = 'it''s\n1;'"
    assert "\\xFF" in lines[31]["statement"]
    assert lines[1]["errno"] == 1146


def test_exported_sql_has_only_the_statements(tmp_path: Path) -> None:
    """A semicolon follows each exported statement. The bytes of the statement do not change."""
    text = written(make_tape(tmp_path), "sql", tmp_path)
    assert text.startswith(b"SELECT 0 FROM t WHERE a = 'it''s\n0;';\nSELECT 1 FROM")
    assert text.endswith(b"SELECT '\xff\x00\xe4';\n")


def test_export_writes_to_a_file_or_standard_output(tmp_path: Path) -> None:
    """`-o` creates a private file and never overwrites an existing file. Without `-o`, the export is written to
    standard output.
    """
    tape = make_tape(tmp_path)
    command = [sys.executable, "-m", "querytape", "export", str(tape)]
    file = tmp_path / "x.log"
    done = subprocess.run([*command, "-o", str(file)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    again = subprocess.run([*command, "-o", str(file)], capture_output=True, text=True, timeout=60)
    assert again.returncode == 1
    assert "already exists" in again.stderr
    piped = subprocess.run(command, capture_output=True, timeout=60)
    assert piped.stdout == file.read_bytes()
