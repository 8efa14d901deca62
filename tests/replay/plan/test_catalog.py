# SPDX-License-Identifier: Apache-2.0
"""Tests of the tables that a statement may access."""

from typing import Any, cast

import pymysql
import pytest
from querytape.common.duck import insert_rows, small_database
from querytape.common.errors import TargetError
from querytape.common.groups import join_pairs
from querytape.native.bindings.statements import Normalizer
from querytape.replay.plan.catalog import (
    LONGEST,
    Catalog,
    Objects,
    bare,
    created_objects,
    created_schemas,
    hidden_inserts,
    may_set_off,
    names_in_ddl,
    read_catalog,
    redefines,
    tables_of,
    touched_tables,
)
from querytape.schemas import ACTIONS
from querytape.schemas.names import USE_ADDS_ROWS, USE_ASKS


def test_tables_of_statements_are_found() -> None:
    """Foreign keys connect tables. Routines, views and triggers hide the tables that they use."""
    catalog = Catalog(frozenset({"audit", "refresh"}), join_pairs([("items", "orders")]))
    normalizer = Normalizer()
    table = [
        ("select * from `Orders` o, shop.log", "read", {"items", "log"}),
        ("update items set orders = ?", "write", {"items"}),
        ("insert into `my log` select * from items", "write", {"my log", "items"}),
        ("select * from ` XXlogXX ` join shop.`a.b`", "read", {" xxlogxx ", "a.b"}),
        ("select ?", "read", set()),
        ("select refresh(?)", "read", None),
        ("call refresh(?)", "write", None),
        ("call other(?)", "write", None),
        ("insert into shop.audit values (?+)", "write", None),
        ("create database d", "ddl", None),
        ("set names utf8", "session", set()),
        ("commit", "transaction", set()),
        ("start transaction with consistent snapshot", "transaction", None),
    ]
    for text, kind, want in table:
        snapshot = normalizer.normalize(text.encode()).actions & ACTIONS["snapshot"] != 0
        tables = tables_of(*normalizer.names(text.encode()), kind, snapshot, catalog)
        assert (None if tables is None else set(tables)) == want, text
    assert tables_of(None, [], "read", False, catalog) is None


def test_tables_behind_views_and_triggers_are_found() -> None:
    """A view of a view, a trigger that fires another trigger, and names that are no words count. Texts that are hidden,
    that run a routine, or that contain dynamic SQL stay unknown, and so does everything that uses them.
    """
    bodies = [
        ("v", "select `shop`.`a`.`id` from `shop`.`a`"),
        ("vv", "select * from v join `my log`"),
        ("a", "update b set n = n + 1"),
        ("b", "begin insert into c values (new.id); end"),
        ("b", "set @x = 1"),
        ("hidden", ""),
        ("h2", "select * from hidden"),
        ("called", "call p(1)"),
        ("dynamic", "execute immediate 'select 1'"),
    ]
    tables = {"a", "b", "c", "my log", "other", "v", "vv", "hidden", "h2", "called", "dynamic"}
    touched = touched_tables(bodies, tables, {"p"})
    assert touched == {
        "v": {"v", "a", "b", "c"},
        "vv": {"vv", "v", "my log", "a", "b", "c"},
        "a": {"a", "b", "c"},
        "b": {"b", "c"},
    }
    shows = touched_tables([body for body in bodies if body[0] in ("v", "vv", "hidden")], tables, {"p"})
    catalog = Catalog(
        frozenset({*touched, "hidden", "p"}), touches=touched, shows=shows, fires=frozenset({"a", "b", "called"})
    )
    assert tables_of(["shop.vv"], [], "read", False, catalog) == frozenset({"vv", "v", "my log", "a"})
    assert tables_of(["shop.vv"], [], "write", False, catalog) == frozenset({"vv", "v", "my log", "a", "b", "c"})
    assert tables_of(["a", "called"], [], "read", False, catalog) == frozenset({"a", "called"})  # fires no trigger
    assert tables_of(["a", "called"], [], "ddl", False, catalog) == frozenset({"a", "called"})
    assert tables_of(["a"], [], "admin", False, catalog) == frozenset({"a", "b", "c"})  # LOCK TABLES
    assert tables_of(["other", "a"], [], "write", False, catalog) == frozenset({"other", "a", "b", "c"})
    assert tables_of(["hidden"], [], "read", False, catalog) is None
    assert tables_of(["a"], ["p"], "write", False, catalog) is None


