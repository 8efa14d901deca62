# SPDX-License-Identifier: Apache-2.0
"""Differences between two servers: reported differences, version-specific spellings, and tables behind views and
routines.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.analyze import Report, build
from querytape.analyze.database import AnalysisDatabase, open_analysis
from querytape.analyze.findings.causes import with_causes
from querytape.analyze.findings.headline import ELSE
from querytape.analyze.findings.remedies import to_do
from querytape.analyze.findings.results import against_b
from querytape.analyze.findings.servers import (
    Objects,
    Side,
    compare_servers,
    different_variables,
    loaded,
    name_server_writes,
    seen_through,
    setting_differences,
    written_by,
)
from querytape.analyze.model import ServerDifference, Servers
from querytape.native.bindings.statements import Normalizer
from querytape.replay import parse_target
from querytape.replay.observe.schema_facts import keep_schema_facts
from querytape.servers.sandbox import Server
from querytape.servers.target import Target

from tests.analyze.findings.made_sides import compared, database_of_tape, facts_of
from tests.conftest import ServerFactory
from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape

TABLES = (
    "CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL DEFAULT 'nobody', mail VARCHAR(40),"
    " born DATE, note TEXT, about TEXT, twice INT AS (id * 2) STORED, seen TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP,"
    " KEY k_name (name), KEY k_mail (mail)) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin",
    "CREATE TABLE orders (id INT PRIMARY KEY, user_id INT NOT NULL, total DECIMAL(10,2), KEY k_user (user_id),"
    " CONSTRAINT f_user FOREIGN KEY (user_id) REFERENCES users (id)) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin",
    "CREATE TABLE events (id INT PRIMARY KEY, kind INT) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin"
    " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN MAXVALUE)",
    "CREATE TABLE still (id INT PRIMARY KEY) STATS_PERSISTENT=1, STATS_AUTO_RECALC=0",
    "INSERT INTO still VALUES (1)",
    "ANALYZE TABLE still",
    "CREATE TABLE idle (id INT PRIMARY KEY) DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin",
    "CREATE VIEW named AS SELECT id, mail FROM users WHERE id > 5 AND mail <> 'x'",
    "CREATE PROCEDURE note_it(n INT) INSERT INTO events VALUES (n, 1)",
    "CREATE FUNCTION half(n INT) RETURNS INT DETERMINISTIC RETURN n / 2",
    "CREATE PROCEDURE scale(IN n INT, OUT m VARCHAR(9)) SET m = n",
    "CREATE PROCEDURE fill() DELETE FROM idle",
)
# Statements that plant a difference, each with the expected text in the report.
PLANTED = (
    ("ALTER TABLE orders DROP FOREIGN KEY f_user", "B lacks foreign key f_user on orders (user_id)"),
    ("ALTER TABLE orders DROP KEY k_user", "B lacks index k_user on orders (user_id)"),
    ("ALTER TABLE users ALTER INDEX k_mail INVISIBLE", "index k_mail on users is invisible to the optimizer in B"),
    (
        "ALTER TABLE users MODIFY name VARCHAR(40) COLLATE utf8mb4_general_ci NOT NULL DEFAULT 'nobody'",
        "column users.name: collation utf8mb4_bin in A, utf8mb4_general_ci in B",
    ),
    (
        "ALTER TABLE users MODIFY note TEXT CHARACTER SET latin1",
        "column users.note: character set utf8mb4 in A, latin1 in B",
    ),
    ("ALTER TABLE users MODIFY about JSON", "column users.about: type text in A, json in B"),
    ("ALTER TABLE orders MODIFY total DOUBLE", "column orders.total: type decimal(10,2) in A, double in B"),
    (
        "ALTER TABLE users MODIFY twice INT AS (id * 3) STORED",
        "column users.twice: generation expression (`id` * 2) in A, (`id` * 3) in B",
    ),
    ("ALTER VIEW named AS SELECT id, mail FROM users WHERE id > 6", "view named: the definitions differ"),
    ("CREATE VIEW more AS SELECT id FROM users", "A lacks the view more"),
    ("DROP PROCEDURE note_it", "B lacks the procedure shop.note_it"),
    ("DROP FUNCTION half", "routine shop.half: the definitions differ"),
    (
        "CREATE FUNCTION half(n INT) RETURNS INT DETERMINISTIC RETURN n / 3",
        "routine shop.half: the definitions differ",
    ),
    ("DROP PROCEDURE scale", "routine shop.scale: parameter types int,varchar(9) in A, bigint,varchar(9) in B"),
    ("CREATE PROCEDURE scale(IN n BIGINT, OUT m VARCHAR(9)) SET m = n", "routine shop.scale: parameter types"),
    ("DROP PROCEDURE fill", "routine shop.fill: parameters none in A, n in B"),
    ("CREATE PROCEDURE fill(n INT) DELETE FROM idle", "routine shop.fill: parameters none in A, n in B"),
    ("ALTER TABLE users DROP COLUMN born", "B lacks column born on users"),
    ("ALTER TABLE events REMOVE PARTITIONING", "events is not partitioned in B"),
    ("ALTER TABLE orders ROW_FORMAT=COMPACT", "table orders: row format Dynamic in A, Compact in B"),
    ("ALTER TABLE idle ENGINE=MyISAM", "table idle: engine InnoDB in A, MyISAM in B"),
    ("ANALYZE TABLE users UPDATE HISTOGRAM ON mail", "A lacks the histogram of users.mail"),
    (
        "INSERT INTO events WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
        "SELECT a.i * 1000 + b.i, 1 FROM n a JOIN (SELECT * FROM n LIMIT 5) b",
        "table events: estimated rows 0 in A, ",
    ),
    (
        "UPDATE mysql.innodb_table_stats SET last_update = '2020-01-01'"
        " WHERE table_name = 'still' AND database_name = 'qt_b'",
        "table still: last update of statistics ",
    ),
)
SETTINGS = (
    ("sql_mode", "STRICT_TRANS_TABLES,NO_ZERO_DATE", "STRICT_TRANS_TABLES", "sql_mode: only A has NO_ZERO_DATE"),
    ("time_zone", "SYSTEM", "+02:00", "time_zone: SYSTEM in A, +02:00 in B"),
    (
        "optimizer_switch",
        "mrr=on,hash_join=on",
        "mrr=off,hash_join=on",
        "optimizer_switch: mrr is on in A, off in B",
    ),
    ("sort_buffer_size", "262144", "32768", "sort_buffer_size: 262144 in A, 32768 in B"),
)
BASE = "CREATE TABLE base (id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET utf8, d DATETIME, n DECIMAL(10,2))"
# Views are tested because each server version stores the text of a view in its own spelling.
VIEWS = (
    "CREATE VIEW v1 AS SELECT COUNT(*) c, MAX(n), DATE_FORMAT(d, '%Y') y FROM base GROUP BY y ORDER BY 3 LIMIT 5",
    "CREATE VIEW v2 AS SELECT b.id, c.d FROM base b LEFT JOIN base c USING (id) WHERE b.d > NOW() - INTERVAL 1 DAY",
    "CREATE VIEW v3 AS SELECT CAST(a AS CHAR CHARACTER SET utf8) x, CAST(n AS SIGNED) y, a COLLATE utf8_bin FROM base",
    "CREATE VIEW v4 AS SELECT id FROM base b WHERE NOT EXISTS (SELECT 1 FROM base WHERE id = b.id + 1 AND a LIKE 'z%')",
    "CREATE VIEW v5 AS SELECT NOT id n, -id, IF(id > 3, 'a', 'b') q, id DIV 2 FROM base UNION SELECT 1, 2, '', NULL",
    "CREATE VIEW v6 AS SELECT TRIM(a), GROUP_CONCAT(DISTINCT a ORDER BY a SEPARATOR ';') FROM base GROUP BY d",
)
SWEEP = "CREATE EVENT shop.sweep ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.cart WHERE made < NOW()"
OFTEN = "ALTER EVENT shop.sweep ON SCHEDULE EVERY 1 HOUR"
EMPTY = "CREATE PROCEDURE shop.empty() DELETE FROM shop.cart"
CALLS = "CREATE EVENT shop.nightly ON SCHEDULE EVERY 1 DAY DO CALL shop.empty()"
TRIGGER = "CREATE TRIGGER shop.stamp BEFORE INSERT ON shop.cart FOR EACH ROW CALL shop.note()"
FACTS = (
    ("table", "orders", "", "{}"),
    ("table", "taxes", "", "{}"),
    ("table", "log", "", "{}"),
    ("view", "Open_Orders", "", '{"definition": "select `orders`.`id` AS `id` from `orders`"}'),
    ("view", "seen_twice", "", '{"definition": "select `id` from `open_orders`"}'),
    ("routine", "", "tax", '{"is": "FUNCTION", "does": "RETURN (SELECT MAX(rate) FROM Taxes)"}'),
    (
        "routine",
        "",
        "close_all",
        '{"is": "PROCEDURE", "does": "BEGIN DELETE FROM log; CALL close_all(); SELECT tax(1); END"}',
    ),
    ("trigger", "stock", "after", '{"does": "CALL close_all()"}'),
    ("routine", "", "damaged", "{"),
    ("routine", "", "hidden", '{"is": "FUNCTION"}'),
)


SCHEMA = ("schema", "shop", "", "", "{}")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[AnalysisDatabase]:
    """Open a database that contains a tape with reads of users and orders."""
    events = [
        {"statement": "SELECT * FROM orders o JOIN users u ON u.id = o.user_id", "db": "shop", "duration_ns": 900},
        {"statement": "SELECT * FROM shop.events", "db": "shop", "duration_ns": 100},
    ]
    with database_of_tape(make_tape(tmp_path / "t.tape", events)) as made:
        yield made


def make_schema(server: Server, name: str, more: Sequence[str] = ()) -> None:
    """Create the test's schema with the given name."""
    server.execute(f"DROP DATABASE IF EXISTS {name}")
    server.execute(f"CREATE DATABASE {name} DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_bin")
    for statement in (*TABLES, *more):
        server.execute(statement, db=name)


