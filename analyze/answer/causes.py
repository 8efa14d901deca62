# SPDX-License-Identifier: Apache-2.0
"""Say why a statement fails and what to do about it.

From its error number, from the settings that decide about it and differ, and from what lint knows of its text.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...common.text import printable
from ..database import Row
from ..findings.cause_table import lines_of, of_error, remedy_of
from ..lint.rules import Rule, applicable, tape_version
from ..model import Report, ServerDifference

MESSAGE_SHOWN = 200


class Cause(NamedTuple):
    """Why, and what to do, each in a few words."""

    text: str
    remedy: str


def cause_of(
    errno: int,
    statement: str,
    rules: Sequence[Rule] = (),
    differences: Sequence[ServerDifference] = (),
    message: str | None = None,
) -> Cause:
    """Return why a normalised statement fails with an error number: without a known cause, its message.

    `rules`: of lint, on the way from A to B. `differences`: of the servers, that concern the statement.
    """
    line = of_error(errno)
    if line is None:
        said = f": {printable(message, MESSAGE_SHOWN)}" if message else ""
        return Cause(f"error {errno}{said}", "see the statement with report --show")
    if "lint" in line.where and (rule := first_rule(rules, statement)):
        return of_rule(rule)
    for token in line.by:
        for difference in differences:
            if line._replace(by=(token,)).names(difference):
                return of_difference(Cause(line.cause, line.remedy), difference)
    return Cause(line.cause, line.remedy)


def of_difference(cause: Cause, difference: ServerDifference) -> Cause:
    """Return a cause with what differs, and how to run B as A."""
    name, text, as_a = difference.name, difference.text, remedy_of(difference)
    if difference.kind == "setting":
        text = text if text.startswith(f"{name}: only ") else text.replace(f"{name}: ", f"{name} is ", 1)
    first, _, others = cause.remedy.partition(", or ")
    if difference.kind in ("routine", "view"):
        remedy = as_a
    elif re.search(rf"(?<!\w){re.escape(name)}(?!\w)", first) or first == as_a:
        remedy = f"{as_a}, or {others}" if others else as_a
    else:
        remedy = f"{as_a}, or {cause.remedy}"
    return Cause(f"{cause.text}: {text}" if ": " not in text else f"{cause.text} ({text})", remedy)


def of_result(row: Row) -> Cause:
    """Return the cause of a row of results.sql: the reason that is known, or how it differs."""
    for line in lines_of("reason"):
        if line.cause == row["reason"] or (row["reason"] is None and row["kind"] in line.by):
            return Cause(line.cause, line.remedy)
    raise KeyError(row["reason"])


def of_rule(rule: Rule) -> Cause:
    """Return a rule's advice as a cause (its first sentence) and a remedy (the rest)."""
    text, _, remedy = rule.advice.partition(". ")
    return Cause(text.rstrip("."), (remedy[:1].lower() + remedy[1:]).rstrip(".") or "change these statements")


def rules_between(report: Report, effect: str) -> list[Rule]:
    """Return lint's rules on what fails (or changes) on the way from A to B; without B's version none."""
    versions = [str(run.info.get("target", {}).get("version") or "") for run in report.runs]
    source, target = (tape_version(said) for said in versions)
    if target is None:
        return []
    return [rule for rule in applicable(source, target) if rule.effect == effect and rule.where in ("text", "call")]


def first_rule(rules: Sequence[Rule], statement: str) -> Rule | None:
    """Return the first rule that a normalised statement meets."""
    return next((rule for rule in rules if _found(rule, statement.lower())), None)


def _found(rule: Rule, text: str) -> bool:
    left = re.sub(rule.unless, " ", text, flags=re.S) if rule.unless else text
    return re.search(rule.regex(), left, re.S) is not None