class AnsweringTarget:
    """A connection that chooses its answer by the information_schema table in the query."""

    def __init__(self, answers: dict[str, list[tuple[object, ...]]]) -> None:
        self.answers, self.asked = answers, ""
        self.all_asked: list[str] = []

    def cursor(self) -> "AnsweringTarget":
        return self

    def __enter__(self) -> "AnsweringTarget":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, sql: str) -> None:
        self.asked = sql
        self.all_asked.append(sql)
        if "fails" in self.answers:
            raise pymysql.OperationalError(1142, "SELECT command denied")

    def fetchall(self) -> list[tuple[object, ...]]:
        if "@@" in self.asked:
            return [(3, 2)]
        return next((rows for name, rows in self.answers.items() if f"information_schema.{name} " in self.asked), [])


def test_catalog_of_the_target_is_read() -> None:
    """Views, routines and tables with triggers hide the tables that they use. Foreign keys connect tables. All names
    are in lower case.
    """
    answers: dict[str, list[tuple[object, ...]]] = {
        "VIEWS": [("Recent", "select * from `items`")],
        "ROUTINES": [("REFRESH", "INSERT INTO items VALUES (1)"), ("tidy", "DELETE FROM items")],
        "TRIGGERS": [("Audit", "INSERT", "CALL Refresh()", "Audit_i")],
        "REFERENTIAL_CONSTRAINTS": [("Items", "ORDERS", 0), ("orders", "customers", 0), ("Away", "home", 1)],
        "COLUMNS": [("Invoices",), ("ITEMS",)],
    }
    target = AnsweringTarget(answers)
    catalog = read_catalog(cast(Any, target))
    own = "_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')"
    assert all(own in sql for sql in target.all_asked[:-1])
    assert target.all_asked[-1] == "SELECT @@GLOBAL.auto_increment_increment, @@GLOBAL.auto_increment_offset"
    assert catalog.opaque == {"recent", "refresh", "tidy", "audit"}
    assert sorted(catalog.numbering or ()) == ["invoices", "items", "recent"]
    assert (set(catalog.hidden), catalog.steps) == ({"call refresh", "insert audit"}, (3, 2))
    assert len({catalog.together[name] for name in ("items", "orders", "customers")}) == 1
    assert catalog.across == {catalog.together["home"]}
    with pytest.raises(TargetError, match=r"cannot list the target's tables: .*SELECT command denied"):
        read_catalog(cast(Any, AnsweringTarget({"fails": []})))


def created(*statements: str) -> Objects:
    """Return the objects that statements create."""
    normalizer = Normalizer()
    texts = [text.encode() for text in statements]
    return created_objects((normalizer.normalize(text).text, *normalizer.names(text)) for text in texts)


HIDING = [
    ("CREATE TRIGGER c_u AFTER UPDATE ON c FOR EACH ROW UPDATE total SET n = n + 1 WHERE id = NEW.id", "c", {"total"}),
    (
        "create or replace definer=root@localhost trigger if not exists `db`.`t` before insert or delete on `db`.`My c`"
        " for each row begin insert into audit values (new.id); delete from audit2; end",
        "my c",
        {"audit", "audit2"},
    ),
    ("create view V as select * from b join d.e using (id)", "v", {"b", "e"}),
    ("create definer=current_user() sql security invoker view w (a) as select * from b", "w", {"b"}),
    ("alter algorithm=merge view w as select * from z", "w", {"z"}),
    (
        "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `b_u` AFTER UPDATE ON `b` FOR EACH ROW"
        " update a set n = 1 */",
        "b",
        {"a"},
    ),
    (
        "/*!50001 CREATE ALGORITHM=UNDEFINED */ /*!50013 DEFINER=`root`@`localhost` SQL SECURITY DEFINER */"
        " /*!50001 VIEW `v` AS select `b`.`id` AS `id` from `b` */",
        "v",
        {"b"},
    ),
    ("create definer=`table`@`%` trigger x after update of n, m on b for each row update a set n = 1", "b", {"a"}),
    ("create definer=p trigger p after update on b for each row update a set n = 1", "b", {"a"}),
    (
        f"create trigger x after update on b for each row begin {'set @a = 1; ' * 9000} update a set n = 1; end",
        "b",
        None,
    ),
    ("create trigger t after update on x for each row call p(1)", "x", None),
    ("create trigger t after update on x for each row execute immediate 'select 1'", "x", None),
    ("create procedure p(a int) update t set n = a", "p", None),
    ("create or replace function f(a int) returns int deterministic return (select max(n) from t)", "f", None),
]