def side(server: Server, name: str, file: Path, **variables: str) -> Side:
    """Return the side of a server as a run stores it. The schema `name` is renamed to `shop`."""
    with duckdb.connect() as con, closing(parse_target(server.url(), environ={}).connect()) as connection:
        assert keep_schema_facts(con, connection, {"shop": name}, file) > 10
    version = server.execute("SELECT VERSION()")[0][0]
    return Side({"version": version, "variables": {**variables}}, f"read_parquet('{file}')")


def texts(servers: Servers) -> list[str]:
    return [each.text for each in servers.shown]


def test_each_planted_difference_is_named(mysql80: Server, database: AnalysisDatabase, tmp_path: Path) -> None:
    """The report names the planted schema differences and four settings, and nothing else. Objects that the tape reads
    come first.
    """
    make_schema(mysql80, "qt_a")
    make_schema(mysql80, "qt_b", [statement for statement, _ in PLANTED])
    mysql80.execute("ANALYZE TABLE events", db="qt_b")
    before, after = ({row[0]: row[place] for row in SETTINGS} for place in (1, 2))
    a = side(mysql80, "qt_a", tmp_path / "a.parquet", **before)
    found = compare_servers(database, a, side(mysql80, "qt_b", tmp_path / "b.parquet", **after))
    said = texts(found)
    assert found.problem is None
    for expected in (*(text for _, text in PLANTED), *(row[3] for row in SETTINGS)):
        assert any(text.startswith(expected) for text in said), (expected, said)
    others = {
        text for text in said if not any(text.startswith(w) for w in [t for _, t in PLANTED] + [s[3] for s in SETTINGS])
    }
    assert {text for text in others if "idle" not in text} == set(), "MyISAM has a row format of its own"
    assert said.index("B lacks index k_user on orders (user_id)") < 6
    assert said.index("table idle: engine InnoDB in A, MyISAM in B") > said.index("B lacks column born on users")
    equal = compare_servers(database, a, side(mysql80, "qt_a", tmp_path / "c.parquet", **before))
    assert texts(equal) == []


