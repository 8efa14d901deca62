# SPDX-License-Identifier: Apache-2.0
"""Stand-ins: same shape, same value same stand-in, two values never the same, nothing of the original left."""

import json
import re
import struct
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from querytape.capture.tools.redact import new_key, read_key, redact
from querytape.cli import group
from querytape.errors import InputError
from querytape.native.standins import Standins
from querytape.native.statements import Normalizer

from tests.tapes import make_tape

KEY = bytes(range(16))


def replaced(values: list[bytes], kind: str = "s", key: bytes = KEY) -> list[bytes]:
    """Return the stand-ins of statements (s), parameters (p), messages (m) or values (t)."""
    text = kind in "mt"
    with duckdb.connect() as con, duckdb.connect() as other:
        con.execute("SET arrow_large_buffer_size = true")
        con.execute(f"CREATE TABLE given (n BIGINT, v {'VARCHAR' if text else 'BLOB'})")
        listed = [v.decode() if text else v for v in values]
        con.execute("INSERT INTO given SELECT unnest(?), unnest(?)", [list(range(len(listed))), listed])
        stream = Standins(key).replace(con.sql("SELECT n, v FROM given ORDER BY n"), "l" + kind)
        other.register("found", stream)
        rows = other.execute("SELECT c1 FROM found ORDER BY c0").fetchall()
        stream.close()
    return [row[0].encode() if text else bytes(row[0]) for row in rows]


def shape(value: bytes) -> bytes:
    """Return letters as a and A, digits as 0."""
    return re.sub(rb"[0-9]", b"0", re.sub(rb"[A-Z]", b"A", re.sub(rb"[a-z]", b"a", value)))


@pytest.mark.parametrize(
    "sql",
    [
        b"SELECT * FROM t1 WHERE email = 'Bob.Smith@example.com' AND id = 4711",
        b"INSERT INTO users (name) VALUES (\"O\\'Hara\"), ('it''s \\n me')",
        b"SELECT /* order 123 of bob */ 1234.5e10, -77, x'4D79', 0xDEADBEEF, b'0101' -- secret words",
        b"UPDATE t SET a = N'text', b = _latin1'\xe9\xff', c = '\xc3\xa9\xe4\xb8\xad' WHERE c IN (12, 345, 6789)",
        b"SET @mail = 'bob@example.com'",
    ],
)
def test_values_change_and_nothing_else(sql: bytes) -> None:
    """Length and digest stay; no word of four letters and no number of three digits of a value is left."""
    (found,) = replaced([sql])
    normalizer = Normalizer()
    assert len(found) == len(sql)
    assert normalizer.normalize(found).digest == normalizer.normalize(sql).digest
    assert found != sql
    for secret in (b"Bob", b"Smith", b"example", b"4711", b"Hara", b"123 of", b"secret", b"4D79", b"DEADBEEF", b"6789"):
        assert secret not in found


@pytest.mark.parametrize(
    "sql",
    [
        b"SELECT a FROM t WHERE f = 1 ORDER BY 2 LIMIT 20 OFFSET 1000",
        b"SELECT a FROM t LIMIT 100, 2000",
        b"SELECT NOW() - INTERVAL 30 DAY, DATE_FORMAT(d, '%Y-%m-%d'), j->'$.name'",
        b"SET NAMES 'utf8mb4', sql_mode = 'STRICT_ALL_TABLES', time_zone = '+02:00'",
        b"CREATE TABLE t1 (a VARCHAR(80), b DECIMAL(10, 2))",
        b"SELECT /*+ MAX_EXECUTION_TIME(1000) */ a FROM t",
        b"SELECT `col 12`, t99.c3 FROM t99",
    ],
)
def test_structure_stays(sql: bytes) -> None:
    """Names, limits, intervals, formats, paths, settings and lengths of columns are no values."""
    assert replaced([sql]) == [sql]


def test_the_same_value_has_the_same_stand_in_wherever_it_stands() -> None:
    """In single and double quotes, bare, in a list, bound as a parameter, and in an error's text."""
    text, message = b"4711007", b"Duplicate entry '4711007' for key"
    (standin,) = replaced([text], "t")
    sql = replaced([b"SELECT 4711007", b"SELECT '4711007'", b'SELECT 5 IN ("4711007", 8)'])
    assert sql == [b"SELECT " + standin, b"SELECT '" + standin + b"'", b'SELECT 5 IN ("' + standin + b'", 8)']
    assert standin in replaced([message], "m")[0]
    head = b"E\1\0\1\0\0\0\0\1"
    bound = replaced([head + b"\3\0" + struct.pack("<i", 4711007), head + b"\xfd\0\7" + text], "p")
    assert bound == [head + b"\3\0" + struct.pack("<i", int(standin)), head + b"\xfd\0\7" + standin]


def test_another_key_gives_other_stand_ins() -> None:
    """What one key made says nothing under another."""
    assert replaced([b"Bob Smith"], "t") == replaced([b"Bob Smith"], "t")
    assert replaced([b"Bob Smith"], "t") != replaced([b"Bob Smith"], "t", bytes(16))


@pytest.mark.parametrize(
    "values",
    [
        [str(n) for n in range(30_000)],
        [f"-{n}" for n in range(5000)],
        [f"{a}{b}{c}" for a in "abcdefghijklmnop" for b in "xyz" for c in "ABCDEFGHIJ"],
        [f"user{n}@example.com" for n in range(3000)],
        [f"2024-{m:02}-{d:02} {h:02}:59:00" for m in range(1, 13) for d in range(1, 29) for h in range(24)],
        [f"{n:016x}" for n in range(3000)],
    ],
)
def test_two_values_never_share_one(values: list[str]) -> None:
    """What was unique stays unique, and has the shape that it had."""
    found = replaced([value.encode() for value in values], "t")
    assert len(set(found)) == len(values)
    if "0000000000000000" not in values:
        assert all(shape(f) == shape(v.encode()) for f, v in zip(found, values, strict=True))


