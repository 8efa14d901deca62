# SPDX-License-Identifier: Apache-2.0
"""A report says that the data of a run may not be the tape's, where the replay's exit code is 4."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from querytape.analyze import build
from querytape.analyze.findings.other_data import other_data
from querytape.cli.commands.replay import exit_code
from querytape.cli.output import EXIT_LOST

from tests.helpers.reports import tape_of, terminal_text
from tests.helpers.runs import make_run

CASES: list[tuple[dict[str, Any], str]] = [
    ({"plan": {"ids_unknown": 60}}, "the tape does not know the ids of 60 INSERTs, which are the target's own"),
    ({"plan": {"ids_unknown": 1}}, "the tape does not know the ids of 1 INSERT, which is the target's own"),
    ({"accounting": {"overrides_failed": 2}}, "the target refused 2 clocks or ids of the tape"),
    ({"accounting": {"order_broken": 1, "order_waits": 9}}, "1 of 9 waits for the order of commits was broken"),
    ({"prepared": {"rolled_back": ["a", "b"], "left": []}}, "2 XA transactions without an end were rolled back"),
    ({"prepared": {"rolled_back": [], "left": ["'a'"]}}, "1 XA transaction without an end was left on the target"),
]


@pytest.mark.parametrize(("info", "said"), CASES)
def test_what_exit_code_4_stands_for(info: dict[str, Any], said: str) -> None:
    """Each reason for it is said, and nothing else is."""
    info = {"plan": {}, "accounting": {}, **info}
    assert other_data("B", info) == f"The data of run B may differ from the tape's: {said}."
    summary: Any = SimpleNamespace(info=info, complete=True)
    assert exit_code(summary) == EXIT_LOST


def test_nothing_to_say() -> None:
    """Of a run whose data is the tape's, of one that was killed, and of an older one."""
    for info in (
        {},
        {"plan": None, "accounting": None},
        {"plan": {"ids_unknown": 0}, "accounting": {"order_broken": 0}},
    ):
        assert other_data("A", info) is None


@pytest.mark.slow
def test_a_report_says_it(tmp_path: Path) -> None:
    """Of each run, in one sentence, also where there is only one."""
    tape = tape_of(tmp_path / "t.tape", 2)
    keys: dict[str, Any] = {"plan": {"ids_unknown": 60}, "prepared": {"rolled_back": ["a"], "left": []}}
    runs = [make_run(tmp_path / f"{n}.run", tape, [{}, {}], **more) for n, more in enumerate(({}, keys))]
    said = " ".join(terminal_text(build(tape, runs[:1], runs[1:])).split())
    assert "warning: The data of run B may differ from the tape's: the tape does not know the ids of 60 INSERTs" in said
    assert "which are the target's own; 1 XA transaction without an end was rolled back." in said
    assert "data of run A" not in said
    assert "The data of run A may differ" in " ".join(terminal_text(build(tape, runs[1:])).split())