@pytest.mark.long
@pytest.mark.parametrize("other", ["mysql-5.7", "mariadb-11.8"])
def test_version_difference_alone_shows_no_schema_difference(
    other: str, mysql80: Server, database: AnalysisDatabase, tmp_path: Path, server_factory: ServerFactory
) -> None:
    """The same statements created both schemas. The servers of different versions spell int(11), current_timestamp()
    and key rules differently.
    """
    server = server_factory(other)
    for one in (mysql80, server):
        make_schema(
            one,
            "qt_v",
            ("CREATE TABLE j (d JSON, y YEAR, e INT UNSIGNED DEFAULT 7) DEFAULT CHARSET utf8mb4", BASE, *VIEWS),
        )
    found = compare_servers(
        database,
        side(mysql80, "qt_v", tmp_path / "a.parquet", sql_mode="ANSI_QUOTES"),
        side(server, "qt_v", tmp_path / "b.parquet", sql_mode="ANSI_QUOTES,NO_AUTO_CREATE_USER"),
    )
    assert texts(found) == []
    assert found.problem is None


def test_unknown_schema_properties_are_reported(database: AnalysisDatabase, tmp_path: Path) -> None:
    """A side without schema properties does not count as equal. A denied query is named."""
    empty = "(SELECT NULL::VARCHAR kind, NULL::VARCHAR db, NULL::VARCHAR tbl, NULL::VARCHAR name, '' facts WHERE false)"
    refused = "(SELECT 'problem' kind, '' db, '' tbl, 'information_schema.TABLES: 1142 denied' AS name, '{}' facts)"
    found = compare_servers(database, Side({}, empty), Side({}, refused))
    assert found.problem == (
        "The schemas were not compared: the schema of A and B is unknown (B: information_schema.TABLES: 1142 denied)."
    )


