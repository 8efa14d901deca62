# SPDX-License-Identifier: Apache-2.0
"""Comparisons through the Python library: runs by side, continuation, and their report."""

from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.experiments.library import CompareOptions, compare
from querytape.replay import ReplayOptions, parse_target
from querytape.servers.sandbox import Server

from tests.helpers.tapes import make_tape

ONCE = CompareOptions(rounds=1, pause_ns=0)


@pytest.mark.server
def test_library_comparison_has_runs_by_side(mariadb: Server, tmp_path: Path) -> None:
    """Each side has its rounds. Complete runs are not repeated. The report covers both sides."""
    tape = make_tape(
        tmp_path / "t.tape", [{"statement": f"SELECT {n}", "digest": "00000000000000aa"} for n in range(5)]
    )
    options = ReplayOptions(parse_target(mariadb.url()), tmp_path, lead_ns=0, sample_ns=0, query_plans=False)
    said: list[str] = []
    first = compare(tape, options, options, tmp_path / "c", ONCE, say=said.append)
    assert [path.name for path in (*first.a, *first.b)] == ["a1.run", "b1.run"]
    assert len(said) == 2
    assert compare(tape, options, options, tmp_path / "c", ONCE, say=said.append) == first
    assert len(said) == 2
    assert first.report().content.compares


def test_comparison_without_rounds_is_refused_before_writing(tmp_path: Path) -> None:
    options = ReplayOptions(parse_target("mysql://app@127.0.0.1/"), tmp_path)
    with pytest.raises(InputError, match="expected at least one round"):
        compare(tmp_path / "t.tape", options, options, tmp_path / "c", CompareOptions(rounds=0))
    assert not (tmp_path / "c").exists()
