# SPDX-License-Identifier: Apache-2.0
"""Tests of the result of a run: whether the run is complete or partial, and the reason."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from querytape.native.bindings.engine import EndedBy
from querytape.replay.observe.standstill import Standstill
from querytape.replay.summary import RunSummary, why_partial
from querytape.replay.watcher import ReplayGroup

CLEAN = {"lost": 0, "failed": 0, "opened": 2}


def ended(**values: Any) -> Any:
    """Return an ended run with the fields that decide whether the run is partial."""
    stats = SimpleNamespace(now_ns=2_500_000_000, ended_by=EndedBy.NOTHING, drain_timeout=0)
    task = SimpleNamespace(group=ReplayGroup())
    run = SimpleNamespace(stats=stats, stops=0, feeder_error=None, info={}, drivers=None, standstill=None, task=task)
    for name, value in values.items():
        setattr(stats if hasattr(stats, name) else run, name, value)
    return run


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "3 events not sent before the end of --drain"),
        ({"stops": 1}, "stopped by the user after 2.5 s: 3 events not sent"),
        (
            {"ended_by": EndedBy.ERRORS},
            "stopped after 2.5 s: more statements failed than --max-errors allows; 3 events",
        ),
        (
            {"standstill": Standstill((), False, 20, 2_000_000_000)},
            "stopped after 2.5 s: --order commit made no progress in 20 consecutive periods of --order-bound"
            " (2.00s); 3 events",
        ),
        ({"feeder_error": OSError("gone")}, "the tape could not be read to its end (gone): 3 events not sent"),
        ({"drain_timeout": 1}, "no answer to 1 event before the end of --drain: 3 events not sent"),
    ],
)
def test_summary_gives_the_first_reason_for_a_partial_run(values: dict[str, Any], sentence: str) -> None:
    accounting = {"not_sent": 3, "reasons": {"not_sent": {"drain_timeout": 3}}}
    assert str(why_partial(ended(**values), accounting, CLEAN)).startswith(sentence)


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("drain_timeout", "3 events not sent before the end of --drain"),
        ("stopped", "3 events not sent before the end of --drain"),
        ("tape_unread", "3 events not sent before the end of --drain"),
        ("connection_lost", "connections failed or were lost: 3 events not sent"),
        ("connect_failed", "connections failed or were lost: 3 events not sent"),
        ("transaction_lost", "connections failed or were lost: 3 events not sent"),
        ("nothing_to_close", None),
        ("not_permitted", None),
        ("overload", None),
    ],
)
def test_unsent_events_that_make_a_run_partial(reason: str, sentence: str | None) -> None:
    """Events lost with a connection or at the end of `--drain` make a run partial. Single refused events are only
    counted.
    """
    accounting = {"not_sent": 3, "reasons": {"not_sent": {reason: 3}}}
    assert why_partial(ended(), accounting, CLEAN) == sentence


def test_run_that_its_group_stopped_names_the_reason() -> None:
    run = ended(stops=1)
    run.task.group.stopped_because = "the lead process was lost (no reply)"
    accounting = {"not_sent": 3, "reasons": {"not_sent": {"stopped": 3}}}
    expected = "stopped, because the lead process was lost (no reply), after 2.5 s: 3 events not sent"
    assert why_partial(run, accounting, CLEAN) == expected


def test_lost_session_without_unsent_events_is_not_partial() -> None:
    accounting = {"not_sent": 0, "reasons": {}}
    assert why_partial(ended(), accounting, {**CLEAN, "lost": 1}) is None


def test_run_is_complete_if_it_is_not_partial_and_balances() -> None:
    run = RunSummary(Path("a.run"), {"partial": None, "accounting": {"balanced": True}})
    assert run.complete
    assert not replace(run, info={**run.info, "partial": "stopped"}).complete
    assert not replace(run, info={**run.info, "accounting": {"balanced": False}}).complete