def test_all_problems_are_reported(database: AnalysisDatabase) -> None:
    """Each problem with reading a schema is shown once. A problem without consequences has no text."""
    rows = [SCHEMA, *(("problem", "", "", text, '{"unknown": "trigger"}') for text in ("zzz", "aaa", ""))]
    side, silent = facts_of(*rows), facts_of(*rows[::3])
    said = "The schemas were compared only in part: "
    assert compare_servers(database, side, silent).problem == f"{said}A: aaa; zzz."
    assert compare_servers(database, side, side).problem == f"{said}A and B: aaa; zzz."
    assert compare_servers(database, silent, silent).problem is None


def test_unreadable_indexes_are_not_missing(database: AnalysisDatabase) -> None:
    """Unreadable indexes are reported as unknown. A table that the server does not list is reported as missing."""
    orders, users = (("table", "shop", name, "", "{}") for name in ("orders", "users"))
    index = ("index", "shop", "orders", "k_user", "{}")
    refused = ("problem", "", "", "STATISTICS: 1038 Out of sort memory", '{"unknown": "index"}')
    for hostile in ([], [("problem", "", "", "x", "{")]):
        a = facts_of(SCHEMA, orders, users, index, *hostile)
        b = facts_of(SCHEMA, orders, refused, *hostile)
        for sides, lacking in (((a, b), "B"), ((b, a), "A")):
            found = compare_servers(database, *sides)
            assert texts(found) == [f"{lacking} lacks the table users"]
            assert "1038" in (found.problem or "")


ONLY_A = "GRANT SELECT ON shop.a TO narrow@'%'"
ONE_COLUMN = "GRANT SELECT (k) ON shop.a TO narrow@'%'"


@pytest.mark.parametrize("narrow", [ONLY_A, ONE_COLUMN, ""])
def test_objects_hidden_from_the_account_are_not_missing(narrow: str, any_shop: Server, tmp_path: Path) -> None:
    """The account has privileges on one table, on one column, or none. The suggested GRANT makes hidden objects
    visible. The report names a hidden object only if the tape uses it.
    """
    tapes = [tmp_path / "a.tape", tmp_path / "both.tape"]
    for path, statement in zip(tapes, ("SELECT k FROM a", "SELECT a.k FROM a JOIN b ON b.a = a.id"), strict=True):
        make_tape(path, [{"statement": statement, "db": "shop"}])

    for statement in (
        "CREATE TABLE shop.a (id INT PRIMARY KEY, k INT, KEY (k)) PARTITION BY HASH (id) PARTITIONS 2",
        "CREATE TABLE shop.b (id INT PRIMARY KEY, a INT)",
        "CREATE USER narrow@'%' IDENTIFIED BY 'x'",
        *([narrow] if narrow else []),
    ):
        any_shop.execute(statement)
    account = Target("narrow", "127.0.0.1", "127.0.0.1", any_shop.port, password="x")

    def by(target: Target, name: str) -> Side:
        with duckdb.connect() as con, closing(target.connect()) as connection:
            keep_schema_facts(con, connection, {"shop": "shop"}, tmp_path / name, writes=False)
        return Side({"version": any_shop.version}, f"read_parquet('{tmp_path / name}')")

    try:
        whole = by(parse_target(any_shop.url(), environ={}), "whole")
        found = compared(tapes[1], whole, by(account, "narrow"))
        told = "the account may not see all tables of shop. Run GRANT SELECT ON `shop`.* TO 'narrow'@'%'"
        assert texts(found) == []
        assert told in (found.problem or "")
        seen = compared(tapes[0], whole, by(account, "narrow"))
        assert texts(seen) == []
        assert (told in (seen.problem or "")) == (narrow != ONLY_A)
        any_shop.execute(told[told.index("GRANT") :])
        found = compared(tapes[1], whole, by(account, "granted"))
        assert texts(found) == []
        assert told not in (found.problem or "")
    finally:
        any_shop.execute("DROP USER narrow@'%'")