def test_numbers_fit_what_they_fitted() -> None:
    """Sign and first digit stay, and no number grows out of its integer type."""
    largest = [127, 255, 32767, 65535, 8388607, 16777215, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1]
    numbers = sorted({n for top in largest for n in (top, top - 1, top // 2, top // 3)})
    for number, found in zip(numbers, replaced([str(n).encode() for n in numbers], "t"), strict=True):
        assert found[:1] == str(number).encode()[:1]
        assert [int(found) <= top for top in largest] == [number <= top for top in largest]


def test_dates_stay_dates() -> None:
    """The year stays, and each is a day that there is."""
    days = [date.fromordinal(n) for n in range(date(2023, 12, 1).toordinal(), date(2025, 1, 31).toordinal())]
    found = replaced([day.isoformat().encode() for day in days], "t")
    assert [date.fromisoformat(f.decode()).year for f in found] == [day.year for day in days]


def test_json_stays_json() -> None:
    """Punctuation, true, false and null stay."""
    value = b'{"name": "Bob", "tall": true, "cars": null, "sizes": [1.5e10, 20, 0.001]}'
    (found,) = replaced([value], "t")
    assert list(json.loads(found).values())[1:3] == [True, None]
    assert b"Bob" not in found


def test_bound_dates_and_reals() -> None:
    """Binary values of each kind stay values of that kind."""
    moment = struct.pack("<BHBBBBBI", 11, 1999, 12, 24, 23, 58, 57, 123456)
    span = struct.pack("<BBIBBBI", 12, 1, 3, 20, 30, 40, 5)
    values = struct.pack("<d", 1234.5678) + struct.pack("<f", -9.75) + moment + span + struct.pack("<q", -(2**62))
    params = b"E\5\0\1\0\0\0\0\1\5\0\4\0\x0c\0\x0b\0\x08\0" + values
    (found,) = replaced([params], "p")
    assert len(found) == len(params)
    double, single = struct.unpack_from("<df", found, 19)
    assert 1000 <= double < 2000
    assert -10 < single <= -9
    length, year, month, day, hour, minute, second, micro = struct.unpack_from("<BHBBBBBI", found, 31)
    assert (length, year) == (11, 1999)
    assert datetime(year, month, day, hour, minute, second, micro)
    assert struct.unpack_from("<q", found, len(found) - 8)[0] < -(2**61)


def test_parameters_that_make_no_sense_are_wiped() -> None:
    """Nothing of them stays, and nothing is read past their end."""
    for broken in (
        b"E\5secret",
        b"Rsecret",
        b"B\1secret",
        b"A\xffsecret",
        b"Zsecret",
        b"E\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
    ):
        (found,) = replaced([broken], "p")
        assert len(found) == len(broken)
        assert b"secret" not in found


def test_a_tape_is_redacted(tmp_path: Path) -> None:
    """Counts, order, digests and times stay; samples, errors and, if asked, accounts are stand-ins; a key may be kept."""
    events: list[dict[str, Any]] = [
        {"statement": f"SELECT * FROM mails WHERE m = 'bob{n}@example.com'", "user": "bob", "host": "bobs.example.com"}
        for n in range(50)
    ]
    events.append({"statement": "INSERT INTO mails VALUES ('bob1@example.com')", "class": "write", "errno": 1062,
                   "error": "Duplicate entry 'bob1@example.com' for key 'm'", "user": "bob", "host": "bobs.example.com"})  # fmt: skip
    tape = make_tape(tmp_path / "t.tape", events, parts=2)
    (tmp_path / "key").write_text(KEY.hex())
    (tmp_path / "key").chmod(0o600)
    runner = CliRunner()
    given = ["tape", "redact", str(tape), "--key-file", str(tmp_path / "key"), "--accounts"]
    for name in ("a", "b"):
        result = runner.invoke(group, [*given, "-o", str(tmp_path / name)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    with duckdb.connect() as con:
        rows = [
            con.execute(f"SELECT * FROM '{tmp_path / name}/events/*.parquet' ORDER BY session, seq").fetchall()
            for name in ("a", "b")
        ]
        assert rows[0] == rows[1]
        assert len(rows[0]) == len(events)
    for file in (tmp_path / "a").rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            if file.suffix == ".parquet":
                with duckdb.connect() as con:
                    content = str(con.execute(f"SELECT * FROM '{file}'").fetchall()).encode()
            assert b"bob" not in content, file
            assert b"example" not in content, file
    assert json.loads((tmp_path / "a" / "tape.json").read_text())["redacted"] is True
    assert runner.invoke(group, ["tape", "verify", str(tmp_path / "a")]).exit_code == 0


def test_a_key_is_made_where_there_is_none(tmp_path: Path) -> None:
    """For its owner alone; and it stays the same."""
    key = read_key(tmp_path / "key")
    assert len(key) == len(new_key()) == 16
    assert read_key(tmp_path / "key") == key != new_key()
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_a_key_file_that_is_none_is_named(tmp_path: Path) -> None:
    """A clear sentence, and no tape."""
    (tmp_path / "key").write_text("not a key")
    with pytest.raises(InputError, match="expected a key of 32 hexadecimal digits"):
        read_key(tmp_path / "key")
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    with pytest.raises(ValueError, match="a key of 16 bytes"):
        redact(tape, tmp_path / "out", b"short")
