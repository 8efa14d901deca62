# SPDX-License-Identifier: Apache-2.0
"""Tests of the last lines and the exit code of a replay."""

from pathlib import Path
from typing import Any

import pytest
from querytape.cli.run_lines import exit_code, summary_lines
from querytape.replay import RunSummary
from querytape.replay.observe.run_warnings import order_warnings


@pytest.mark.parametrize(("broken", "code"), [(0, 0), (1, 4), (50, 4)])
def test_timed_out_order_waits_are_reported_once_and_exit_with_4(broken: int, code: int, tmp_path: Path) -> None:
    """The warning follows the accounting line. If an order wait timed out, the final data may differ from the captured
    server's data.
    """
    counts = dict.fromkeys(("tape_events", "executed", "filtered", "skipped", "not_sent", "injected"), 1)
    sessions = dict.fromkeys(("opened", "opened_ahead", "failed", "lost", "in_transaction_at_end"), 1)
    info: dict[str, Any] = {
        "accounting": {**counts, "balanced": True, "order_waits": 778, "order_broken": broken},
        "plan": {}, "lateness": {}, "sessions": sessions, "elapsed_ns": 1, "partial": None, "generator": {"warnings": []},
    }  # fmt: skip
    info["generator"]["warnings"] += order_warnings(info)
    summary = RunSummary(tmp_path / "t.run", info)
    lines = summary_lines(summary)
    said = [at for at, text in enumerate(lines) if "the limit of --order-bound" in text]
    assert said == ([1] if broken else [])
    assert exit_code(summary) == code