@pytest.mark.parametrize(("statement", "name", "behind"), HIDING)
def test_objects_that_the_tape_creates_hide_tables(statement: str, name: str, behind: set[str] | None) -> None:
    """They are treated like those of the target."""
    target = AnsweringTarget({"ROUTINES": [("p", "INSERT INTO items VALUES (1)")]})
    catalog = read_catalog(cast(Any, target), created(statement))
    assert name in catalog.opaque
    assert catalog.touches.get(name) == (None if behind is None else {name, *behind})


@pytest.mark.parametrize(
    ("ddl", "names"),
    [
        ("create trigger g after update on a for each row update b set n = 1", {"a"}),
        (
            "create definer=root@localhost trigger if not exists s.g before delete on a for each row delete from b",
            {"a"},
        ),
        ("drop trigger audit_i", {"audit"}),
        ("DROP TRIGGER IF EXISTS shop.`Audit_I`", {"audit"}),
        ("drop trigger other", {"trigger other"}),
        ("create procedure p() update a set n = 1", {"procedure p"}),
        ("create definer=x@y function `f g`() returns int return 1", {"function f g"}),
        ("drop procedure if exists p", {"procedure p"}),
        ("create event e on schedule every 1 day do delete from a", {"event e"}),
        ("create view v as select * from a", {"v", "a"}),
        ("drop view v", {"v"}),
        ("alter table a add column trigger_id int", {"a"}),
        ("create index event on a (n)", {"a"}),
        ("create table a (id int); create trigger g after update on b for each row delete from c", {"a", "b", "c"}),
        ("drop trigger audit_i; drop table b", {"b"}),
    ],
)
def test_ddl_locks_no_table_inside_a_body(ddl: str, names: set[str]) -> None:
    """The body of a trigger, routine or event is not executed. DROP TRIGGER locks the table of the trigger."""
    target = AnsweringTarget({"TRIGGERS": [("Audit", "INSERT", "DELETE FROM b", "Audit_i")]})
    catalog = read_catalog(cast(Any, target))
    normalizer = Normalizer()
    named, calls = normalizer.names(ddl.encode())
    locked = names_in_ddl(normalizer.normalize(ddl.encode()).text, named, catalog)
    assert tables_of(locked, calls, "ddl", False, catalog) == frozenset(names)


def test_a_trigger_of_the_tape_on_a_view_of_the_target_counts() -> None:
    target = AnsweringTarget({"VIEWS": [("recent", "select * from `items`")], "TABLES": [("items",), ("recent",)]})
    made = created("create trigger i_u after update on items for each row insert into log values (null)")
    catalog = read_catalog(cast(Any, target), made)
    assert catalog.touches["recent"] == {"recent", "items", "log"}


