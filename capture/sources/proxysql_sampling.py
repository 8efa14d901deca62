# SPDX-License-Identifier: Apache-2.0
"""Report events that ProxySQL omitted from its events log because of sampling or query rules.

Sampling is certain if the log settings are known. Otherwise it is only probable.
"""

from collections.abc import Mapping
from typing import Any

import duckdb

from ...common.duck import load_sql
from ...common.errors import OptionError
from ...common.units import plural
from ...schemas import ACTIONS
from ..source import Settings, TapeWarning

RATE, DEFAULT = "mysql-eventslog_rate_limit", "mysql-eventslog_default_log"
EDGE = ACTIONS["begin"] | ACTIONS["commit"] | ACTIONS["rollback"] | ACTIONS["implicit_commit"]
MIN_SEEN = 20
MAX_SHARE = 0.2  # largest plausible fraction of such executions or transactions in a complete log (see looks_sampled)


def log_settings(settings: Settings) -> dict[str, Any]:
    """Return the known log settings. Raises InputError if --sampled is less than 1.

    `sampled`: N if ProxySQL logs one of N events. `rules`: number of query rules that select events.
    """
    said = settings.extra.get("sampled")
    if said is not None and said < 1:
        raise OptionError(f"--sampled: expected 1 or more, found {said}")
    server = settings.server or {}
    variables = server.get("variables") or {}
    found: dict[str, Any] = {}
    rate = number(variables.get(RATE))
    if said is not None or rate is not None:
        found["sampled"] = max(said or 1, rate or 1)
    if RATE in variables or DEFAULT in variables:
        default = number(variables.get(DEFAULT)) or 0
        rules = server.get("rules") or []
        found["default_log"] = default
        found["rules"] = sum(1 for _, log in rules if bool(log) != bool(default))
    return found


def number(text: object) -> int | None:
    """Return the value of a variable as an integer. Return None if the value is not a number."""
    digits = str(text if text is not None else "")
    return int(digits) if digits.isdigit() and len(digits) < 10 else None


def sampling(description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return warnings about a log that is known to lack events."""
    found = []
    sampled = description.get("sampled", 1)
    if sampled > 1:
        text = f"ProxySQL logged only 1 of {sampled} events (mysql-eventslog_rate_limit). Sessions lack events"
        found.append({"kind": "query_sampled", "text": text})
    rules = description.get("rules", 0)
    if description.get("default_log") == 0:
        text = f"ProxySQL logs only the statements of {plural(rules, 'query rule')} (mysql-eventslog_default_log = 0)"
        found.append({"kind": "log_rules", "text": text})
    elif rules:
        text = f"ProxySQL does not log the statements of {plural(rules, 'query rule')} (log = 0)"
        found.append({"kind": "log_rules", "text": text})
    return found


def looks_sampled(con: duckdb.DuckDBPyConnection, description: Mapping[str, Any]) -> list[TapeWarning]:
    """Return a warning if the events of view `events` look sampled and the sampling rate is unknown.

    Checks for executions of statements that their session never prepared, in sessions that began after the first tenth
    of the log. Also checks for transactions without an end before the next BEGIN.
    """
    if description.get("sampled", 1) > 1:
        return []
    executes, unprepared, begins, unended = con.execute(
        load_sql("querytape.capture", "holes.sql"), {"begin": ACTIONS["begin"], "edge": EDGE}
    ).fetchall()[0]
    parts = []
    if executes >= MIN_SEEN and unprepared > MAX_SHARE * executes:
        parts.append(f"{unprepared:,} of {executes:,} executions use a statement that was never prepared")
    if begins >= MIN_SEEN and unended > MAX_SHARE * begins:
        parts.append(f"{unended:,} of {begins:,} transactions never end")
    if not parts:
        return []
    text = (
        f"{' and '.join(parts)}. ProxySQL probably sampled the events (mysql-eventslog_rate_limit), but its log does"
        " not show the rate. Add --sampled N, or --source with the admin port"
    )
    return [{"kind": "looks_sampled", "text": text}]
