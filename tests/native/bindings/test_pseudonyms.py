# SPDX-License-Identifier: Apache-2.0
"""Pseudonyms keep the shape of a value, and no original text remains.

Equal values get equal pseudonyms, and different values get different pseudonyms.
"""

import json
import re
import struct
from datetime import date, datetime

import duckdb
import pytest
from querytape.native.bindings.pseudonyms import Pseudonyms
from querytape.native.bindings.statements import Normalizer

KEY = bytes(range(16))


def replaced(values: list[bytes], kind: str = "s", key: bytes = KEY) -> list[bytes]:
    """Return the pseudonyms of statements (s), parameters (p), messages (m) or values (t)."""
    return counted(values, kind, key)[0]


def counted(values: list[bytes], kind: str = "s", key: bytes = KEY) -> tuple[list[bytes], int]:
    """Return the pseudonyms and the number of statements with several possible readings."""
    pseudonyms = Pseudonyms(key)
    text = kind in "mt"
    with duckdb.connect() as con, duckdb.connect() as other:
        con.execute("SET arrow_large_buffer_size = true")
        con.execute(f"CREATE TABLE given (n BIGINT, v {'VARCHAR' if text else 'BLOB'})")
        listed = [v.decode() if text else v for v in values]
        con.execute("INSERT INTO given SELECT unnest(?), unnest(?)", [list(range(len(listed))), listed])
        stream = pseudonyms.replace(con.sql("SELECT n, v FROM given ORDER BY n"), "l" + kind)
        other.register("found", stream)
        rows = other.execute("SELECT c1 FROM found ORDER BY c0").fetchall()
        stream.close()
    return [row[0].encode() if text else bytes(row[0]) for row in rows], pseudonyms.ambiguous


def shape(value: bytes) -> bytes:
    """Return the value with its letters replaced by a and A and its digits by 0."""
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
def test_pseudonyms_replace_only_values(sql: bytes) -> None:
    """A pseudonymized statement keeps its length and digest. No word of four letters and no number of three digits
    remains from a value.
    """
    (found,) = replaced([sql])
    normalizer = Normalizer()
    assert len(found) == len(sql)
    assert normalizer.normalize(found).digest == normalizer.normalize(sql).digest
    assert found != sql
    for secret in (b"Bob", b"Smith", b"example", b"4711", b"Hara", b"123 of", b"secret", b"4D79", b"DEADBEEF", b"6789"):
        assert secret not in found


@pytest.mark.parametrize(
    ("sql", "secret"),
    [
        (b"SHOW GRANTS FOR 'bob'@'build7.example.com'", b"build7.example"),
        (b"SHOW GRANTS FOR bob@build7", b"build7"),
        (b"GRANT SELECT ON shop.* TO `bob`@`build7.example.com`", b"build7"),
        (b"CREATE USER 'bob'@\"10.20.30.40\"", b"20.30.40"),
        (b"CREATE TABLE copy AS SELECT * FROM t WHERE ssn = 123456789", b"23456789"),
        (b"CREATE PROCEDURE p() BEGIN UPDATE t SET ssn = 123456789; END", b"23456789"),
        (b"ALTER VIEW v AS SELECT * FROM t WHERE born = '1999-12-31 23:58:57'", b"12-31 23:58:57"),
        (b"SELECT 4.7e11, 4711e2", b"4711"),
    ],
)
def test_values_in_unusual_places_are_replaced(sql: bytes, secret: bytes) -> None:
    """Covers host names of accounts and comparisons inside DDL. The digest of the statement is unchanged unless the
    host is an identifier.
    """
    (found,) = replaced([sql])
    assert secret not in found
    normalizer = Normalizer()
    if not re.search(rb"@[`a-z]", sql):
        assert normalizer.normalize(found).digest == normalizer.normalize(sql).digest


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
        b"KILL QUERY 4711",
        b"SAVEPOINT before_4711",
        b"ROLLBACK TO SAVEPOINT before_4711",
        b"SELECT * FROM t PARTITION (p202411) WHERE a = @bobs_salary AND b = @`x 12`",
        b"ALTER TABLE t DROP PARTITION p202411",
        b"EXECUTE stmt4711 USING @bobs_salary",
        b"CREATE TABLE t (a VARCHAR(80), b TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, c CHAR(36))",
    ],
)
def test_pseudonyms_keep_the_statement_structure(sql: bytes) -> None:
    """Names, limits, intervals, formats, paths, settings and column lengths are not values."""
    assert replaced([sql]) == [sql]


def test_equal_values_have_equal_pseudonyms_everywhere() -> None:
    """Covers single and double quotes, numbers, lists, bound parameters and error messages."""
    text, message = b"4711007", b"Duplicate entry '4711007' for key"
    (pseudonym,) = replaced([text], "t")
    sql = replaced([b"SELECT 4711007", b"SELECT '4711007'", b'SELECT 5 IN ("4711007", 8)'])
    assert sql == [b"SELECT " + pseudonym, b"SELECT '" + pseudonym + b"'", b'SELECT 5 IN ("' + pseudonym + b'", 8)']
    assert pseudonym in replaced([message], "m")[0]
    head = b"E\1\0\1\0\0\0\0\1"
    bound = replaced([head + b"\3\0" + struct.pack("<i", 4711007), head + b"\xfd\0\7" + text], "p")
    assert bound == [head + b"\3\0" + struct.pack("<i", int(pseudonym)), head + b"\xfd\0\7" + pseudonym]