def test_renamed_tables_keep_their_triggers_and_share_one_order() -> None:
    made = created(
        "create trigger b_u after update on b for each row update a set n = 1",
        "rename table b to b_old, b_new to b",
        "alter table b_old rename to gone",
    )
    catalog = read_catalog(cast(Any, AnsweringTarget({})), made)
    assert catalog.touches["b_new"] == {"b_new", "a"}
    assert catalog.touches["gone"] == {"gone", "a"}
    assert len({catalog.together[name] for name in ("b", "b_old", "b_new", "gone")}) == 1


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("insert into a values (?+)", USE_ASKS),  # through the trigger of b
        ("delete from a where id = ?", USE_ADDS_ROWS),
        ("replace into a values (?+)", USE_ASKS | USE_ADDS_ROWS),
        ("update a set n = replace(n, ?)", 0),
        ("insert into v values (?+)", USE_ASKS),
        ("delete from `my log`", USE_ASKS | USE_ADDS_ROWS),  # the server hides the text of the trigger
        ("delete from other", 0),
        ("insert into a values (?+)".ljust(LONGEST), USE_ASKS | USE_ADDS_ROWS),
    ],
)
def test_triggers_ask_for_rows_and_add_rows_by_their_texts(text: str, uses: int) -> None:
    triggers = [
        ("A", "INSERT", "SET @n = NEW.id", "a_i"),
        ("a", "INSERT", "UPDATE b SET n = 1 WHERE id = NEW.id", "a_i2"),
        ("a", "DELETE", "INSERT INTO log VALUES (OLD.id)", "a_d"),
        ("a", "UPDATE", "SET NEW.n = REPLACE(NEW.n, 'x', '')", "a_u"),
        ("my log", "DELETE", "", "l_d"),
    ]
    tables = [(name,) for name in ("a", "b", "log", "my log", "other", "v")]
    answers: dict[str, list[tuple[object, ...]]] = {
        "TRIGGERS": list(triggers),
        "TABLES": list(tables),
        "VIEWS": [("v", "select * from `a`")],
    }
    catalog = read_catalog(cast(Any, AnsweringTarget(answers)))
    named, _ = Normalizer().names(text.encode())
    assert catalog.uses_by_triggers(text, [bare(name) for name in named or ()]) == uses


def test_triggers_that_fire_each_other_have_the_uses_of_both() -> None:
    made = created(
        "create trigger a_i after insert on a for each row insert into b values (new.id)",
        "create trigger b_i after insert on b for each row delete from c where id = new.id",
        "create trigger c_d after delete on c for each row insert into a values (old.id)",
    )
    catalog = read_catalog(cast(Any, AnsweringTarget({})), made)
    assert set(catalog.uses_of_triggers.values()) == {USE_ASKS | USE_ADDS_ROWS}


def test_trigger_of_the_tape_hides_inserts_only_by_its_body() -> None:
    target = AnsweringTarget({"COLUMNS": [("orders",), ("log",)]})
    made = created(
        "create trigger o_i after insert on orders for each row update total set n = n + 1",
        "create trigger t_u after update on total for each row insert into log values (null)",
        "create or replace procedure p() update orders set n = 1",
    )
    catalog = read_catalog(cast(Any, target), made)
    assert catalog.hidden == {"update total", "insert orders"}  # the second is fired by the first
    assert (
        read_catalog(cast(Any, target), created("create or replace procedure p() update t set n = 1")).hidden == set()
    )


@pytest.mark.parametrize(
    ("ddl", "is_old"),
    [
        ("alter table b engine = innodb", True),
        ("alter table b comment 'x', engine = innodb", True),
        ("alter table b add column m int", True),
        ("alter table b rename column m to n", True),
        ("truncate table b", True),
        ("drop table b", True),
        ("create index i on b (n)", True),
        ("create table b (id int)", True),
        ("alter table b comment 'x'", False),
        ("alter table b auto_increment = 7", False),
        ("alter table b rename to c", False),
        ("rename table b to c", False),
        ("create trigger b_u after update on b for each row update a set n = 1", False),
        ("/*!50001 CREATE ALGORITHM=UNDEFINED */ /*!50001 VIEW `v` AS select 1 */", False),
        ("drop view v", False),
    ],
)
def test_ddl_that_makes_snapshots_too_old(ddl: str, is_old: bool) -> None:
    assert redefines(Normalizer().normalize(ddl.encode()).text) == is_old
    assert not redefines(None)