@pytest.mark.parametrize("called", [False, True])
def test_hidden_routines_are_unknown_if_the_tape_calls_one(called: bool, tmp_path: Path) -> None:
    a = facts_of(SCHEMA, ("routine", "shop", "", "tax", '{"is": "FUNCTION"}'))
    unseen = '{"unknown": "routine", "said": "no routines of shop: GRANT EXECUTE"}'
    statement = f"SELECT {'tax' if called else 'max'}(1) FROM orders"
    tape = make_tape(tmp_path / "called.tape", [{"statement": statement}])
    found = compared(tape, a, facts_of(SCHEMA, ("problem", "", "", "", unseen)))
    said = "The schemas were compared only in part: B: no routines of shop: GRANT EXECUTE."
    assert (texts(found), found.problem) == ([], said if called else None)


def test_invalid_view_does_not_lack_columns(database: AnalysisDatabase) -> None:
    """A view whose table is missing has no columns, so the report shows the table as missing. A view with an unknown
    definition is compared by its columns.
    """
    shared = [SCHEMA, ("table", "shop", "seen", "", '{"type": "VIEW"}')]
    for definition, said in (('{"definition": "select x"}', []), ("{}", ["B lacks column x on seen"])):
        b = [*shared, ("view", "shop", "seen", "", definition)]
        a = [*b, ("table", "shop", "base", "", "{}"), ("column", "shop", "seen", "x", "{}")]
        found = compare_servers(database, facts_of(*a), facts_of(*b))
        assert texts(found) == ["B lacks the table base", *said]


@pytest.mark.parametrize("facts", ["{", "[]", "[" * 100_000, None])
def test_properties_that_are_no_json_object_are_empty(facts: Any) -> None:
    assert loaded(facts) == {}


def test_important_settings_come_first_and_version_effects_are_summarized() -> None:
    """Settings are sorted by importance. Renamed settings are matched. Switches and modes that exist in only one
    version are summarized.
    """
    a = {"sort_buffer_size": "1", "sql_mode": "X,NO_AUTO_CREATE_USER", "tx_isolation": "R", "back_log": "1"}
    b = {"sort_buffer_size": "2", "sql_mode": "X", "transaction_isolation": "R", "back_log": "2"}
    found = setting_differences({**a, "optimizer_switch": "mrr=on"}, {**b, "optimizer_switch": "mrr=on,new=on"})
    assert [(each.name, each.folded) for each in found] == [
        ("sql_mode", True),
        ("optimizer_switch", True),
        ("sort_buffer_size", False),
    ]


def test_empty_flush_method_means_fsync() -> None:
    """MySQL 5.7 shows an empty flush method when it uses fsync. Any other value is a difference."""
    assert setting_differences({"innodb_flush_method": ""}, {"innodb_flush_method": "fsync"}) == []
    found = setting_differences({"innodb_flush_method": ""}, {"innodb_flush_method": "O_DIRECT"})
    assert [each.text for each in found] == ["innodb_flush_method: empty in A, O_DIRECT in B"]


def test_maximum_limits_are_equal_at_any_integer_width() -> None:
    largest, larger = str(2**32 - 1), str(2**64 - 1)
    assert setting_differences({"max_seeks_for_key": largest}, {"max_seeks_for_key": larger}) == []
    (lower,) = setting_differences({"max_seeks_for_key": largest}, {"max_seeks_for_key": "1"})
    assert lower.name == "max_seeks_for_key"


def test_order_of_sql_modes_is_no_difference() -> None:
    assert setting_differences({"sql_mode": "A,B"}, {"sql_mode": "B,A"}) == []
    assert setting_differences({"sql_mode": "A,B"}, {"sql_mode": ""})[0].text == "sql_mode: only A has A, B"


