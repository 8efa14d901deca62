# SPDX-License-Identifier: Apache-2.0
"""The last lines and the exit code of a replay, for `querytape replay` and `querytape fleet`."""

from typing import Any

from ..common.exit_codes import ExitCode
from ..common.staged import shown_path
from ..common.units import plural, short_duration
from ..replay import RunSummary
from ..replay.checks.preflight import unknown_overrides
from ..replay.follow import follow_lines
from ..replay.observe.accounting import state_lines

# The message for each accounting counter that is not zero: the counted noun, and the line.
NOTED = {
    "not_permitted": (
        "statement",
        "WARNING: {counted} {was} not sent, because it may do more than the tape shows. Possible"
        " causes: a modified tape, another querytape version, sql_mode or character set, or a loadable function",
    ),
    "called_with_variables": (
        "CALL",
        "{counted} had values for OUT or INOUT arguments. The target refused them (error 1414), and the replay sent"
        " them again with variables",
    ),
    "several_statements": (
        "text",
        "WARNING: {counted} with several statements {was} sent unchanged. The log does not show whether the"
        " original server accepted them or returned a syntax error (1064)",
    ),
}


def exit_code(summary: RunSummary) -> int:
    """Return the exit code of a replay: 0 for success, and 1 for an incomplete run.

    INCOMPLETE means that rows may differ because of ids, order or XA. UNKNOWN means that a driver was lost.
    """
    counts = summary.info["accounting"]
    if counts.get("sent_unknown"):
        return ExitCode.UNKNOWN
    if not summary.complete:
        return ExitCode.ERROR
    lost = (
        summary.info["plan"].get("ids_unknown", 0) + counts.get("overrides_failed", 0) + counts.get("order_broken", 0)
    )
    failed = any(text.startswith("prepared: ") for text in summary.info.get("problems_afterwards", ()))
    prepared = summary.info.get("prepared") or {}
    return ExitCode.INCOMPLETE if lost or failed or prepared.get("rolled_back") or prepared.get("left") else 0


def sent_or_not(info: dict[str, Any]) -> list[str]:
    """Return a line about events of a lost driver if it is unknown whether they were sent."""
    n = info["accounting"].get("sent_unknown", 0)
    text = f"UNKNOWN: the target may have executed {plural(n, 'event')} of a lost driver (not_sent, driver_lost)"
    return [text] if n else []


def noted(accounting: dict[str, Any], counter: str) -> list[str]:
    """Return the NOTED line of a counter, or an empty list if the counter is zero."""
    n, (word, text) = accounting.get(counter, 0), NOTED[counter]
    return [f"  {text.format(counted=plural(n, word), was='was' if n == 1 else 'were')}"] if n else []


def not_overridden(info: dict[str, Any]) -> list[str]:
    """Return warnings about times and ids that --now original and --insert-id original could not set."""
    plan = info["plan"]
    texts = unknown_overrides(plan.get("ids_unknown", 0), plan.get("now_uncertain", 0))
    if failed := info["accounting"].get("overrides_failed", 0):
        texts.append(
            f"the target refused to set the clock or an id for {plural(failed, 'statement')} (overrides_failed)"
        )
    return [f"  WARNING: {text}" for text in texts]


def summary_lines(summary: RunSummary) -> list[str]:
    """Return the last lines of a replay: accounting, lateness, errors, sessions, and the path of the run."""
    info = summary.info
    accounting, lateness, sessions = info["accounting"], info["lateness"], info["sessions"]
    warnings = info["generator"].get("warnings", ())
    order = [text for text in warnings if text.startswith(("--order commit:", "XA:"))]
    found = [
        *sent_or_not(info),
        *follow_lines(info),
        f"{shown_path(summary.path)}: {accounting['tape_events']:,} events = {accounting['executed']:,} executed"
        f" + {accounting['filtered']:,} filtered + {accounting['skipped']:,} skipped"
        f" + {accounting['not_sent']:,} not sent",
        *([f"  PARTIAL: {info['partial']}"] if info["partial"] else []),
        *(f"  WARNING: {text}" for text in order),
        *noted(accounting, "not_permitted"),
        *not_overridden(info),
        *noted(accounting, "called_with_variables"),
        *noted(accounting, "several_statements"),
        *state_lines(info),
        f"  duration: {info['elapsed_ns'] / 1e9:,.1f} s, with {accounting['injected']:,} commands added by querytape",
        f"  sessions: {sessions['opened']:,} opened ({sessions['opened_ahead']:,} in advance),"
        f" {sessions['failed']:,} failed, {sessions['lost']:,} lost, {sessions['in_transaction_at_end']:,} closed in"
        " a transaction",
    ]
    if summary.late_p99_ns is not None:
        found.append(
            f"  lateness: p50 {short_duration(summary.late_p50_ns)}, p99 {short_duration(summary.late_p99_ns)}"
            f" (caused by querytape: p50 {short_duration(lateness['tool_p50_ns'])}, p99"
            f" {short_duration(lateness['tool_p99_ns'])})"
        )
    if summary.errors:
        listed = ", ".join(f"{errno} x {n:,}" for errno, n in list(summary.errors.items())[:8])
        found.append(f"  errors: {sum(summary.errors.values()):,} ({listed})")
    if not accounting["balanced"]:
        found.append("  THE ACCOUNTING DOES NOT BALANCE: do not trust this run, and report this bug")
    return [*found, *(f"  warning: {text}" for text in warnings if text not in order)]
