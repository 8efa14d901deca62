# SPDX-License-Identifier: Apache-2.0
"""The statement parser: tables with access, columns with role, and joins. Unparsed statements are marked."""

import random
import struct

import duckdb
import pytest
from querytape.common.duck import open_database
from querytape.native.bindings.grammar import Wanted, parse_statements
from querytape.native.bindings.statements import Mode, Normalizer

from tests.capture.test_literals import BOUND

pytestmark = pytest.mark.slow

# Statement -> result: tables with access, columns with role, joins. ~ = inside an expression, | = under OR or NOT.
READ = {
    "SELECT a FROM t WHERE b = 1 AND c > 2 ORDER BY d DESC": "read t; t.b filter =; t.c range >; t.d order desc",
    "SELECT a FROM t WHERE 1 = b AND 2 < c": "read t; t.b filter =; t.c range >",
    "SELECT p.x FROM p JOIN r ON p.id = r.p_id": "read p; read r; p.id join =; p.id = r.p_id; r.p_id join =",
    "SELECT 1 FROM a x, a y WHERE x.i = y.j": "read a x; read a y; a.i join =; a.i = a.j; a.j join =",
    "SELECT 1 FROM t WHERE i = j": "read t; t.i filter = ~; t.j filter = ~",
    "SELECT 1 FROM t WHERE DATE(d) = '2020-01-01' AND e + 1 < 5": "read t; t.d filter = ~; t.e range < ~",
    "SELECT 1 FROM t WHERE a = 1 OR NOT b = 2": "read t; t.a filter = |; t.b filter = |",
    "SELECT 1 FROM t WHERE a IN (1, 2) AND b NOT IN (3) AND c BETWEEN 1 AND 2 AND d LIKE 'x%' AND e IS NULL AND f": (
        "read t; t.a filter in; t.b range not in; t.c range between; t.d range like; t.e filter is null;"
        " t.f filter expression"
    ),
    "SELECT 1 FROM t WHERE (a, b) IN ((1, 2), (3, 4)) AND (c = 1 AND (d > 2))": (
        "read t; t.a filter in; t.b filter in; t.c filter =; t.d range >"
    ),
    "SELECT YEAR(d) AS y, s, COUNT(*) n FROM t GROUP BY y, s HAVING n > 3 ORDER BY n, 2": "read t; t.s group; t.s order asc",
    "SELECT 1 FROM t JOIN u USING (a, b)": (
        "read t; read u; t.a join =; t.a = u.a; u.a join =; t.b join =; t.b = u.b; u.b join ="
    ),
    "SELECT 1 FROM t WHERE a = (SELECT MAX(b) FROM u WHERE u.i = t.i AND j = 1)": (
        "read t; read u; t.a filter =; u.i join =; u.i = t.i; t.i join =; u.j filter ="
    ),
    "SELECT 1 FROM (SELECT a FROM t WHERE b = 1) d WHERE d.a = 2": "read t; t.b filter =",
    "WITH c AS (SELECT a FROM t WHERE b = 1) SELECT 1 FROM c JOIN u ON c.a = u.a": "read t; read u; t.b filter =; u.a join =",
    "SELECT a FROM t UNION SELECT b FROM u ORDER BY a": "read t; read u",
    "SELECT 1 FROM `db`.`order` o WHERE o.`group` = 1 FOR UPDATE": "lock db.order o; db.order.group filter =",
    "SELECT 1 FROM t, u WHERE a = 1": "read t; read u; ?.a filter =",
    "UPDATE t SET a = a + 1, b = 2 WHERE c = 5 LIMIT 1": "write t; t.a set; t.b set; t.c filter =",
    "UPDATE t JOIN u ON t.i = u.i SET t.a = u.b WHERE u.c IN (1)": (
        "write t; read u; t.i join =; t.i = u.i; u.i join =; t.a set; u.c filter in"
    ),
    "DELETE FROM t WHERE a < NOW() - INTERVAL 1 DAY": "write t; t.a range <",
    "DELETE a FROM t a JOIN u b ON a.i = b.i WHERE b.x = 1": (
        "write t a; read u b; t.i join =; t.i = u.i; u.i join =; u.x filter ="
    ),
    "INSERT INTO t (a, b) VALUES (1, NOW()), (2, DEFAULT) ON DUPLICATE KEY UPDATE b = VALUES(b)": (
        "write t; t.a set; t.b set; t.b set"
    ),
    "INSERT INTO t SELECT u.a FROM u JOIN v ON u.i = v.i ON DUPLICATE KEY UPDATE a = 1": (
        "write t; read u; read v; u.i join =; u.i = v.i; v.i join =; t.a set"
    ),
    "EXPLAIN FORMAT=JSON SELECT 1 FROM t WHERE a = 1": "read t; t.a filter =",
    "SELECT 1 FROM t WHERE MATCH (a, b) AGAINST ('x' IN BOOLEAN MODE)": "read t; t.a filter match; t.b filter match",
    "SELECT TRIM(BOTH 'x' FROM s), CAST(a AS DECIMAL(10, 2)), GROUP_CONCAT(b ORDER BY c SEPARATOR ';') FROM t": "read t",
    "SELECT ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) FROM t FORCE INDEX (k) WHERE c->'$.x' = 1": (
        "read t; t.c filter = ~"
    ),
    "INSERT INTO t (a) VALUES (1); SELECT 1 FROM u WHERE b = 2": "write t; t.a set; read u; u.b filter =",
}
OTHER = ["COMMIT", "SET NAMES utf8mb4", "SHOW TABLES", "CREATE TABLE t (a INT)", "CALL p(1)", "", "USE shop"]
FAILED = [
    "SELECT",
    "SELECT FROM t",
    "SELECT a FROM t WHERE",
    "UPDATE t",
    "SELECT (1",
    "SELECT 'x",
    "SELECT a b c FROM t",
]