def test_variables_that_only_one_server_has_come_last() -> None:
    """The value None marks a variable that a server does not have. Variables that contain the server's own names are
    not compared.
    """
    rows = different_variables({"old": "1", "z": "1"}, {"new": "2", "z": "2", "server_id": "7"})
    assert [(row["name"], row["a"], row["b"]) for row in rows] == [
        ("z", "1", "2"),
        ("new", None, "2"),
        ("old", "1", None),
    ]
    assert different_variables({"port": "1", "a": "1", "b": "2"}, {"port": "2", "a": "1", "b": "3"}) == [
        {"name": "b", "a": "2", "b": "3"}
    ]


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("before", "after", "schedulers", "said"),
    [
        ([SWEEP], [], ("OFF", "ON"), ["event shop.sweep runs in B only (event_scheduler is OFF in A)"]),
        ([SWEEP], [], ("ON", "ON"), []),
        ([SWEEP], [], ("OFF", "OFF"), []),
        ([], [SWEEP], ("ON", "ON"), ["event shop.sweep runs in B only"]),
        ([SWEEP], ["ALTER EVENT shop.sweep DISABLE"], ("ON", "ON"), ["event shop.sweep runs in A only"]),
        ([EMPTY], [CALLS], ("ON", "ON"), ["event shop.nightly runs in B only"]),
        ([SWEEP], [OFTEN], ("ON", "ON"), ["event shop.sweep: the definitions differ"]),
        ([SWEEP], [OFTEN], ("ON", "OFF"), ["event shop.sweep runs in A only (event_scheduler is OFF in B)"]),
        ([TRIGGER], ["DROP TRIGGER shop.stamp"], ("ON", "ON"), ["B lacks trigger stamp on cart"]),
    ],
)
def test_event_or_trigger_that_only_one_side_has_is_named(
    any_shop: Server, before: list[str], after: list[str], schedulers: tuple[str, str], said: list[str], tmp_path: Path
) -> None:
    any_shop.execute("CREATE TABLE shop.cart (id INT PRIMARY KEY, made DATETIME)")
    any_shop.execute("CREATE TABLE IF NOT EXISTS shop.log (id INT)")
    any_shop.execute("CREATE PROCEDURE shop.note() INSERT INTO log VALUES (1)")
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT COUNT(*) FROM cart", "db": "shop"}])
    sides = []
    for place, statements in enumerate((before, after)):
        for statement in statements:
            any_shop.execute(statement)
        file = tmp_path / f"{place}.parquet"
        with duckdb.connect() as con, closing(parse_target(any_shop.url(), environ={}).connect()) as server:
            keep_schema_facts(con, server, {"shop": "shop"}, file)
        sides.append(Side({"variables": {"event_scheduler": schedulers[place]}}, f"read_parquet('{file}')"))
    found = [each for each in compared(tape, *sides).differences if each.kind in ("event", "trigger")]
    assert [each.text for each in found] == said
    assert [each.table for each in found] == ["cart"] * len(said)
    assert all(each.is_on(frozenset({"log"})) == (each.kind == "trigger") for each in found)


def other_results(folder: Path) -> Report:
    """Return a comparison in which the result of a read of `cart` differs."""
    tape = make_tape(folder / "t.tape", [{"statement": "SELECT COUNT(*) FROM cart", "errno": 0}])
    runs = [make_run(folder / f"{n}.run", tape, [{"rows_sent": n}]) for n in range(2)]
    return build(tape, runs[:1], runs[1:])


