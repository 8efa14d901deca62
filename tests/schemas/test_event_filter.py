# SPDX-License-Identifier: Apache-2.0
"""Event filters: kept events, refused filters, and the description of a filter."""

from typing import Any

import pytest
from querytape.common.duck import open_database
from querytape.common.errors import InputError
from querytape.schemas import EventFilter

D1, D2 = "1" * 16, "2" * 16
# columns: session, user, db, digest, class, start_ns
EVENTS = [
    (1, "app", "shop", D1, "read", 10),
    (1, "app", None, D2, "write", 20),
    (2, "it's", "", D1, "read", 30),
    (3, None, "shop", None, None, 40),
]


@pytest.mark.parametrize(
    ("conditions", "times"),
    [
        ({}, [10, 20, 30, 40]),
        ({"users": ("app",)}, [10, 20]),
        ({"users": ("app", "it's")}, [10, 20, 30]),
        ({"dbs": ("shop",)}, [10, 40]),
        ({"dbs": ("",)}, [30]),
        ({"digests": (D1,), "sessions": (2, 3)}, [30]),
        ({"classes": ("read", "write"), "users": ("app",)}, [10, 20]),
        ({"from_ns": 20}, [20, 30, 40]),
        ({"to_ns": 20}, [10]),
        ({"from_ns": 20, "to_ns": 40, "classes": ("read",)}, [30]),
    ],
)
def test_filter_conditions_must_all_match(conditions: dict[str, Any], times: list[int]) -> None:
    """For each list, one of its values must match. NULL matches no name. A time window includes its start and excludes
    its end.
    """
    with open_database() as con:
        con.execute(
            'CREATE TABLE e (session BIGINT, "user" VARCHAR, db VARCHAR, digest VARCHAR, class VARCHAR, start_ns BIGINT)'
        )
        con.executemany("INSERT INTO e VALUES (?, ?, ?, ?, ?, ?)", EVENTS)
        kept = EventFilter(**conditions)
        where = f"{kept.session_sql()} AND {kept.event_sql()} AND {kept.time_sql()}"
        rows = con.execute(f"SELECT start_ns FROM e WHERE {where} ORDER BY 1").fetchall()
    assert [row[0] for row in rows] == times


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ({"classes": ("reads",)}, "--class: expected one of read, write, .* found 'reads'"),
        ({"digests": ("12",)}, "--digest: expected 16 hexadecimal digits, found '12'"),
        ({"digests": ("z" * 16,)}, "--digest: expected 16 hexadecimal digits"),
        ({"from_ns": 5, "to_ns": 5}, "--to: expected a time after --from"),
    ],
)
def test_impossible_filter_condition_is_refused(conditions: dict[str, Any], message: str) -> None:
    """The message shows valid conditions."""
    with pytest.raises(InputError, match=message):
        EventFilter(**conditions)


def test_filter_description_has_only_given_conditions() -> None:
    """A filter has a description in words for users and a description in JSON for tools."""
    every = EventFilter(users=("a", "b"), classes=("read",), sessions=(7,), from_ns=0, to_ns=10**9)
    assert every.sentence() == (
        "user a, b; class read; session 7; from 1970-01-01 00:00:00.000; to 1970-01-01 00:00:01.000"
    )
    assert every.as_json() == {
        "users": ("a", "b"),
        "classes": ("read",),
        "sessions": (7,),
        "from_ns": 0,
        "to_ns": 10**9,
    }
    assert (EventFilter().sentence(), EventFilter().as_json(), EventFilter().filtered_by_sql()) == ("", {}, "NULL")