def parts(statements: list[str], wanted: Wanted = "parts", mode: Mode | None = None) -> list[list[tuple[object, ...]]]:
    """Return the parser's rows for each statement. `mode` is the session mode."""
    with open_database(large_arrow=True) as reading, duckdb.connect() as con:
        reading.execute("CREATE TABLE s (id BIGINT, statement BLOB, digest VARCHAR)")
        texts = [s.encode("latin-1") for s in statements]
        digests = [Normalizer().normalize(text, mode).digest for text in texts]
        reading.executemany("INSERT INTO s VALUES (?, ?, ?)", list(zip(range(len(texts)), texts, digests, strict=True)))
        columns = "*, NULL::BLOB AS params" if wanted != "parts" else "*"
        stream = parse_statements(reading.sql(f"SELECT {columns} FROM s ORDER BY id"), wanted)
        con.register("parsed", stream)
        rows = con.execute("FROM parsed").fetchall()
        stream.close()
    return [[row[1:] for row in rows if row[0] == i] for i in range(len(statements))]


def in_short_notation(rows: list[tuple[object, ...]]) -> str:
    """Return rows in the short notation of READ."""
    texts = []
    for what, table, name, role, op, table2, name2, plain, all_rows, *_ in rows:
        if what == "table":
            texts.append(" ".join(str(x) for x in (role, table, name) if x))
        elif what == "column":
            marks = ["~"] * (not plain) + ["|"] * (not all_rows)
            texts.append(" ".join(str(x) for x in (f"{table or '?'}.{name}", role, op, *marks) if x))
        elif what == "join":
            texts.append(f"{table}.{name} {op} {table2}.{name2}")
    return "; ".join(texts)


def test_tables_columns_and_joins_are_found() -> None:
    for statement, rows in zip(READ, parts(list(READ)), strict=True):
        assert rows[0][0] == "parsed", statement
        found, wanted = in_short_notation(rows).split("; "), READ[statement].split("; ")
        assert sorted(found) == sorted(wanted), statement