def test_created_schemas_are_found() -> None:
    """Names may be quoted, and mysqldump writes version comments."""
    texts = (
        "CREATE DATABASE Fresh",
        "create schema if not exists ab character set utf8mb4",
        "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `x y` /*!40100 DEFAULT CHARACTER SET utf8mb4 */",
        "create or replace database `q.r`",
        "drop database gone",
        "create table t (`create database z` int)",
    )
    with small_database() as con:
        con.execute("CREATE TABLE tape_digests (class VARCHAR, normalized VARCHAR)")
        rows = [("ddl", Normalizer().normalize(text.encode()).text) for text in texts]
        insert_rows(con, "tape_digests", [*rows, ("ddl", None), ("read", "create database no")])
        assert created_schemas(con) == {"fresh", "ab", "x y", "q.r"}


def test_damaged_digests_create_nothing() -> None:
    assert (
        created_objects([("", None, None), ("create trigger x", [], []), ("create procedure", None, [])]) == Objects()
    )


def test_keys_and_generated_ids_of_created_tables_count() -> None:
    statements = (
        "create table child (id int auto_increment primary key, p int, foreign key (p) references parent(id))",
        "alter table away add foreign key (p) references other.home(id)",
        "create table plain (id int) auto_increment=7",
        "create table copied as select * from plain",
    )
    catalog = read_catalog(cast(Any, AnsweringTarget({})), created(*statements))
    assert set(catalog.numbering or ()) == {"child"}
    assert catalog.together["child"] == catalog.together["parent"]
    assert catalog.across == {catalog.together["home"]}
    assert not catalog.opaque


@pytest.mark.parametrize(
    "statement",
    [
        "alter table t add column view int",
        "create index view on t (a)",
        "create event e on schedule every 1 second do create or replace view v as select 1",
        "create table t as select * from view",
        "drop trigger c_u",
        "create definer=`a view b`@`%` table x (id int)",
        "alter table b rename column m to n",
    ],
)
def test_other_ddl_creates_no_hiding_objects(statement: str) -> None:
    assert created(statement) == Objects()


@pytest.mark.parametrize(
    ("text", "effects"),
    [
        ("insert into t values (?+)", {"insert t"}),
        ("insert into t values (?+) on duplicate key update a = ?", {"insert t", "update t"}),
        ("replace into t values (?+)", {"insert t", "delete t"}),
        ("update t set a = replace(a, ?)", {"update t"}),
        ("delete from t", {"delete t"}),
        ("load data infile ? into table t", {"insert t"}),
        ("select f(?) from t", {"call f"}),
        ("select ? from t", set()),
    ],
)
def test_effects_of_a_statement_are_found_by_its_words(text: str, effects: set[str]) -> None:
    """The function may return too many effects, but never too few."""
    assert may_set_off(text, ["t"], ["f"] if "f(" in text else []) == effects


BODIES = [
    ("call direct", "insert into `numbered` values (1)"),
    ("call through", "begin call direct(); end"),
    ("call reads", "select max(id) from numbered"),
    ("call plain", "insert into other values (1)"),
    ("call sets_off", "begin insert into audited values (1); end"),
    ("call dynamic", "begin prepare s from @s; execute s; end"),
    ("call not_shown", ""),
    ("call by_view", "replace into seen values (1)"),
    ("insert audited", "insert into numbered values (new.id)"),
    ("update audited", "set new.a = replace(new.a, 'numbered', '')"),
    ("update audited", "insert into other values (1)"),
]


def test_hidden_inserts_into_tables_with_generated_ids() -> None:
    """Triggers and routines may insert directly, through other routines, or through views. A routine whose text is not
    visible counts as an insert.
    """
    hidden, tables = hidden_inserts(
        BODIES, {"numbered"}, [("seen", "select * from inner_view"), ("inner_view", "numbered")]
    )
    names = ("direct", "through", "sets_off", "dynamic", "not_shown", "by_view")
    assert hidden == {"insert audited", *(f"call {name}" for name in names)}
    assert tables == {"numbered", "seen", "inner_view"}
    assert hidden_inserts(BODIES[:5], set()) == (frozenset(), frozenset())
    assert hidden_inserts([], {"numbered"}, [("not_shown", ""), ("other", "plain")])[1] == {"numbered", "not_shown"}
