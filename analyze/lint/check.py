# SPDX-License-Identifier: Apache-2.0
"""Apply the rules of `querytape lint` to the statements of a tape."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ...common.errors import QuerytapeError
from ...schemas import Folder, open_folder
from ..database import AnalysisDatabase, open_analysis
from ..tape_rows import LintFindingsRow
from .rules import EFFECTS, Rule, Version, applicable, tape_version

# Apply one rule to the samples of all digests. Text that matches `unless` is removed first.
DIGESTS = """
    INSERT INTO lint_findings
    SELECT $1, digest, events, duration_ns FROM lint_digests
    WHERE regexp_matches(text, $2, 's') {unless} {prepared}
"""
UNLESS = "AND regexp_matches(regexp_replace(text, $3, ' ', 'gs'), $2, 's')"
PREPARED = "AND digest IN (FROM lint_prepared)"
# Apply all rules for whole statements in one pass. Statements that failed on the tape are skipped.
VALUES = """
    INSERT INTO lint_findings
    SELECT rule, digest, count(*), sum(duration_ns)::BIGINT
    FROM (
        SELECT digest, duration_ns, unnest([{cases}]) AS rule
        FROM (
            SELECT digest, duration_ns, lower(as_text(statement)) AS text
            FROM tape_events WHERE statement IS NOT NULL AND digest IS NOT NULL AND coalesce(errno, 0) = 0
        )
    )
    WHERE rule IS NOT NULL
    GROUP BY rule, digest
"""


@dataclass
class Finding:
    """A rule and the digests that match it, the costliest first."""

    rule: Rule
    digests: list[LintFindingsRow]
    events: int
    duration_ns: int | None


@dataclass
class LintResult:
    """The findings for a tape's statements on another version. `source` is None if the tape's version is unknown.

    `statements` and `time_ns` cover all statements except those that failed on the tape. `outcome_unknown`: the number
    of these statements with an unknown outcome. `time_ns` is None if no durations are known.
    """

    tape: Folder
    source: Version | None
    target: Version
    rules: int
    digests: int
    not_read: int
    cut: int
    statements: int
    outcome_unknown: int
    time_ns: int | None
    findings: list[Finding] = field(default_factory=list)

    def count(self, effect: str) -> int:
        """Return the number of digests with a finding of an effect."""
        return len({row["digest"] for finding in self.of(effect) for row in finding.digests})

    def of(self, effect: str) -> list[Finding]:
        """Return the findings with one effect."""
        return [finding for finding in self.findings if finding.rule.effect == effect]


def lint_tape(path: Path, target: Version, source: Version | None = None, memory: str = "1500MB") -> LintResult:
    """Apply the rules for the step from the tape's version (or `source`) to `target`.

    Raises FolderError if the path is not a tape.
    """
    tape = open_folder("tape", path)
    source = source or tape_version(tape.tape_info.get("server_version"))
    rules = applicable(source, target)
    if not rules:
        raise QuerytapeError(f"no lint rule covers the upgrade from {source} to {target}")
    database = open_analysis(memory)
    try:
        tape.attach(database.con, "tape")
        database.run("lint/texts")
        _apply(database, rules)
        return _result(database, tape, source, target, rules)
    finally:
        database.close()


def _apply(database: AnalysisDatabase, rules: Sequence[Rule]) -> None:
    """Fill the table lint_findings."""
    values = [rule for rule in rules if rule.where == "value"]
    for rule in rules:
        if rule.where == "value":
            continue
        statement = DIGESTS.format(
            unless=UNLESS if rule.unless else "", prepared=PREPARED if rule.where == "prepared" else ""
        )
        database.con.execute(statement, [rule.name, rule.regex(), *([rule.unless] if rule.unless else [])])
    if values:
        cases = ", ".join(
            f"CASE WHEN regexp_matches(text, ${2 * n + 2}, 's') THEN ${2 * n + 1} END" for n in range(len(values))
        )
        given = [text for rule in values for text in (rule.name, rule.regex())]
        database.con.execute(VALUES.format(cases=cases), given)


def _result(
    database: AnalysisDatabase, tape: Folder, source: Version | None, target: Version, rules: Sequence[Rule]
) -> LintResult:
    totals = database.con.execute(
        "SELECT count(*), count(*) FILTER (no_sample), count(*) FILTER (cut), coalesce(sum(events), 0)::BIGINT,"
        " coalesce(sum(outcome_unknown), 0)::BIGINT, sum(duration_ns)::BIGINT FROM lint_digests"
    ).fetchone()
    assert totals is not None
    result = LintResult(tape, source, target, len(rules), *totals)
    rows: dict[str, list[LintFindingsRow]] = {}
    for row in cast(list[LintFindingsRow], database.query("lint/findings")):
        rows.setdefault(row["rule"], []).append(row)
    for rule in rules:
        if found := rows.get(rule.name):
            times = [row["duration_ns"] for row in found if row["duration_ns"] is not None]
            result.findings.append(
                Finding(rule, found, sum(row["events"] for row in found), sum(times) if times else None)
            )
    result.findings.sort(key=lambda f: (EFFECTS.index(f.rule.effect), -(f.duration_ns or 0), -f.events, f.rule.name))
    return result