@pytest.mark.parametrize(
    ("mode", "text", "wanted"),
    [
        (Mode(2, 0, 7), 'UPDATE "t x" SET "a" = 1 WHERE "Id" = 5', 'write "t x"; "t x".a set; "t x".id filter ='),
        (Mode(0, 0, 7), 'UPDATE t SET a = 1 WHERE b = "Id"', "write t; t.a set; t.b filter ="),
        (Mode(2, 0, 7), 'UPDATE t SET a = 1 WHERE b = "Id"', "write t; t.a set; t.b filter = ~; t.id filter = ~"),
        (Mode(1, 0, 7), r"SELECT 1 FROM t WHERE a = '\' AND b = 'c'", "read t; t.a filter =; t.b filter ="),
        (Mode(3, 0, 7), r"""SELECT 1 FROM "t" WHERE "\" = '\' AND b = 'c'""", r'read t; t."\" filter =; t.b filter ='),
        (Mode(0, 1, 7), "SELECT 1 FROM t WHERE a = '\xd5\\' AND b = 'c'", "read t; t.a filter =; t.b filter ="),
    ],
)
def test_statement_is_parsed_in_its_session_mode(mode: Mode, text: str, wanted: str) -> None:
    """The session mode (sql_mode and character set) comes from the digest of the statement."""
    rows = parts([text], mode=mode)[0]
    assert rows[0][0] == "parsed"
    assert sorted(in_short_notation(rows).split("; ")) == sorted(wanted.split("; "))


def test_unsupported_and_unparsed_statements_have_only_a_status() -> None:
    assert [[row[0] for row in rows] for rows in parts(OTHER)] == [["other"]] * len(OTHER)
    assert [[row[0] for row in rows] for rows in parts(FAILED)] == [["failed"]] * len(FAILED)


def test_normalized_text_is_parsed() -> None:
    """The parser uses the digest text if the tape has no complete sample."""
    (rows,) = parts(["select a from t where b in (?+) and c = ? limit ?, ?"])
    assert in_short_notation(rows) == "read t; t.b filter in; t.c filter ="


def test_truncated_statements_do_not_crash_the_parser() -> None:
    cuts = [statement[:n] for statement in READ for n in range(len(statement))]
    assert all(rows[0][0] in ("parsed", "other", "failed") for rows in parts(cuts))


@pytest.mark.parametrize(
    "text", ["(" * 5000, "SELECT " + "((SELECT 1) + " * 400, "SELECT " + "NOT " * 9000 + "1", "CASE " * 999]
)
def test_deep_nesting_is_abandoned(text: str) -> None:
    """The time of the parser must grow linearly with the length of the text."""
    assert parts([text])[0][0][0] in ("failed", "parsed", "other")


def bound(statement: str, *params: bytes | None) -> list[tuple[str | None, str | None]]:
    """Return the key columns of a statement and their values. Each parameter set gives one row."""
    with open_database(large_arrow=True) as reading, duckdb.connect() as con:
        reading.execute("CREATE TABLE s (id BIGINT, statement BLOB, digest VARCHAR, params BLOB)")
        reading.executemany(
            "INSERT INTO s VALUES (?, ?, NULL, ?)", [[i, statement.encode(), p] for i, p in enumerate(params)]
        )
        stream = parse_statements(reading.sql("FROM s ORDER BY id"), "keys")
        con.register("parsed", stream)
        rows = con.execute("SELECT name, value FROM parsed ORDER BY id").fetchall()
        stream.close()
    return rows


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        *BOUND,
        (0xFD, b"\x07O'Bri\\n", "'O''Bri\\\\n'"),
        (0x0B, b"\x08\x01" + struct.pack("<I", 2) + bytes([3, 4, 5]), "'-2 03:04:05'"),
        (0x06, b"", None),
    ],
)
def test_bound_values_are_decoded(kind: int, value: bytes, wanted: str | None) -> None:
    """Covers every protocol type, with and without attached files. Bound values are returned as SQL literals."""
    types = struct.pack("<HH", 0x03, kind)
    params = b"E\x02" + bytes(5) + b"\x00\x01" + types + struct.pack("<i", 9) + value
    files = b"S" + bytes([len(params)]) + params + b"\x01x"
    found = bound("UPDATE t SET a = ? WHERE id = ?", params, files)
    assert found == [("id", wanted)] * 2


