# SPDX-License-Identifier: Apache-2.0
"""Errors: their kinds, the number of errors that count against B, and errors that follow from another error."""

from typing import Any

import pytest
from querytape.analyze.findings.errors import NEW_ERRORS, ON_BOTH, WORDS, by_digest, on_tape, roots_of

from tests.helpers.shapes import rows_of

NEW = next(what for what in NEW_ERRORS if what != ON_BOTH)


def test_events_are_counted_by_digest() -> None:
    """Only the requested kinds of errors are counted, and each kind has a text."""
    given = [
        {"what": what, "digest": digest, "events": 2 + n} for n, what in enumerate(WORDS) for digest in ("a", "a", "b")
    ]
    rows = rows_of("errors", *given)
    assert by_digest(rows, "new") == {"a": 4, "b": 2}
    assert by_digest(rows, "new", "changed") == {"a": 10, "b": 5}
    assert by_digest(rows, "other") == {}
    assert set(NEW_ERRORS) <= set(WORDS)


def test_an_unknown_error_number_is_not_success() -> None:
    assert [on_tape(errno) for errno in (None, 0, 1062)] == ["unknown", "succeeded", "1062"]


def error(digest: str, errno: int, what: str = NEW) -> Any:
    (row,) = rows_of("errors", {"digest": digest, "after": errno, "what": what})
    return row


@pytest.mark.parametrize(
    ("maker", "follower", "errno", "tables", "follows"),
    [
        ("create table t ( a int )", "select * from t", 1146, {"t"}, True),
        ("CREATE TABLE IF NOT EXISTS `shop` . `t` ( a int )", "insert into t values (?)", 1146, {"t"}, True),
        ("create temporary table t ( a int )", "drop table t", 1051, {"t"}, True),
        ("create or replace view v as select ?", "select * from v", 1146, {"v"}, True),
        ("create definer = root@localhost function f ( ) returns int return ?", "select f ( )", 1305, set(), True),
        ("create procedure p ( ) select ?", "call shop.p ( )", 1305, set(), True),
        ("alter table t add column c int", "select c from t", 1054, {"t"}, True),
        ("create table t ( a int )", "select * from u", 1146, {"u"}, False),
        ("create table t ( a int )", "select b from t", 1054, {"t"}, False),
        ("create function f ( ) returns int return ?", "select fine ( )", 1305, set(), False),
        ("select * from t", "insert into t values (?)", 1146, {"t"}, False),
        ("alter table t add column c int", "select * from t", 1146, {"t"}, False),
    ],
)
def test_missing_object_error_follows_from_failed_statement(
    maker: str, follower: str, errno: int, tables: set[str], follows: bool
) -> None:
    """The error follows from a failed statement only if that statement should have created the object."""
    errors = [error("root", 3750), error("other", errno)]
    found = roots_of(errors, {"root": maker, "other": follower}, {"other": frozenset(tables)})
    assert found == ({"other": errors[0]} if follows else {})


def test_create_that_also_failed_on_the_tape_is_no_root() -> None:
    """An error that occurs only in B is no root cause if the object is also missing in A."""
    texts = {"root": "create table t ( a int )", "other": "select * from t"}
    tables = {"other": frozenset({"t"})}
    assert roots_of([error("other", 1146)], texts, tables) == {}
    assert roots_of([error("root", 1064, "gone"), error("other", 1146)], texts, tables) == {}
    assert roots_of([error("root", 1064), error("other", 1146, ON_BOTH)], texts, tables) == {}
