# SPDX-License-Identifier: Apache-2.0
"""Name the ways in which results differ, and find the differences that nothing in the statement explains."""

from collections.abc import Iterator

from ..database import Row
from ..model import Report

# By `kind` of results.sql.
KINDS = {
    "rows": "other number of rows",
    "data": "other data",
    "affected": "other number of affected rows",
    "order": "other order of rows",
    "warnings": "other number of warnings",
}


def unexplained(report: Report) -> Iterator[Row]:
    """Yield the rows of results.sql that no likely reason is known for."""
    return (row for row in report.answers["results"] if row["known"] is None)