def test_unknown_bound_values_are_null() -> None:
    """Covers NULL, long data, missing parameters and random bytes."""
    text = "UPDATE t SET a = ? WHERE k = 3 AND id = ?"
    types, values = struct.pack("<HH", 0x03, 0x03), struct.pack("<ii", 9, 8)
    whole = b"E\x02" + bytes(5) + b"\x00\x01" + types + values
    null = b"E\x02" + bytes(5) + b"\x02\x01" + types + values
    long = b"D\x02" + b"\x02" + bytes(5) + b"\x00\x01" + types + values
    assert bound(text, whole, null, long, None) == [("id, k", "8, 3"), *[("id, k", None)] * 3]
    cut = [whole[:size] for size in range(len(whole))]
    assert {value for _, value in bound(text, *cut)} == {None}
    chance = random.Random(5)
    damaged = []
    for _ in range(2000):
        some = bytearray(chance.choice((whole, long, b"S\x12" + whole)))
        for _ in range(chance.randint(1, 4)):
            some[chance.randrange(len(some))] = chance.choice(
                (0, 1, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF, chance.randrange(256))
            )
        damaged.append(bytes(some[: chance.randint(0, len(some))]))
    assert len(bound(text, *damaged)) == len(damaged)


# Statement -> row values as returned by `wanted="rows"`: = is a value from a condition, < is a written value.
ROWS = {
    "SELECT a FROM t WHERE id = 5 AND w = 'x' AND v > 3": "id = 5, w = 'x'",
    "SELECT a FROM t WHERE (id = (5)) AND NOT w = 3": "id = (5)",
    "SELECT a FROM s.t x WHERE x.ID = -5 FOR UPDATE": "id = -5",
    "UPDATE t SET a = 4, id = id + 1 WHERE id = 5": "a <, id <, id = 5",
    "DELETE FROM t WHERE id = 5 LIMIT 1": "limit 1, id = 5",
    "SELECT a FROM t, u LIMIT 3, 5": "limit 5",
    "SELECT a FROM t, u ORDER BY a LIMIT 5 OFFSET 3 FOR UPDATE": "limit 5",
    "SELECT a FROM t UNION SELECT a FROM u LIMIT 7 -- 9": "limit 7",
    "SELECT a FROM (SELECT a FROM t LIMIT 3) d ORDER BY a LIMIT 5 ROWS EXAMINED 9": "limit 5",
    "SELECT a FROM t, u OFFSET 2 ROWS FETCH FIRST 4 ROWS ONLY": "limit 4",
    "SELECT a FROM t, u FETCH NEXT ROW ONLY": "",
    "SELECT a FROM t, u LIMIT ROWS EXAMINED 9": "",
    "SELECT a FROM (SELECT a FROM t LIMIT 3) d": "",
    "SELECT a FROM t, u LIMIT 1; SELECT b FROM u LIMIT 2": "",
    "INSERT INTO t (id, a) VALUES (5, NULL)": "id < 5, a < NULL",
    "INSERT IGNORE t (id, a) VALUE ROW(5 + 1, DEFAULT)": "id < 5 + 1, a <",
    "INSERT INTO t (id, a) VALUES (5, 6), (7, 8)": "id <, a <",
    "INSERT INTO t (id, a) VALUES (5, 6) ON DUPLICATE KEY UPDATE a = 3": "id <, a <, a <",
    "REPLACE INTO t (id, a) VALUES (5, 6)": "id <, a <",
    "SELECT a FROM t WHERE id = 5 OR w = 3": "",
    "SELECT a FROM t WHERE id IN (5) AND a = @b": "",
    "SELECT a FROM t, u WHERE t.id = 5": "",
    "SELECT a FROM t WHERE id = 5 UNION SELECT a FROM t": "",
    "SELECT a FROM t WHERE id = 5 AND b > (SELECT max(b) FROM t)": "",
    "INSERT INTO t VALUES (5, 6)": "",
    "CALL p(5)": "",
    "SELECT a FROM t WHERE id = 5 AND": "",
}
# Conditions inside WHERE that a matching row does not have to satisfy. Another comparison or arithmetic uses their
# result.
INSIDE = [
    *("(id = 5) = 0", "0 = (id = 5)", "id = 5 IS NOT TRUE", "(id = 5) IS FALSE", "a = id = 5", "id = 5 = 0"),
    *("(id = 5) > 0", "(id = 5) IN (0)", "0 IN ((id = 5))", "1 LIKE (id = 5)", "0 BETWEEN (id = 5) AND 1"),
    *("(id = 5) + 1", "!(id = 5)", "-(id = 5) < 1", "(id = 5 AND w = 3) = 0", "ifnull((id = 5), 1)", "NOT (NOT (id = 5))"),
    *("CASE WHEN id = 5 THEN 0 ELSE 1 END", "id = 5 XOR w = 3", "id = 5 BETWEEN 0 AND 1", "(SELECT id = 5)"),
]  # fmt: skip


