# SPDX-License-Identifier: Apache-2.0
"""Gates for pipelines: the allowed expressions and the help text."""

from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Report, check_gate, failed, gate_help, gate_values
from querytape.analyze.gates import GATES
from querytape.analyze.model import Finding, Severity
from querytape.analyze.verdicts.verdict import ERRORS, FASTER, INCONCLUSIVE, SAME, SLOWER, UNSTABLE
from querytape.common.errors import InputError
from querytape.schemas import Folder

from tests.helpers.shapes import answers_of, entry_of


def test_gate_values_of_a_report(small_report: Report) -> None:
    """The small runs have one new error and one changed number of rows. Ratios are B divided by A."""
    values = gate_values(small_report)
    totals: dict[str, Any] = {row["run"]: row for row in small_report.answers["totals"]}
    assert (values["new_errors"], values["gone_errors"], values["different_results"]) == (1, 0, 1)
    assert values["inconclusive"] + values["unstable"] + values["slower"] + values["faster"] <= len(
        small_report.digests
    )
    assert values["p95_ratio"] == totals["b"]["service_p95_ns"] / totals["a"]["service_p95_ns"]
    assert values["stalls"] == sum(row["run"] == "b" for row in small_report.answers["stalls"])
    assert values["problems"] == 0


def plain_report(compares: bool = True) -> Report:
    """Return a report with constructed rows in which each gate name has a different value."""
    folders = [Folder("run", Path(name), {}) for name in ("a.run", "b.run")]
    counts = {SLOWER: 1, FASTER: 2, UNSTABLE: 3, INCONCLUSIVE: 4, SAME: 7, ERRORS: 8}
    ratios = {"service_p50_ns": (100, 200), "service_p95_ns": (100, 300), "service_p99_ns": (100, 450)}
    totals = [
        {"run": run, "per_second": (10.0, 6.0)[side], **{name: pair[side] for name, pair in ratios.items()}}
        for side, run in enumerate("ab")
    ]
    return Report(
        Folder("tape", Path("t.tape"), {}),
        folders[:1],
        folders[1:] if compares else [],
        answers=answers_of(
            errors=[
                {"what": what, "events": events}
                for what, events in (("new", 5), ("new", 1), ("changed", 20), ("gone", 9), ("same", 300), ("both", 40))
            ],
            results=[{"known": None, "events": 11}, {"known": "chance", "events": 99}, {"known": None, "events": 2}],
            stalls=[{"run": run} for run in "aaabb"],
            totals=totals,
        ),
        digests=[entry_of({"verdict": word}) for word, count in counts.items() for _ in range(count)],
        trust=[Finding(severity, "x") for severity in (Severity.PROBLEM, Severity.WARNING, Severity.PROBLEM)],
    )


def test_each_gate_name_has_its_own_value() -> None:
    assert gate_values(plain_report()) == {
        "slower": 1, "faster": 2, "unstable": 3, "inconclusive": 4, "new_errors": 66, "failed_on_both": 40,
        "gone_errors": 9, "different_results": 13, "stalls": 2, "problems": 2, "p50_ratio": 2.0, "p95_ratio": 3.0, "p99_ratio": 4.5,
        "throughput_ratio": 0.6,
    }  # fmt: skip
    alone = gate_values(plain_report(compares=False))
    assert alone["stalls"] == 3


@pytest.mark.parametrize("missing", [None, 0, "row", "column"])
@pytest.mark.parametrize("side", [0, 1])
def test_ratio_without_times_is_one(missing: object, side: int) -> None:
    """A ratio without a numerator or denominator is 1, so a gate on the ratio does not trigger."""
    report = plain_report()
    totals: list[Any] = report.answers["totals"]
    if missing == "row":
        del totals[side]
    elif missing == "column":
        del totals[side]["service_p99_ns"]
    else:
        totals[side]["service_p99_ns"] = missing
    assert gate_values(report)["p99_ratio"] == 1.0


HOLDS = {
    "slower > 1": False, "slower > 0.5": True, "slower >= 1": True, "slower >= 1.5": False, "slower < 1": False,
    "slower < 2": True, "slower <= 1": True, "slower <= 0": False, "slower == 1": True, "slower == 2": False,
    "slower != 1": False, "slower != 2": True, "not slower": False, "not (slower > 1)": True, "-slower < 0": True,
    "-slower == -1": True, "slower == 1 and faster == 2": True, "slower == 1 and faster == 3": False,
    "slower == 2 and faster == 2": False, "slower == 1 and (faster == 3 or unstable == 3)": True,
    "slower == 1 and (faster == 3 or unstable == 4)": False, "1 < faster < 3": True, "1 < faster < 2": False,
    "2 < faster < 3": False, "3 > faster > 1 > 0": True, "3 > faster > 1 > 1": False, "p99_ratio > 4.4": True,
    "p99_ratio > 4.5": False, "slower": True, "gone_errors - 9": None, " slower > 0 ": True, "True": True, "0": False,
}  # fmt: skip


@pytest.mark.parametrize(("gate", "holds"), HOLDS.items())
def test_gate_expression_is_true_false_or_refused(gate: str, holds: bool | None) -> None:
    """Each comparison of a gate is tested on both sides of its limit. Other expressions are refused."""
    values = gate_values(plain_report())
    if holds is None:
        with pytest.raises(InputError, match="is not allowed in"):
            failed(gate, values)
        return
    assert (failed(gate, values) != []) is holds
    check_gate(gate)


def test_true_conditions_of_an_or_are_named_in_order() -> None:
    gate = "slower > 0 or faster > 5 or (new_errors > 1 or stalls > 9) or stalls == 2 and faster == 2"
    assert failed(gate, gate_values(plain_report())) == [
        "slower > 0",
        "new_errors > 1 or stalls > 9",
        "stalls == 2 and faster == 2",
    ]


REFUSED = {
    "slower > 0 and slow > 0": "--fail-on: unknown 'slow'; expected slower, faster, unstable, inconclusive",
    "slower >": "--fail-on: expected an expression such as 'slower > 0', found 'slower >'",
    "slower in faster": "expected >, >=, <, <=, == or != in 'slower in faster'",
    "slower > (1, 2)": "'(1, 2)' is not allowed in 'slower > (1, 2)'; use the names slower, faster",
    "slower > 0 and (not faster < 2 ** 9)": "'2 ** 9' is not allowed in 'slower > 0 and (not faster < 2 ** 9)'; use the names",
    "__import__('os')": "--fail-on: unknown '__import__'; expected slower",
    "slower.real > 0": "is not allowed in",
    "[1] > 0": "is not allowed in",
    "'a' > 1": "is not allowed in",
}


@pytest.mark.parametrize(("gate", "sentence"), REFUSED.items(), ids=REFUSED)
def test_other_expressions_are_refused_before_evaluation(gate: str, sentence: str) -> None:
    with pytest.raises(InputError, match="--fail-on") as caught:
        check_gate(gate)
    assert sentence in str(caught.value)


def test_help_names_every_gate_once_in_columns_of_78() -> None:
    lines = gate_help().splitlines()
    assert [line.split()[0] for line in lines if line[2] != " "] == list(GATES)
    assert max(map(len, lines)) <= 78
    column = 2 + max(len(name) for name in GATES) + 2
    assert {len(line[:column].rstrip()) <= column - 2 for line in lines} == {True}
    assert all(line[column - 1] == " " and line[column] != " " for line in lines)
    words = " ".join(line[column:] for line in lines)
    assert words == " ".join(gate.help for gate in GATES.values())
    assert len(lines) > len(GATES)