@pytest.mark.slow
@pytest.mark.parametrize(("scheduler", "said"), [("ON", []), ("OFF", ["event shop.sweep runs in B only"])])
def test_hidden_events_are_reported_as_unknown(scheduler: str, said: list[str]) -> None:
    """Hidden events are reported as unknown, not as missing. A server whose event scheduler is off runs no events."""
    unseen = ("problem", "", "", "the account may not see events", '{"unknown": "event"}')
    event = ("event", "shop", "", "sweep", '{"status": "ENABLED", "does": "DELETE FROM cart"}')
    sides = [facts_of(SCHEMA, row, event_scheduler=value) for value, row in ((scheduler, unseen), ("ON", event))]
    database = open_analysis()
    database.con.execute(
        "CREATE TEMP VIEW tape_digest AS SELECT NULL::VARCHAR[] AS tables, 0 AS duration_ns, '' AS digest"
    )
    found = [each.text[:31] for each in compare_servers(database, *sides).differences if each.kind == "event"]
    database.close()
    assert found == said


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(("table", "named"), [("cart", True), ("other", False)])
def test_scheduled_event_precedes_race_as_reason(table: str, named: bool, tmp_path: Path) -> None:
    """If a scheduled event of the server writes to a table of the statement, the changed result counts. The scheduled
    event is its cause.
    """
    report = other_results(tmp_path)
    (row,) = report.answers["results"]
    row["reason"] = "perhaps_race"
    event = ServerDifference("event", "shop.sweep", "event shop.sweep runs in B only", table=table, digests=1)
    report = replace(report, servers=Servers((event,)))
    report.servers = with_causes(report)
    name_server_writes(report)
    assert row["reason"] == ("server_writes" if named else "perhaps_race")
    assert bool(against_b(report)) == named
    (task,) = (task for task in to_do(report) if task.part == ELSE)
    assert ("event shop.sweep runs in B only" in task.cause) == named


def database_with_facts() -> AnalysisDatabase:
    """Return a database that contains the properties FACTS for both sides."""
    database = open_analysis()
    rows = ", ".join(f"('a', '{kind}', '{tbl}', '{name}', '{facts}')" for kind, tbl, name, facts in FACTS)
    database.con.execute(f"CREATE TEMP VIEW schema_fact AS FROM (VALUES {rows}) AS v(run, kind, tbl, name, facts)")
    return database


@pytest.mark.parametrize(
    ("text", "named", "tables", "routines"),
    [
        ("select id from orders", {"orders"}, {"orders"}, set()),
        ("select id from seen_twice", {"seen_twice"}, {"seen_twice", "open_orders", "orders"}, set()),
        ("select `shop`.`tax`(?) from orders", {"orders"}, {"orders", "taxes"}, {"tax"}),
        ("call close_all", set(), {"log", "taxes"}, {"close_all", "tax"}),
        ("call shop.close_all(?)", set(), {"log", "taxes"}, {"close_all", "tax"}),
        ("select tax from orders", {"orders"}, {"orders"}, set()),
        ("select hidden(?), damaged(?)", set(), None, {"hidden", "damaged"}),
        ("select n from stock", {"stock"}, {"stock"}, set()),
        ("update stock set n = ?", {"stock"}, {"stock", "log", "taxes"}, {"close_all", "tax"}),
        (None, set(), None, set()),
    ],
)
def test_statement_reaches_tables_behind_its_objects(
    text: str | None, named: set[str], tables: set[str] | None, routines: set[str]
) -> None:
    """A statement reaches its own tables and the tables of its views, routines and triggers at any depth. A column name
    calls no routine.
    """
    database = database_with_facts()
    write = text is not None and text.startswith("update")
    database.con.execute(
        "CREATE TEMP TABLE tape_digest AS SELECT 'd' AS digest, $1::VARCHAR[] AS calls, $2 AS class",
        [text and Normalizer().names(text.encode())[1], "write" if write else "read"],
    )
    reached, called = seen_through(database, {"d": frozenset(named)} if named else {})
    database.close()
    assert reached.get("d") == tables
    assert called["d"] == routines


@pytest.mark.parametrize(
    ("definition", "names"),
    [
        (
            "BEGIN INSERT LOW_PRIORITY IGNORE INTO `shop`.`log` VALUES (1); replace orders SET a = 1; END",
            {"log", "orders"},
        ),
        ("UPDATE IGNORE taxes SET rate = (SELECT MAX(n) FROM orders)", {"taxes"}),
        ("DELETE QUICK FROM log WHERE id = 1", {"log"}),
        ("TRUNCATE TABLE log", {"log"}),
        ("SET NEW.updated = NOW()", set()),
        (None, set()),
    ],
)
def test_tables_written_by_a_definition(definition: str | None, names: set[str]) -> None:
    """Each kind of write in a definition names its table. Tables that are only read are excluded."""
    assert written_by(definition) == names


def test_routine_writes_tables_of_its_body_and_its_calls() -> None:
    database = database_with_facts()
    objects = Objects.of(database)
    database.close()
    assert objects.writes("BEGIN CALL close_all(); UPDATE stock SET n = 1; INSERT INTO orders VALUES (1); END") == {
        "log",
        "orders",
    }
