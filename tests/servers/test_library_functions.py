# SPDX-License-Identifier: Apache-2.0
"""Tests of loadable functions, of views and routines that call them, and of servers that hide them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pymysql
from pymysql.connections import Connection
from querytape.servers.library_functions import LibraryFunctions, library_functions

Answers = Mapping[str, Sequence[Sequence[object]]]


class FakeServer:
    """A server that answers a query if the query contains a known word. It refuses all other queries."""

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


def functions_with_answers(answers: Answers) -> LibraryFunctions:
    """Return the loadable functions of a server with these answers."""
    return library_functions(cast("Connection[Any]", FakeServer(answers)))


def test_indirect_callers_are_found() -> None:
    """Views and routines may call a function through other views or routines. A routine whose text is hidden counts as
    a caller. System schemas do not count.
    """
    found = functions_with_answers(
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


def test_hidden_functions_are_unknown() -> None:
    """If the first source is refused, the second source is queried. If both are refused, the functions are unknown. If
    the server has no functions, no further query is sent.
    """
    assert functions_with_answers({"user_defined_functions": [("f",)]}) == LibraryFunctions(("f",))
    assert functions_with_answers({}) == LibraryFunctions(None)
    assert functions_with_answers({}).refused() is None
    none = FakeServer({"mysql.func": [], "VIEWS": [("shop", "v", None)]})
    assert library_functions(cast("Connection[Any]", none)) == LibraryFunctions()
    assert none.asked == 1


def test_name_with_a_line_break_is_left_out() -> None:
    """The engine would read a name with a line break as several names."""
    assert functions_with_answers({"mysql.func": [("a\nb",), ("",), ("c",)]}).names == ("c",)


def test_statement_that_uses_a_function_is_found() -> None:
    """The name of a function matches only in a call. The name of a calling view also matches as a table. Upper and
    lower case are equal.
    """
    library = LibraryFunctions(("Bell",), ("V1", "ring"))
    assert library.named_by((), ("now", "BELL")) == "bell"
    assert library.named_by(("bell", "t"), ("now",)) is None
    assert library.named_by(("t", "v1"), ()) == "v1"
    assert library.named_by((), ("Ring",)) == "ring"
    assert LibraryFunctions(None).named_by(("bell",), ("bell",)) is None


def test_functions_of_two_servers_are_merged() -> None:
    """Each name appears once. If one server hides its functions, the functions of the other server stay in the list."""
    both = LibraryFunctions(("a", "b"), ("v",)) | LibraryFunctions(("b", "c"), ("w",))
    assert both == LibraryFunctions(("a", "b", "c"), ("v", "w"))
    assert (LibraryFunctions(("a",)) | LibraryFunctions(None)).names == ("a",)
    assert (LibraryFunctions(None) | LibraryFunctions(None)).names is None
