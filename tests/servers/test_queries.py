# SPDX-License-Identifier: Apache-2.0
"""Tests of server queries. A refused query has no result, and invalid answers are not trusted."""

from typing import Any, cast

import pymysql
import pytest
from pymysql.connections import Connection
from querytape.common.errors import TargetError
from querytape.servers.queries import query_or_none, whole

from .test_library_functions import FakeServer


def server(answers: Any) -> "Connection[Any]":
    """Return a server with these answers."""
    return cast("Connection[Any]", FakeServer(answers))


def test_refused_query_differs_from_an_empty_result() -> None:
    """A refused query gives None, but an empty result stays empty. Rows with too few columns are an error."""
    assert query_or_none(server({"one": [(1, 2)]}), "SELECT one", 2) == [(1, 2)]
    assert query_or_none(server({"one": []}), "SELECT one", 2) == []
    assert query_or_none(server({}), "SELECT one") is None
    with pytest.raises(TargetError, match="SELECT one: expected 3 columns, found 2"):
        query_or_none(server({"one": [(1, 2)]}), "SELECT one", 3)


def test_lost_connection_is_an_error() -> None:
    """The error contains the server's message in printable form."""

    class Lost(FakeServer):
        def execute(self, query: str) -> None:
            self.open = False
            raise pymysql.OperationalError(2013, "gone\x1b[31m")

    with pytest.raises(TargetError, match=r"SELECT 1: 2013 gone \[31m"):
        query_or_none(cast("Connection[Any]", Lost({})), "SELECT 1")


def test_only_whole_numbers_are_accepted() -> None:
    """A number contains only digits and has at most 64 bits."""
    assert [whole(each) for each in (7, "7", "007", "", "-1", "1.5", None, "٣", "9" * 21)] == [7, 7, 7, *[None] * 6]
