# SPDX-License-Identifier: Apache-2.0
"""Say what to do about results that differ, by the reason that is known for them, or by how they differ."""

from ..database import Row
from ..findings.results import RACE, SERVER_WRITES

# By `reason` of results.sql.
REMEDIES = {
    "asks the time": "this is to be expected; replay with --now original, and it is compared, too",
    "random": "this is to be expected",
    "sorts at random": "this is to be expected",
    "perhaps the time, in a condition": "replay both sides with --now original, and it is compared",
    "perhaps chance, in a condition": "compare the data of both servers: chance explains it, and so does lost data",
    "perhaps its session or server, in a condition": "compare the data of both servers and what it asks for",
    "perhaps LIMIT without ORDER BY": "add ORDER BY: the server chooses the rows; compare the data of both servers",
    "perhaps LIMIT without ORDER BY in a subquery": "add ORDER BY to the subquery; compare the data of both servers",
    "asks about its session or server": "nothing, if the application does not depend on it",
    "asks about the server": "nothing, if the application does not depend on it",
    "LIMIT without ORDER BY": "add ORDER BY: which rows come is up to the server",
    "GROUP BY no longer sorts": "add ORDER BY: before MySQL 8.0 GROUP BY sorted its rows, too",
    "an earlier write to its tables was not sent on one side": "it follows from what was not sent: see there first",
    "an earlier write to its tables failed on one side": "it follows from what breaks: see there first",
    "an earlier write to its tables changed other rows on one side": "it follows from that write: see there first",
    "an earlier SET of its session failed on one side": "it follows from what breaks: see there first",
    "ties in ORDER BY, or another collation": "add columns to ORDER BY until no two rows tie; compare collations",
    "perhaps ties in ORDER BY under LIMIT": "add columns to ORDER BY until no two rows tie, else compare the data",
    "rows without ORDER BY": "add ORDER BY if the order matters: it is up to the server",
    "GROUP_CONCAT without ORDER BY": "add ORDER BY inside GROUP_CONCAT",
    SERVER_WRITES: "make B as A is, and compare again",
    RACE: "replay both sides with --order commit; where it stays, compare the data of both servers",
}
# By `kind` of results.sql.
UNKNOWN = {
    "rows": "compare the data of both servers, then collations and sql_mode; replay --verify, report --show",
    "data": "compare the data of both servers, then types, collations, sql_mode and time zone",
    "order": "add ORDER BY if the order matters",
    "affected": "compare the data of both servers; reset them between rounds (--reset)",
}


def remedy_of(row: Row) -> str:
    """Return what to do about a row of results.sql."""
    return REMEDIES.get(row["reason"] or "") or UNKNOWN[row["kind"]]
