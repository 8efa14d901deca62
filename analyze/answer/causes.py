# SPDX-License-Identifier: Apache-2.0
"""Say why a statement fails and what to do about it.

From its error number, from the settings that decide about it and differ, and from what lint knows of its text.
"""

import csv
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ...common.text import printable
from ..database import Row
from ..lint.rules import Rule, applicable, tape_version
from ..model import Report

# Error numbers at which the text says more than the number: syntax, functions, variables.
BY_TEXT = frozenset({1064, 1149, 1193, 1231, 1305, 1221, 1235})
MESSAGE_SHOWN = 200


# Settings that are read when a server starts.
AT_START = frozenset({"default_authentication_plugin", "log_bin", "lower_case_table_names"})


class Cause(NamedTuple):
    """Why, and what to do, each in a few words."""

    text: str
    remedy: str


class _Line(NamedTuple):
    """A line of causes.tsv. `settings`: those that decide whether the error comes, most likely first."""

    cause: Cause
    settings: tuple[str, ...]


@cache
def _lines() -> dict[int, _Line]:
    """Return causes.tsv by error number."""
    text = files(__package__).joinpath("causes.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    return {
        int(row["errno"]): _Line(Cause(row["cause"], row["remedy"]), tuple(row["settings"].split())) for row in rows
    }


def cause_of(
    errno: int,
    statement: str,
    rules: Sequence[Rule] = (),
    variables: Sequence[Row] = (),
    message: str | None = None,
) -> Cause:
    """Return why a normalised statement fails with an error number: without a known cause, its message.

    `rules`: of lint, on the way from A to B. `variables`: the settings that differ: name, a, b.
    """
    if errno in BY_TEXT:
        for rule in rules:
            if _found(rule, statement.lower()):
                return of_rule(rule)
    line = _lines().get(errno)
    if line is None:
        said = f": {printable(message, MESSAGE_SHOWN)}" if message else ""
        return Cause(f"error {errno}{said}", "see the statement with report --show")
    differs = {row["name"]: row for row in variables if row["a"] is not None and row["b"] is not None}
    name = next((name for name in line.settings if name in differs), None)
    return line.cause if name is None else of_setting(line.cause, differs[name])


def of_setting(cause: Cause, variable: Row) -> Cause:
    """Return a cause with the setting that differs, and how to run B as A."""
    name, a, b = variable["name"], variable["a"], variable["b"]
    value = a if re.fullmatch(r"-?[0-9.]+|ON|OFF", a) else f"'{a}'"
    as_a = f"start B with {name} = {value}" if name in AT_START else f"SET GLOBAL {name} = {value} on B"
    remedy = cause.remedy if cause.remedy.startswith(as_a) else f"{as_a}, or {cause.remedy}"
    return Cause(f"{cause.text}: {name} is {a or 'empty'} in A, {b or 'empty'} in B", remedy)


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
