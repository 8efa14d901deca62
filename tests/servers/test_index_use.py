# SPDX-License-Identifier: Apache-2.0
"""Tests of the indexes of real servers, and of the counters of their use."""

from collections.abc import Callable

import pytest
from querytape.servers.index_use import IndexUse, ask_index_use
from querytape.servers.sandbox import Server
from querytape.servers.target import parse_target

TABLE = (
    "CREATE TABLE {db}.t (id INT PRIMARY KEY, used INT, unused INT, u INT, parent INT, KEY k_used (used), KEY k_unused (unused, used),"
    " UNIQUE KEY k_unique (u), KEY k_parent (parent), FOREIGN KEY (parent) REFERENCES {db}.t (id))"
)


def used_indexes(server: Server, db: str) -> tuple[IndexUse, dict[str, dict[str, object]]]:
    """Create a table, use one of its indexes, and return the index use that the server reports."""
    server.execute(f"CREATE DATABASE {db}")
    server.execute(TABLE.format(db=db))
    server.execute(f"INSERT INTO {db}.t VALUES (1, 1, 1, 1, NULL), (2, 2, 2, 2, 1)")
    server.execute(f"SELECT * FROM {db}.t FORCE INDEX (k_used) WHERE used = 2")
    use = ask_index_use(parse_target(server.url()))
    return use, {index["name"]: index for index in use.indexes if index["schema"] == db}


def check(indexes: dict[str, dict[str, object]]) -> None:
    """Check columns, uniqueness and foreign keys of the indexes. Primary keys are not included."""
    assert set(indexes) == {"k_used", "k_unused", "k_unique", "k_parent"}
    assert indexes["k_unused"]["columns"] == ["unused", "used"]
    assert [name for name in sorted(indexes) if indexes[name]["unique"]] == ["k_unique"]
    assert [name for name in sorted(indexes) if indexes[name]["foreign_key"]] == ["k_parent"]


@pytest.mark.server
def test_mysql_counts_index_use_in_the_performance_schema(mysql80_factory: Callable[..., Server]) -> None:
    """The performance schema is on by default, but the usual servers of these tests disable it."""
    use, indexes = used_indexes(mysql80_factory({"performance_schema": "ON"}), "index_use")
    check(indexes)
    assert indexes["k_used"]["uses"]
    assert indexes["k_unused"]["uses"] == 0
    assert (use.basis, use.unknown) == ("the performance schema", [])
    assert use.uptime_s is not None


@pytest.mark.server
def test_mariadb_counts_index_use_with_userstat(mariadb_factory: Callable[..., Server]) -> None:
    """The start time of userstat is unknown. Without userstat the index use is unknown."""
    server = mariadb_factory({"userstat": "1"})
    use, indexes = used_indexes(server, "index_use")
    check(indexes)
    assert indexes["k_used"]["uses"]
    assert indexes["k_unused"]["uses"] == 0
    assert use.basis == "userstat"
    assert any("when userstat began" in text for text in use.unknown)
    server.execute("SET GLOBAL userstat = 0")
    use = ask_index_use(parse_target(server.url()))
    assert use.basis is None
    assert {index["uses"] for index in use.indexes} == {None}
    assert any("userstat are off" in text for text in use.unknown)
