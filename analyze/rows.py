# SPDX-License-Identifier: Apache-2.0
"""What the rows of each analysis have: dicts with the columns of its last SELECT.

Made by `make names` from the files of analyze/sql/report, analyze/sql/servers and analyze/sql/sweep.sql. Do not edit.
"""

from typing import TypedDict


class AccountingRow(TypedDict):
    """A row of report/accounting.sql."""

    run: str
    status: str
    reason: str | None
    events: int
    service_ns: int | None


class LatenessRow(TypedDict):
    """A row of report/lateness.sql."""

    run: str
    cause: str
    events: int
    over_1ms: int
    p50_ns: int
    p99_ns: int
    max_ns: int
    total_ns: int


class TotalsRow(TypedDict):
    """A row of report/totals.sql."""

    run: str
    executed: int
    errors: int
    elapsed_ns: int | None
    per_second: float | None
    sessions: int
    service_ns: int | None
    service_p50_ns: int | None
    service_p90_ns: int | None
    service_p95_ns: int | None
    service_p99_ns: int | None
    service_p999_ns: int | None
    service_max_ns: int | None
    response_p50_ns: int | None
    response_p90_ns: int | None
    response_p95_ns: int | None
    response_p99_ns: int | None
    response_max_ns: int | None
    rows_sent: int | None
    rows_affected: int | None


class TotalsPart(TypedDict, total=False):
    """What there is of a row of report/totals.sql."""

    run: str
    executed: int
    errors: int
    elapsed_ns: int | None
    per_second: float | None
    sessions: int
    service_ns: int | None
    service_p50_ns: int | None
    service_p90_ns: int | None
    service_p95_ns: int | None
    service_p99_ns: int | None
    service_p999_ns: int | None
    service_max_ns: int | None
    response_p50_ns: int | None
    response_p90_ns: int | None
    response_p95_ns: int | None
    response_p99_ns: int | None
    response_max_ns: int | None
    rows_sent: int | None
    rows_affected: int | None


# A row of report/digests.sql.
DigestsRow = TypedDict(
    "DigestsRow",
    {
        "digest": str,
        "run": str,
        "class": str,
        "n": int,
        "errors": int,
        "total_ns": int | None,
        "p50_ns": int | None,
        "p90_ns": int | None,
        "p95_ns": int | None,
        "p99_ns": int | None,
        "p999_ns": int | None,
        "max_ns": int | None,
        "response_p95_ns": int | None,
        "rows_sent": int | None,
        "rows_affected": int | None,
        "tape_p50_ns": int | None,
        "tape_p95_ns": int | None,
        "tape_total_ns": int | None,
    },
)


# What there is of a row of report/digests.sql.
DigestsPart = TypedDict(
    "DigestsPart",
    {
        "digest": str,
        "run": str,
        "class": str,
        "n": int,
        "errors": int,
        "total_ns": int | None,
        "p50_ns": int | None,
        "p90_ns": int | None,
        "p95_ns": int | None,
        "p99_ns": int | None,
        "p999_ns": int | None,
        "max_ns": int | None,
        "response_p95_ns": int | None,
        "rows_sent": int | None,
        "rows_affected": int | None,
        "tape_p50_ns": int | None,
        "tape_p95_ns": int | None,
        "tape_total_ns": int | None,
    },
    total=False,
)


class PairsRow(TypedDict):
    """A row of report/pairs.sql."""

    digest: str
    n: int
    ratio: float
    ratio_low: float
    ratio_high: float
    median_a_ns: int
    median_b_ns: int
    p95_a_ns: int
    p95_b_ns: int
    lost_ns: int
    longer: int
    longer_ns: int
    shorter: int
    shorter_ns: int
    tail_share: float | None


class PairsPart(TypedDict, total=False):
    """What there is of a row of report/pairs.sql."""

    digest: str
    n: int
    ratio: float
    ratio_low: float
    ratio_high: float
    median_a_ns: int
    median_b_ns: int
    p95_a_ns: int
    p95_b_ns: int
    lost_ns: int
    longer: int
    longer_ns: int
    shorter: int
    shorter_ns: int
    tail_share: float | None


class ErrorsRow(TypedDict):
    """A row of report/errors.sql."""

    what: str
    digest: str | None
    before: int | None
    after: int | None
    tape: int | None
    events: int
    error: str | None
    error_before: str | None
    first_session: int
    first_seq: int
    after_set: int
    set_digest: str | None


class ErrorCountsRow(TypedDict):
    """A row of report/error_counts.sql."""

    run: str
    errno: int
    digest: str | None
    events: int
    error: str | None