@pytest.mark.parametrize("statement", ROWS)
def test_row_values_are_found(statement: str) -> None:
    """Covers statements on one table: values that conditions require, and written values."""
    (rows,) = parts([statement], "rows")
    shown = [
        f"limit {value}" if what == "limit" else f"{name} {'<' if role == 'set' else '='} {value or ''}".strip()
        for what, _, name, role, *_, value, _ in rows
    ]
    assert ", ".join(shown) == ROWS[statement]


@pytest.mark.parametrize("condition", INSIDE)
def test_nested_condition_gives_no_row_value(condition: str) -> None:
    """A nested condition restricts neither the values of rows nor the key of an index lookup."""
    text = f"UPDATE t SET a = 1 WHERE {condition}"
    assert [row for row in parts([text], "rows")[0] if row[3] == "filter"] == []
    assert parts([text], "keys") == [[]]


def test_bound_row_values_are_found() -> None:
    """Covers conditions and a single inserted row."""
    with open_database(large_arrow=True) as reading, duckdb.connect() as con:
        reading.execute("CREATE TABLE s (id BIGINT, statement BLOB, digest VARCHAR, params BLOB)")
        params = b"E\x02" + bytes(5) + b"\x00\x01" + struct.pack("<HH", 0x03, 0x03) + struct.pack("<ii", 9, 8)
        for text in (
            "SELECT 1 FROM t WHERE a = ? LIMIT ?",
            "SELECT 1 FROM t WHERE a = ? AND b = ?",
            "INSERT INTO t (a, b) VALUES (?, ?)",
        ):
            reading.execute(
                "INSERT INTO s VALUES (1, ?, NULL, ?), (2, ?, NULL, NULL)", [text.encode(), params, text.encode()]
            )
        stream = parse_statements(reading.sql("FROM s"), "rows")
        con.register("parsed", stream)
        rows = con.execute("SELECT id, name, role, value FROM parsed").fetchall()
        stream.close()
    assert rows == [
        *((1, None, None, "8"), (1, "a", "filter", "9")),
        *((1, "a", "filter", "9"), (1, "b", "filter", "8")),
        *((1, "a", "set", "9"), (1, "b", "set", "8"), (2, "a", "set", None), (2, "b", "set", None)),
    ]  # fmt: skip
