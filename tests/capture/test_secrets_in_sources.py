# SPDX-License-Identifier: Apache-2.0
"""A password in a statement appears in no file of a tape and in no output. This holds for each kind of log, even if the
log is cut at any place.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.source import SourceKind
from querytape.common.errors import QuerytapeError

from tests.helpers.command_line import run_here
from tests.helpers.duck import query
from tests.helpers.log_writers import KINDS, NATIVE
from tests.helpers.reading import read_all, read_quickly
from tests.helpers.tiers import mostly_long

pytestmark = pytest.mark.slow

SECRET = "zqkvbnmw"
STATEMENTS = [
    f"CREATE USER bob IDENTIFIED BY '{SECRET}'",
    f"SET PASSWORD FOR 'bob'@'%' = PASSWORD('{SECRET}')",
    f"GRANT ALL ON *.* TO bob IDENTIFIED BY {SECRET}",
    f"CHANGE MASTER TO MASTER_PASSWORD = '{SECRET}', MASTER_USER = 'r'",
    f"SELECT AES_DECRYPT(c, '{SECRET}') FROM t",
    f"WITH k AS (SELECT '{SECRET}' AS v) SELECT AES_DECRYPT(c, v) FROM t, k",
    f"SELECT '{SECRET}' INTO @password",
    f"SET @api_key = '{SECRET}'",
    f"SELECT /*+ SET_VAR(my_password = '{SECRET}') */ 1 FROM t",
    f"SELECT /* password={SECRET} */ 1 FROM t",
    f"PREPARE p FROM 'ALTER USER bob IDENTIFIED BY \"{SECRET}\"'",
    f"CREATE TABLE f (a INT) ENGINE=FEDERATED CONNECTION='mysql://u:{SECRET}@h/d/t'",
    f"CREAT USER bob IDENTIFIED BY '{SECRET}'",
    f"SELECT 1; ALTER USER bob IDENTIFIED BY '{SECRET}'",
    f"CALL mysql.rds_set_external_master('h', 3306, 'u', '{SECRET}', 'f', 1, 0)",
]
PLAIN = ["SELECT a FROM t WHERE b = 'plain'", "UPDATE t SET a = 7 WHERE b = 'plain'"]
FOUND_BY_ITS_BEGINNING = 6  # number of first letters that are enough to recognize the secret


def opened(name: str, path: Path) -> tuple[SourceKind, Settings]:
    """Return the kind of a log and the settings to open it."""
    kind, _, options = KINDS[name]
    return SOURCES[kind], Settings(timezone_ns=0, extra=options)


def all_texts(tape: Path) -> Iterator[tuple[str, str]]:
    """Yield each file of a tape with its complete content."""
    for path in sorted(tape.rglob("*")):
        if path.suffix == ".parquet":
            rows = query(f"FROM '{path}'")
            yield path.name, repr(rows)
        elif path.is_file():
            yield path.name, path.read_bytes().decode("utf-8", "replace")


@pytest.mark.sampled
@pytest.mark.parametrize("name", mostly_long(KINDS, "slow", "general", "audit"))
def test_tape_files_and_outputs_have_no_password(name: str, tmp_path: Path) -> None:
    """The test checks every file of the tape, and the output of every command that shows a tape."""
    log, tape = tmp_path / "log", tmp_path / "t.tape"
    log.write_bytes(KINDS[name][1]([text.encode() for text in STATEMENTS + PLAIN]))
    kind, settings = opened(name, log)
    info = capture_source(kind, [str(log)], tape, settings)
    assert info["counts"]["events"] == len(STATEMENTS + PLAIN)
    texts = dict(all_texts(tape))
    assert any("plain" in text for text in texts.values())
    assert [file for file, text in texts.items() if SECRET in text] == []
    for words in (
        ("inspect", "--samples"),
        ("inspect", "--samples", "--json"),
        ("inspect", "--samples", "--html", str(tmp_path / "page.html")),
        *(("export", "--format", form) for form in ("slowlog", "csv", "jsonl", "sql")),
    ):
        done = run_here(words[0], str(tape), *words[1:])
        assert done.code in (0, 4), done.err
        assert SECRET not in done.out + done.err, words
        assert "plain" in done.out or words[0] == "inspect", words
    page = (tmp_path / "page.html").read_text()
    assert SECRET not in page
    assert "plain" in page


@pytest.mark.parametrize("name", mostly_long(KINDS, "slow"))
def test_cut_log_reveals_no_password(name: str, tmp_path: Path) -> None:
    """The log ends at any place after the keyword that precedes the secret. Events and problems show at most the first
    letters of the secret.
    """
    log = tmp_path / "log"
    told: list[str] = []
    # The quoting of a CSV file is guessed from its rows. The guess may be wrong if the only row is cut.
    cut = STATEMENTS[:4] + STATEMENTS[7:8] + STATEMENTS[11:14] + (STATEMENTS[4:5] if name != "csv" else [])
    for statement in cut:
        whole = KINDS[name][1]([statement.encode()])
        begin = whole.rindex(SECRET.encode())
        for at in (*range(begin, begin + len(SECRET) + 3), len(whole) - 1):
            log.write_bytes(whole[:at])
            kind, settings = opened(name, log)
            try:
                found = read_all(kind.open([str(log)], settings))
                text = repr(found.events) + repr(found.problems) + json.dumps(found.description)
            except Exception as error:
                text = str(error)
            if SECRET[:FOUND_BY_ITS_BEGINNING] in text:
                told.append(f"{statement} at {at}: {text}")
    assert told == []


STRAY = (
    f" '{SECRET}'",
    f'x = "{SECRET}", y',
    f"SET PASSWORD FOR u {SECRET}",
    f"SET PASSWORD = '{SECRET}'",
    f"CREATE USER a@b IDENTIFIED BY '{SECRET}'",
    f"ALTER USER a IDENTIFIED BY '{SECRET}",
    f"20240610 06:13:36,srv,u,h,2 BY '{SECRET}'",
    f'2024-06-1 ALTER USER u ATTRIBUTE \'{{"pin": "{SECRET}"}}\'',
)


def result_or_error(read: Callable[[], object]) -> str:
    """Return the result of reading the log, or the text of the error."""
    try:
        return repr(read())
    except QuerytapeError as error:
        return str(error)


@pytest.mark.parametrize("name", NATIVE)
def test_foreign_line_reveals_no_password(name: str, tmp_path: Path) -> None:
    """A line that belongs to no record is inserted at any place of the log. The line may be the rest of a statement."""
    log, (open_log, write) = tmp_path / "log", NATIVE[name]
    lines = write([b"SELECT 1", b"SELECT 2"]).splitlines(keepends=True)
    for number, stray in enumerate(STRAY):
        for at in range(len(lines) + 1):
            log.write_bytes(b"".join([*lines[:at], stray.encode(), b"\n", *lines[at:]]))
            assert SECRET not in result_or_error(lambda: read_quickly(open_log([str(log)])).problems), (stray, at)
        log.write_bytes(f"{stray}\n".encode() + b"".join(lines))
        source, tape = opened(name, log), tmp_path / str(number)
        assert SECRET not in result_or_error(partial(capture_source, source[0], [str(log)], tape, source[1])), stray


@pytest.mark.parametrize("name", ["slow", "general"])
def test_unclosed_quote_reveals_no_password(name: str, tmp_path: Path) -> None:
    """No event and no problem shows the password, even if the next statement becomes part of the literal."""
    open_log, write = NATIVE[name]
    (tmp_path / "log").write_bytes(write([f"CREATE USER a@b IDENTIFIED BY '{SECRET}".encode(), b"SELECT 1"]))
    read = read_all(open_log([tmp_path / "log"]))
    assert "unbalanced_quote" in read.kinds
    assert SECRET not in repr(read.problems) + repr(read.events)