class FailedEverywhereRow(TypedDict):
    """A row of report/failed_everywhere.sql."""

    sent: int
    succeeded: int
    succeeded_errno: int | None
    unknown: int
    unknown_errno: int | None
    first_session: int | None
    first_seq: int | None


class LostSessionsRow(TypedDict):
    """A row of report/lost_sessions.sql."""

    errno: int
    error: str | None
    sessions: int
    not_sent: int


class ResultsRow(TypedDict):
    """A row of report/results.sql."""

    kind: str
    digest: str | None
    known: str | None
    reason: str | None
    events: int
    after_write: int
    more_sent: int | None
    first_session: int
    first_seq: int
    root_digest: str | None
    root_errno: int | None


class ComparedRow(TypedDict):
    """A row of report/compared.sql."""

    rows: int
    checksums: int


class TimelineRow(TypedDict):
    """A row of report/timeline.sql."""

    run: str
    round: int
    bin: int
    per_second: float
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    busy: float
    errors: int


class StallsRow(TypedDict):
    """A row of report/stalls.sql."""

    run: str
    round: int
    at_ns: int
    long_ns: int
    depth: float
    longest_ns: int
    errors: int
    digest: str | None


class RelativeLatencyRow(TypedDict):
    """A row of report/relative_latency.sql."""

    run: str
    round: int
    part: int
    first_ns: int
    span_ns: int
    n: int
    relative_latency: float


class GroupsRow(TypedDict):
    """A row of report/groups.sql."""

    kind: str
    name: str
    run: str
    n: int
    errors: int
    total_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None


class CountersRow(TypedDict):
    """A row of report/counters.sql."""

    name: str
    a: float | None
    b: float | None
    weight: float


class SeriesRow(TypedDict):
    """A row of report/series.sql."""

    run: str
    name: str
    bin: int
    value: float | None


class RoundsRow(TypedDict):
    """A row of report/rounds.sql."""

    run: str
    round: int
    executed: int
    errors: int
    per_second: float | None
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    relative_latency: float | None


class RoundsPart(TypedDict, total=False):
    """What there is of a row of report/rounds.sql."""

    run: str
    round: int
    executed: int
    errors: int
    per_second: float | None
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    relative_latency: float | None


class ServerTimesRow(TypedDict):
    """A row of report/server_times.sql."""

    digest: str
    tape_n: int | None
    a_n: int | None
    b_n: int | None
    tape_p50_ns: int | None
    a_p50_ns: int | None
    b_p50_ns: int | None
    tape_p95_ns: int | None
    a_p95_ns: int | None
    b_p95_ns: int | None
    total_ns: int


class InterferenceRow(TypedDict):
    """A row of report/interference.sql."""

    run: str
    round: int
    block: int
    machine: str
    others: float | None
    steal: float
    idle: float
    cpus: float
    waiting: float | None
    pressure: float | None


class DistributionRow(TypedDict):
    """A row of report/distribution.sql."""

    digest: str
    run: str
    points: list[list[int]]


class DigestTimelineRow(TypedDict):
    """A row of report/digest_timeline.sql."""

    digest: str
    run: str
    points: list[list[int]]


class HeatRow(TypedDict):
    """A row of report/heat.sql."""

    run: str
    bin: int
    height: int
    n: int


class SchemaDifferencesRow(TypedDict):
    """A row of servers/schema_differences.sql."""

    what: str
    kind: str
    db: str
    tbl: str
    name: str
    fact: str | None
    a: str | None
    b: str | None
    digests: int
    tape_ns: int
    folded: bool
    differences: int


class SweepRow(TypedDict):
    """A row of sweep.sql."""

    statements: int
    errors: int
    elapsed_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None


class Answers(TypedDict, total=False):
    """What a report shows: rows by analysis (database.REPORT)."""

    accounting: list[AccountingRow]
    lateness: list[LatenessRow]
    totals: list[TotalsRow]
    digests: list[DigestsRow]
    pairs: list[PairsRow]
    errors: list[ErrorsRow]
    error_counts: list[ErrorCountsRow]
    failed_everywhere: list[FailedEverywhereRow]
    lost_sessions: list[LostSessionsRow]
    results: list[ResultsRow]
    compared: list[ComparedRow]
    timeline: list[TimelineRow]
    stalls: list[StallsRow]
    relative_latency: list[RelativeLatencyRow]
    groups: list[GroupsRow]
    counters: list[CountersRow]
    series: list[SeriesRow]
    rounds: list[RoundsRow]
    server_times: list[ServerTimesRow]
    interference: list[InterferenceRow]


class Details(TypedDict, total=False):
    """What is drawn of digests: rows by analysis (database.DETAILS)."""

    distribution: list[DistributionRow]
    digest_timeline: list[DigestTimelineRow]
    heat: list[HeatRow]