def test_another_key_gives_other_pseudonyms() -> None:
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
def test_different_values_have_different_pseudonyms(values: list[str]) -> None:
    """A pseudonym has the same shape as its value."""
    found = replaced([value.encode() for value in values], "t")
    assert len(set(found)) == len(values)
    if "0000000000000000" not in values:
        assert all(shape(f) == shape(v.encode()) for f, v in zip(found, values, strict=True))


def test_numbers_keep_their_integer_type() -> None:
    """The pseudonym of a number keeps its sign and first digit."""
    largest = [127, 255, 32767, 65535, 8388607, 16777215, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1]
    numbers = sorted({n for top in largest for n in (top, top - 1, top // 2, top // 3)})
    for number, found in zip(numbers, replaced([str(n).encode() for n in numbers], "t"), strict=True):
        assert found[:1] == str(number).encode()[:1]
        assert [int(found) <= top for top in largest] == [number <= top for top in largest]


def test_dates_stay_valid_in_the_same_year() -> None:
    days = [date.fromordinal(n) for n in range(date(2023, 12, 1).toordinal(), date(2025, 1, 31).toordinal())]
    found = replaced([day.isoformat().encode() for day in days], "t")
    assert [date.fromisoformat(f.decode()).year for f in found] == [day.year for day in days]


def test_json_stays_valid() -> None:
    """The pseudonym of a JSON value keeps punctuation, true, false and null."""
    value = b'{"name": "Bob", "tall": true, "cars": null, "sizes": [1.5e10, 20, 0.001]}'
    (found,) = replaced([value], "t")
    assert list(json.loads(found).values())[1:3] == [True, None]
    assert b"Bob" not in found


def test_binary_parameters_keep_their_type() -> None:
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


def test_malformed_parameters_are_wiped() -> None:
    """The parser does not read beyond the end of malformed parameters."""
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


def test_last_days_of_a_month_are_replaced() -> None:
    """Days 29 to 31 become other days from 29 to 31 of the same year. Each result is unique, and most days change."""
    years = range(1960, 2025)
    days = [
        date(year, month, day)
        for year in years
        for month in range(1, 13)
        for day in (29, 30, 31)
        if month not in (2, 4, 6, 9, 11) or (month != 2 and day < 31) or (month == 2 and day == 29 and year % 4 == 0)
    ]
    texts = [f"'{day}'".encode() for day in days]
    found = [date.fromisoformat(value.decode().strip("'")) for value in replaced(texts)]
    assert {(day.year, day.day > 28) for day in found} == {(year, True) for year in years}
    assert len(set(found)) == len(days)
    assert sum(a == b for a, b in zip(days, found, strict=True)) < len(days) / 5  # 29 days of a year are after the 28th


@pytest.mark.parametrize("scope", ["GLOBAL ", "global ", "PERSIST ", "PERSIST_ONLY ", "@@GLOBAL.", "@@persist."])
def test_texts_of_global_settings_are_replaced(scope: str) -> None:
    """Global text settings contain addresses, paths and statements. Numbers and session settings are not replaced."""
    sql = f"SET {scope}init_connect = 'CALL audit(''Miller'')', {scope}max_connections = 4711".encode()
    (found,) = replaced([sql])
    assert b"Miller" not in found
    assert b"= 4711" in found
    assert Normalizer().normalize(found).digest == Normalizer().normalize(sql).digest
    mixed = f"SET {scope}report_host = 'db7.example', @customer = 47110815".encode()
    behind = f"SET {scope}server_id = 47110815; DELETE FROM t WHERE ssn = 47110815".encode()
    assert all(
        b"7110815" not in each.rpartition(b"=")[2] and b"example" not in each for each in replaced([mixed, behind])
    )
    assert replaced([b"SET SESSION time_zone = '+02:00'"]) == [b"SET SESSION time_zone = '+02:00'"]


@pytest.mark.parametrize(
    "opening", ["/*!", "/*!40101", "/*!100301", "/*M!", "/*M!100301", "/*!!130100", "/*T![a_b]", "/*X!"]
)
def test_executable_comments_stay_code(opening: str) -> None:
    """Values in executable comments and in plain comments are replaced."""
    (found,) = replaced([f"SELECT a {opening} FROM t WHERE b = 'secret' */ /* secret */".encode()])
    pattern = rf"SELECT a {re.escape(opening)} FROM t WHERE b = '\w+' \*/ /\* \w+ \*/"
    assert re.fullmatch(pattern.encode(), found)
    assert b"secret" not in found
