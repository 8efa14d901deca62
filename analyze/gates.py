# SPDX-License-Identifier: Apache-2.0
"""Gates for pipelines: evaluate an expression such as `slower > 0 or p99_ratio > 1.2` on a report.

The expression uses Python's syntax for comparisons, `and`, `or`, `not` and brackets over the names in GATES. Nothing
else is evaluated.
"""

import ast
import operator
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from ..common.errors import OptionError
from .findings.errors import NEW_ERRORS, ON_BOTH
from .findings.results import unexplained
from .model import Report, Severity
from .rows import ErrorsRow, ResultsRow
from .verdicts.verdict import FASTER, INCONCLUSIVE, SLOWER, UNSTABLE

HELP_WIDTH = 76
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Gate(NamedTuple):
    """A name of a gate expression: its help text, and the function that computes its value from a report."""

    help: str
    value: Callable[[Report], float]


def _verdicts(word: str) -> Callable[[Report], float]:
    return lambda report: report.count(word)


def _events(rows: Iterable[ErrorsRow | ResultsRow]) -> int:
    return sum(row["events"] for row in rows)


def _errors(*kinds: str) -> Callable[[Report], float]:
    return lambda report: _events(row for row in report.answers["errors"] if row["what"] in kinds)


def _stalls(report: Report) -> float:
    judged = "b" if report.compares else "a"
    return sum(1 for row in report.answers["stalls"] if row["run"] == judged)


def _ratio(
    column: Literal["service_p50_ns", "service_p95_ns", "service_p99_ns", "per_second"],
) -> Callable[[Report], float]:
    """Return a function that divides B's total by A's total. The function returns 1 if there is nothing to compare."""

    def value(report: Report) -> float:
        totals = {row["run"]: row.get(column) for row in report.answers["totals"]}
        before, after = totals.get("a"), totals.get("b")
        return float(after / before) if before and after else 1.0

    return value


GATES: dict[str, Gate] = {
    "slower": Gate("digests that are slower in B", _verdicts(SLOWER)),
    "faster": Gate("digests that are faster in B", _verdicts(FASTER)),
    "unstable": Gate("digests whose interval crosses the margin", _verdicts(UNSTABLE)),
    "inconclusive": Gate("digests without a verdict", _verdicts(INCONCLUSIVE)),
    "new_errors": Gate(
        "events that fail only in B, or with a different error in B",
        _errors(*NEW_ERRORS),
    ),
    "failed_on_both": Gate(
        "events that fail in A and B but succeeded on the tape (also counted in new_errors)", _errors(ON_BOTH)
    ),
    "gone_errors": Gate("events that no longer fail", _errors("gone")),
    "different_results": Gate(
        "events with different results for unknown reasons",
        lambda report: _events(unexplained(report)),
    ),
    "stalls": Gate("stalls of B (or of the only run)", _stalls),
    "problems": Gate(
        "findings with severity 'problem'",
        lambda report: sum(1 for finding in report.trust if finding.severity is Severity.PROBLEM),
    ),
    "p50_ratio": Gate("median service time, B divided by A", _ratio("service_p50_ns")),
    "p95_ratio": Gate("p95 service time, B divided by A", _ratio("service_p95_ns")),
    "p99_ratio": Gate("p99 service time, B divided by A", _ratio("service_p99_ns")),
    "throughput_ratio": Gate("statements per second, B divided by A", _ratio("per_second")),
}


def gate_help() -> str:
    """Return one help line for each name of --fail-on, indented by two spaces, at most 78 columns wide."""
    width = max(len(name) for name in GATES) + 2
    lines = []
    for name, gate in GATES.items():
        text = textwrap.wrap(gate.help, HELP_WIDTH - width)
        lines += [f"  {name if place == 0 else '':{width}}{part}" for place, part in enumerate(text)]
    return "\n".join(lines)


def gate_values(report: Report) -> dict[str, float]:
    """Return the value of each name in GATES."""
    return {name: gate.value(report) for name, gate in GATES.items()}


def failed(expression: str, known: dict[str, float]) -> list[str]:
    """Return the true parts of a gate (joined by `or`) as texts. Raises InputError if the expression is not a gate."""
    tree = _parse(expression)
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or) else [tree]
    results = [(ast.unparse(part), _evaluate(part, known, expression)) for part in parts]
    return [text for text, result in results if result]


def check_gate(expression: str) -> None:
    """Raise InputError if an expression is not a gate, before any work starts."""
    for part in ast.walk(_parse(expression)):
        if isinstance(part, ast.Name) and part.id not in GATES:
            raise OptionError(f"--fail-on: unknown {part.id!r}; expected {', '.join(GATES)}")
    failed(expression, dict.fromkeys(GATES, 0.0))


def _parse(expression: str) -> ast.expr:
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise OptionError(f"--fail-on: expected an expression such as 'slower > 0', found {expression!r}") from error


def _evaluate(node: ast.expr, known: dict[str, float], whole: str) -> Any:
    if isinstance(node, ast.BoolOp):
        results = [_evaluate(part, known, whole) for part in node.values]
        return any(results) if isinstance(node.op, ast.Or) else all(results)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        value = _evaluate(node.operand, known, whole)
        return not value if isinstance(node.op, ast.Not) else -value
    if isinstance(node, ast.Compare):
        operands = [_evaluate(operand, known, whole) for operand in (node.left, *node.comparators)]
        steps = zip(node.ops, operands, operands[1:], strict=False)
        return all(_comparison(op, whole)(left, right) for op, left, right in steps)
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    raise OptionError(f"--fail-on: {ast.unparse(node)!r} is not allowed in {whole!r}; use the names {', '.join(GATES)}")


def _comparison(op: ast.cmpop, whole: str) -> Callable[[Any, Any], bool]:
    if type(op) not in COMPARISONS:
        raise OptionError(f"--fail-on: expected >, >=, <, <=, == or != in {whole!r}")
    return COMPARISONS[type(op)]
