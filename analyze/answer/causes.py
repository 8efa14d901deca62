# SPDX-License-Identifier: Apache-2.0
"""Say why a statement fails and what to do about it: from its error number, and from what lint knows of its text."""

import csv
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ..lint.rules import Rule, applicable, tape_version
from ..model import Report

# Error numbers at which the text says more than the number: syntax, functions, variables.
BY_TEXT = frozenset({1064, 1149, 1193, 1231, 1305, 1221, 1235})


class Cause(NamedTuple):
    """Why, and what to do, each in a few words."""

    text: str
    remedy: str


@cache
def _lines() -> dict[int, Cause]:
    """Return causes.tsv by error number."""
    text = files(__package__).joinpath("causes.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return {int(row["errno"]): Cause(row["cause"], row["remedy"]) for row in rows}


def cause_of(errno: int, statement: str, rules: Sequence[Rule] = ()) -> Cause:
    """Return why a normalised statement fails with an error number. `rules`: of lint, on the way from A to B."""
    if errno in BY_TEXT:
        for rule in rules:
            if _found(rule, statement.lower()):
                return of_rule(rule)
    return _lines().get(errno, Cause(f"error {errno}", "its message says why; see the statement with report --show"))


def of_rule(rule: Rule) -> Cause:
    """Return a rule's advice as a cause (its first sentence) and a remedy (the rest)."""
    text, _, remedy = rule.advice.partition(". ")
    return Cause(text.rstrip("."), (remedy[:1].lower() + remedy[1:]).rstrip(".") or "change these statements")


def failing_rules(report: Report) -> list[Rule]:
    """Return lint's rules on what fails on the way from A to B; without B's version none."""
    versions = [str(run.info.get("target", {}).get("version") or "") for run in report.runs]
    source, target = (tape_version(said) for said in versions)
    if target is None:
        return []
    return [rule for rule in applicable(source, target) if rule.effect == "fails" and rule.where in ("text", "call")]


def _found(rule: Rule, text: str) -> bool:
    left = re.sub(rule.unless, " ", text, flags=re.S) if rule.unless else text
    return re.search(rule.regex(), left, re.S) is not None
