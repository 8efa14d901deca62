# SPDX-License-Identifier: Apache-2.0
"""Gates for pipelines: `slower > 0 or p99_ratio > 1.2`, exit code 3 where one holds, and a JUnit file.

The expression is Python's for comparisons, and, or, not and brackets over the names below; nothing else is evaluated.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from .analyze import Report
from .errors import InputError

FAILED_GATE = 3
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
# XML 1.0 has no other control characters.
SPOKEN = {code: " " for code in range(32) if code not in (9, 10, 13)}


def values(report: Report) -> dict[str, float]:
    """Return what a gate may ask about. Ratios are B over A; 1 where there is nothing to compare."""
    totals = {row["run"]: row for row in report.answers["totals"]}
    a, b = totals.get("a", {}), totals.get("b", {})
    found: dict[str, float] = {
        "slower": report.count("slower"),
        "faster": report.count("faster"),
        "unstable": report.count("unstable"),
        "cannot_tell": report.count("cannot tell"),
        "new_errors": sum(r["events"] for r in report.answers["errors"] if r["what"] in ("new", "changed")),
        "gone_errors": sum(r["events"] for r in report.answers["errors"] if r["what"] == "gone"),
        "different_results": sum(r["events"] for r in report.answers["results"] if r["known"] is None),
        "stalls": sum(1 for r in report.answers["stalls"] if r["run"] == ("b" if report.compares else "a")),
        "problems": sum(1 for level, _ in report.trust if level == "problem"),
    }
    for name, key in (("p50", "service_p50_ns"), ("p95", "service_p95_ns"), ("p99", "service_p99_ns")):
        found[f"{name}_ratio"] = b[key] / a[key] if a.get(key) and b.get(key) else 1.0
    found["throughput_ratio"] = (
        b["per_second"] / a["per_second"] if a.get("per_second") and b.get("per_second") else 1.0
    )
    return found


def failed(expression: str, known: dict[str, float]) -> list[str]:
    """Return the parts of a gate (joined by `or`) that are true, as texts. Raises InputError for another expression."""
    tree = _parse(expression)
    parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or) else [tree]
    results = [(ast.unparse(part), _evaluate(part, known, expression)) for part in parts]
    return [text for text, result in results if result]


def check_gate(expression: str) -> None:
    """Raise InputError where an expression can't be a gate, before anything is run for it."""
    anything: dict[str, float] = dict.fromkeys(NAMES, 0.0)
    for part in ast.walk(_parse(expression)):
        if isinstance(part, ast.Name) and part.id not in anything:
            raise InputError(f"--fail-on: unknown {part.id!r}; expected {', '.join(NAMES)}")
    failed(expression, anything)


NAMES = (
    "slower",
    "faster",
    "unstable",
    "cannot_tell",
    "new_errors",
    "gone_errors",
    "different_results",
    "stalls",
    "problems",
    "p50_ratio",
    "p95_ratio",
    "p99_ratio",
    "throughput_ratio",
)


def _parse(expression: str) -> ast.expr:
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as fault:
        raise InputError(f"--fail-on: expected an expression as in 'slower > 0', found {expression!r}") from fault


def _evaluate(node: ast.expr, known: dict[str, float], whole: str) -> Any:
    if isinstance(node, ast.BoolOp):
        results = [_evaluate(part, known, whole) for part in node.values]
        return any(results) if isinstance(node.op, ast.Or) else all(results)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        value = _evaluate(node.operand, known, whole)
        return not value if isinstance(node.op, ast.Not) else -value
    if isinstance(node, ast.Compare):
        sides = [_evaluate(side, known, whole) for side in (node.left, *node.comparators)]
        pairs = zip(node.ops, sides, sides[1:], strict=False)
        return all(_comparison(op, whole)(left, right) for op, left, right in pairs)
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    raise InputError(f"--fail-on: {ast.unparse(node)!r} is not allowed in {whole!r}; names are {', '.join(NAMES)}")


def _comparison(op: ast.cmpop, whole: str) -> Callable[[Any, Any], bool]:
    if type(op) not in COMPARISONS:
        raise InputError(f"--fail-on: expected >, >=, <, <=, == or != in {whole!r}")
    return COMPARISONS[type(op)]


def junit(report: Report, broken: list[str]) -> str:
    """Return a JUnit file: a case for each digest, failed where it is slower or fails newly, and one for the gate."""
    cases = []
    for entry in report.digests:
        case = ElementTree.Element(
            "testcase", classname="querytape.digest", name=_spoken(f"{entry['digest']} {entry['text']}"[:200])
        )
        if entry["verdict"] in ("slower", "errors changed"):
            failure = ElementTree.SubElement(case, "failure", message=_spoken(f"{entry['verdict']}: {entry['why']}"))
            failure.text = _spoken(entry["text"])
        elif entry["verdict"] == "cannot tell":
            ElementTree.SubElement(case, "skipped", message=_spoken(entry["why"]))
        cases.append(case)
    gate = ElementTree.Element("testcase", classname="querytape.gate", name="--fail-on")
    if broken:
        ElementTree.SubElement(gate, "failure", message=_spoken(", ".join(broken)))
    cases.append(gate)
    failures = sum(1 for case in cases if case.find("failure") is not None)
    skipped = sum(1 for case in cases if case.find("skipped") is not None)
    suite = ElementTree.Element(
        "testsuite", name="querytape", tests=str(len(cases)), failures=str(failures), skipped=str(skipped), errors="0"
    )
    suite.extend(cases)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _spoken(text: str) -> str:
    return text.translate(SPOKEN).encode("utf-8", "replace").decode("utf-8")
