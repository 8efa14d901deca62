# SPDX-License-Identifier: Apache-2.0
"""Gates of pipelines: what an expression may say, and its help."""

import pytest
from querytape.analyze import Report, check_gate, failed, gate_help, gate_values
from querytape.analyze.gates import GATES
from querytape.common.errors import InputError


@pytest.mark.parametrize(
    ("gate", "broken"),
    [
        ("slower > 0 or new_errors > 0", ["slower > 0"]),
        ("slower > 1", []),
        ("new_errors > 0 or p99_ratio > 100", []),
        ("slower >= 1 and p50_ratio < 100", ["slower >= 1 and p50_ratio < 100"]),
        ("not slower", []),
        ("0 < slower < 2", ["0 < slower < 2"]),
    ],
)
def test_gates(report: Report, gate: str, broken: list[str]) -> None:
    """Comparisons of what is known; each part of an `or` that holds is named."""
    check_gate(gate)
    assert failed(gate, gate_values(report)) == broken
    assert set(gate_values(report)) == set(GATES)


@pytest.mark.parametrize(
    "gate",
    [
        "slower >",
        "__import__('os')",
        "slower.real > 0",
        "[1] > 0",
        "slow > 0",
        "slower ** 9",
        "slower in (1, 2)",
        "'a' > 1",
    ],
)
def test_gates_run_nothing_else(gate: str) -> None:
    """Anything but numbers, names and comparisons is refused, before anything is run."""
    with pytest.raises(InputError, match="--fail-on"):
        check_gate(gate)


def test_the_values_of_a_report(small_report: Report) -> None:
    """Each name, on the small runs: one new error, one other number of rows, ratios of B over A."""
    values = gate_values(small_report)
    totals = {row["run"]: row for row in small_report.answers["totals"]}
    assert (values["new_errors"], values["gone_errors"], values["different_results"]) == (1, 0, 1)
    assert values["cannot_tell"] + values["unstable"] + values["slower"] + values["faster"] <= len(small_report.digests)
    assert values["p95_ratio"] == totals["b"]["service_p95_ns"] / totals["a"]["service_p95_ns"]
    assert values["stalls"] == sum(row["run"] == "b" for row in small_report.answers["stalls"])
    assert values["problems"] == 0


def test_one_run_has_no_ratios(small_report: Report) -> None:
    """Nothing to compare: a ratio is 1, the stalls are the run's own."""
    alone = Report(small_report.tape, small_report.a, [], answers={**small_report.answers, "totals": [{"run": "a"}]})
    assert gate_values(alone)["p99_ratio"] == gate_values(alone)["throughput_ratio"] == 1.0


def test_the_help_names_all() -> None:
    """A line for each name, in 78 columns."""
    lines = gate_help().splitlines()
    assert [line.split()[0] for line in lines if line[2] != " "] == list(GATES)
    assert max(map(len, lines)) <= 78
