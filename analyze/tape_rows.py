# SPDX-License-Identifier: Apache-2.0
"""What the rows of each analysis have: dicts with the columns of its last SELECT.

Made by `make names` from the files of analyze/sql/inspect, analyze/sql/workload and analyze/sql/lint. Do not edit.
"""

from typing import TypedDict


class TapeTotalsRow(TypedDict):
    """A row of inspect/totals.sql."""

    events: int
    sessions: int
    digests: int
    first_ns: int | None
    last_ns: int | None
    per_second: float | None
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    busy_ns: int | None
    errors: int
    errors_known: int
    precision_ns: int | None
    redacted: int
    truncated: int


class TapeCommandsRow(TypedDict):
    """A row of inspect/commands.sql."""

    command: str
    events: int
    with_statement: int
    without_class: int


# A row of inspect/classes.sql.
TapeClassesRow = TypedDict(
    "TapeClassesRow",
    {
        "class": str,
        "events": int,
        "duration_ns": int | None,
        "digests": int,
    },
)


# A row of inspect/digests.sql.
TapeDigestsRow = TypedDict(
    "TapeDigestsRow",
    {
        "digest": str,
        "class": str,
        "normalized": str,
        "events": int,
        "duration_ns": int | None,
        "p50_ns": int | None,
        "p95_ns": int | None,
        "max_ns": int | None,
    },
)


class TapeAccountsRow(TypedDict):
    """A row of inspect/accounts.sql."""

    user: str | None
    db: str | None
    events: int
    sessions: int


class TapeConcurrencyRow(TypedDict):
    """A row of inspect/concurrency.sql."""

    max_sessions: int | None
    max_statements: int | None
    mean_statements: float | None


class TapeArrivalsRow(TypedDict):
    """A row of inspect/arrivals.sql."""

    max_per_second: int | None
    median_per_second: int | None
    burstiness: float | None
    think_ns: list[int] | None
    think_times: int
    max_connects_per_second: int | None
    connects_per_second: float | None
    connects_not_seen: int


class TapeTransactionsRow(TypedDict):
    """A row of inspect/transactions.sql."""

    transactions: int
    rolled_back: int
    only_reading: int
    statements: list[int] | None
    most_statements: int | None
    span_ns: list[int] | None
    longest_ns: int | None


class TapeSizesRow(TypedDict):
    """A row of inspect/sizes.sql."""

    statement_bytes: list[int] | None
    max_statement_bytes: int | None
    rows_sent: list[int] | None
    max_rows_sent: int | None
    rows_affected: list[int] | None
    reads: int
    writes: int


class TapeTablesRow(TypedDict):
    """A row of inspect/tables.sql."""

    name: str
    reads: int | None
    writes: int | None
    others: int | None
    duration_ns: int | None


class TapeOverTimeRow(TypedDict):
    """A row of inspect/over_time.sql."""

    bin: int
    events: int
    reads: int
    writes: int
    errors: int
    connects: int
    sessions: float
    running: float | None


class TapeHeatRow(TypedDict):
    """A row of inspect/heat.sql."""

    bin: int
    height: int
    n: int


class TapeThinkTimesRow(TypedDict):
    """A row of inspect/think_times.sql."""

    height: int
    n: int


class TapeFlagsRow(TypedDict):
    """A row of inspect/flags.sql."""

    bit: int
    events: int


class TapeErrorsRow(TypedDict):
    """A row of inspect/errors.sql."""

    errno: int
    events: int


# A row of inspect/two_tapes.sql.
TapeTwoTapesRow = TypedDict(
    "TapeTwoTapesRow",
    {
        "digest": str,
        "class": str,
        "normalized": str,
        "events_a": int,
        "events_b": int,
        "per_hour_a": float,
        "per_hour_b": float,
        "mean_a_ns": float | None,
        "mean_b_ns": float | None,
    },
)


class WorkloadParsedRow(TypedDict):
    """A row of workload/parsed.sql."""

    what: str
    digests: int
    events: int
    duration_ns: int | None


class WorkloadNotParsedRow(TypedDict):
    """A row of workload/not_parsed.sql."""

    digest: str
    normalized: str
    events: int
    duration_ns: int | None


class WorkloadUsageTables(TypedDict):
    """What is in tables[] of a row of workload/usage.sql."""

    name: str
    alias: str | None
    access: str


class WorkloadUsageColumns(TypedDict):
    """What is in columns[] of a row of workload/usage.sql."""

    table: str | None
    column: str
    role: str
    op: str | None
    plain: bool


