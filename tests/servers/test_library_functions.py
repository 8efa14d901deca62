# SPDX-License-Identifier: Apache-2.0
"""Functions of libraries, what calls one, and what a server does not say of them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pymysql
from pymysql.connections import Connection
from querytape.servers.library_functions import LibraryFunctions, library_functions

Answers = Mapping[str, Sequence[Sequence[object]]]


class FakeServer:
    """Answers a query by a word of it, and refuses all others."""

    def __init__(self, answers: Answers) -> None:
        self.answers, self.open, self.asked = answers, True, 0
        self.rows: Sequence[Sequence[object]] = ()

    def cursor(self) -> "FakeServer":
        return self

    def __enter__(self) -> "FakeServer":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, query: str) -> None:
        self.asked += 1
        found = [rows for word, rows in self.answers.items() if word in query]
        if not found:
            raise pymysql.OperationalError(1142, "SELECT command denied")
        self.rows = found[0]

    def fetchall(self) -> Sequence[Sequence[object]]:
        return self.rows


def asked(answers: Answers) -> LibraryFunctions:
    """Return what a server with these answers is said to have."""
    return library_functions(cast("Connection[Any]", FakeServer(answers)))


def test_what_calls_one_is_found_through_others() -> None:
    """Views and routines that name one, or one of those; a text that may not be seen may call one; own schemas do not count."""
    found = asked(
        {
            "mysql.func": [(b"bell",), ("Gong",)],
            "ROUTINES": [
                ("shop", "ring", "BEGIN RETURN `BELL` (1); END"),
                ("shop", "quiet", "RETURN bells(1) + xbell + gong_x"),
                ("shop", "secret", None),
                ("sys", "version", None),
            ],
            "VIEWS": [
                ("shop", "v1", "select `shop`.`ring`() AS `a`"),
                ("shop", b"v2", b"select `a` from `shop`.`v1`"),
                ("shop", "v3", "select 1 from v22"),
                ("mysql", "v4", "select bell()"),
            ],
        }
    )
    assert found == LibraryFunctions(("Gong", "bell"), ("ring", "secret", "v1", "v2"))
    assert found.refused() == "Gong\nbell\n ring\n secret\n v1\n v2"


def test_who_may_not_see_them() -> None:
    """The second place is asked where the first is refused; none of both is not "none"; without any, nothing else is asked."""
    assert asked({"user_defined_functions": [("f",)]}) == LibraryFunctions(("f",))
    assert asked({}) == LibraryFunctions(None)
    assert asked({}).refused() is None
    none = FakeServer({"mysql.func": [], "VIEWS": [("shop", "v", None)]})
    assert library_functions(cast("Connection[Any]", none)) == LibraryFunctions()
    assert none.asked == 1


def test_hostile_names_are_left_out() -> None:
    """A name of several lines would be several names for the engine."""
    assert asked({"mysql.func": [("a\nb",), ("",), ("c",)]}).names == ("c",)


def test_who_names_one() -> None:
    """A function where it is called, a caller as a table too; letters of any size."""
    library = LibraryFunctions(("Bell",), ("V1", "ring"))
    assert library.named_by((), ("now", "BELL")) == "bell"
    assert library.named_by(("bell", "t"), ("now",)) is None
    assert library.named_by(("t", "v1"), ()) == "v1"
    assert library.named_by((), ("Ring",)) == "ring"
    assert LibraryFunctions(None).named_by(("bell",), ("bell",)) is None


def test_of_two_servers() -> None:
    """Each name once; what one says is kept where the other says nothing."""
    both = LibraryFunctions(("a", "b"), ("v",)) | LibraryFunctions(("b", "c"), ("w",))
    assert both == LibraryFunctions(("a", "b", "c"), ("v", "w"))
    assert (LibraryFunctions(("a",)) | LibraryFunctions(None)).names == ("a",)
    assert (LibraryFunctions(None) | LibraryFunctions(None)).names is None