class WorkloadUsageRow(TypedDict):
    """A row of workload/usage.sql."""

    digest: str
    tables: list[WorkloadUsageTables]
    columns: list[WorkloadUsageColumns]
    joins: list[str]


class WorkloadColumnsRow(TypedDict):
    """A row of workload/columns.sql."""

    table_name: str | None
    column_name: str
    role: str
    digests: int
    wrapped: int
    events: int
    duration_ns: int | None


class WorkloadSignaturesStatements(TypedDict):
    """What is in statements[] of a row of workload/signatures.sql."""

    digest: str
    times: int
    statement: str


class WorkloadSignaturesRow(TypedDict):
    """A row of workload/signatures.sql."""

    signature: str
    transactions: int
    committed: int
    rolled_back: int
    deadlocks: int
    left_open: int
    only_reading: int
    duration_ns: int | None
    lock_ns: int | None
    p50_span_ns: int
    max_span_ns: int
    statements: list[WorkloadSignaturesStatements]
    locks: list[str]


class WorkloadLockOrdersRow(TypedDict):
    """A row of workload/lock_orders.sql."""

    table_a: str
    table_b: str
    a_first: int
    b_first: int


class WorkloadNPlusOneRow(TypedDict):
    """A row of workload/n_plus_one.sql."""

    digest: str
    normalized: str
    partner: str | None
    partner_normalized: str | None
    behind: str
    behind_normalized: str
    loops: int
    statements: int
    longest: int
    duration_ns: int | None


class WorkloadOpenTransactionsRow(TypedDict):
    """A row of workload/open_transactions.sql."""

    ended: str
    signature: str
    transactions: int
    with_writes: int
    statements: int
    longest_ns: int
    example_session: int


class WorkloadNotCommittedRow(TypedDict):
    """A row of workload/not_committed.sql."""

    digest: str
    normalized: str
    events: int
    committed: int
    rolled_back: int
    deadlock: int
    left_open: int
    not_known: int
    lost_ns: int | None


class WorkloadConstantReadsRow(TypedDict):
    """A row of workload/constant_reads.sql."""

    digest: str
    normalized: str
    texts: int
    repeats: int
    by_checksum: bool
    saved_ns: int | None


class WorkloadHotRowsRow(TypedDict):
    """A row of workload/hot_rows.sql."""

    table_name: str
    columns: str
    number: int
    value: str
    events: int
    writes: int
    sessions: int
    digests: int
    lock_ns: int | None
    duration_ns: int | None


class WorkloadWaitsRow(TypedDict):
    """A row of workload/waits.sql."""

    digest: str
    normalized: str
    signature: str | None
    held_by: str
    held_by_normalized: str
    held_by_signature: str | None
    table_name: str
    times: int
    waited: int | None
    lock_ns: int | None
    longest_ns: int | None
    duration_ns: int | None


class LintFindingsRow(TypedDict):
    """A row of lint/findings.sql."""

    rule: str
    digest: str
    events: int
    duration_ns: int | None
    normalized: str


class TapeAnswers(TypedDict, total=False):
    """What is on a tape: rows by analysis (database.INSPECT)."""

    totals: list[TapeTotalsRow]
    commands: list[TapeCommandsRow]
    classes: list[TapeClassesRow]
    digests: list[TapeDigestsRow]
    accounts: list[TapeAccountsRow]
    concurrency: list[TapeConcurrencyRow]
    arrivals: list[TapeArrivalsRow]
    transactions: list[TapeTransactionsRow]
    sizes: list[TapeSizesRow]
    tables: list[TapeTablesRow]


class TapePictures(TypedDict, total=False):
    """What its page draws: rows by analysis (PICTURES)."""

    over_time: list[TapeOverTimeRow]
    heat: list[TapeHeatRow]
    think_times: list[TapeThinkTimesRow]


class Workload(TypedDict, total=False):
    """What its statements do: rows by analysis (WORKLOAD)."""

    parsed: list[WorkloadParsedRow]
    not_parsed: list[WorkloadNotParsedRow]
    usage: list[WorkloadUsageRow]
    columns: list[WorkloadColumnsRow]
    signatures: list[WorkloadSignaturesRow]
    lock_orders: list[WorkloadLockOrdersRow]
    n_plus_one: list[WorkloadNPlusOneRow]
    open_transactions: list[WorkloadOpenTransactionsRow]
    not_committed: list[WorkloadNotCommittedRow]
    constant_reads: list[WorkloadConstantReadsRow]
    hot_rows: list[WorkloadHotRowsRow]
    waits: list[WorkloadWaitsRow]
