# SPDX-License-Identifier: Apache-2.0
"""Tests of the engine options that are made from the options of a replay."""

import time
from dataclasses import replace
from pathlib import Path

from querytape.native.bindings.engine import EngineOptions
from querytape.replay import ReplayOptions, Target
from querytape.replay.engine_options import engine_options, permitted, row_bound
from querytape.replay.plan.pacing import Pace
from querytape.replay.plan.rules import Plan, Rules
from querytape.schemas import DANGERS, Folder
from querytape.servers.facts import Facts
from querytape.servers.library_functions import LibraryFunctions

HERE = Target("app", "db", "10.0.0.7", 3307)


def test_default_replay_options_are_the_engine_defaults(tmp_path: Path) -> None:
    everything = frozenset(DANGERS.keys() - {"none"})
    made = engine_options(ReplayOptions(HERE, tmp_path, allow_writes=True, allow_statements=everything))
    assert replace(made, allowed_dangers=0, allowed_classes=0) == EngineOptions(host="10.0.0.7", port=3307, user="app")


def test_permitted_statements_follow_from_the_options(tmp_path: Path) -> None:
    """A replay of reads permits three statement classes and the statements allowed by name. A replay with writes
    permits all classes and two kinds of danger.
    """
    reads = permitted(ReplayOptions(HERE, tmp_path, allow_statements=frozenset({"kill"})))
    assert reads == {
        "check_statements": True, "reads_only": True, "allowed_dangers": 1 << DANGERS["kill"], "allowed_classes": 0b1101,
    }  # fmt: skip
    writes = permitted(ReplayOptions(HERE, tmp_path, allow_writes=True))
    assert writes == {
        "check_statements": True,
        "reads_only": False,
        "allowed_dangers": 1 << DANGERS["set_session_unsafe"] | 1 << DANGERS["lock_tables"],
        "allowed_classes": 0b111111,
    }


def test_failure_rules_pace_and_read_target_reach_the_engine(tmp_path: Path) -> None:
    options = ReplayOptions(
        HERE,
        tmp_path,
        reads_to=Target("r", socket="/s"),
        pace=Pace("think"),
        on_lost="stop",
        overload="drop",
        statement_timeout_ns=5,
        order_bound_ns=6,
        max_concurrent_sessions=4,
    )
    plan = Plan(Folder("tape", tmp_path, {}), Rules(), tmp_path, order_tables=8, peak_sessions=3)
    variables = {"max_allowed_packet": str(100 << 20), "max_connections": "40"}
    facts = Facts("8.4", variables=variables, library=LibraryFunctions(("f",)))
    made = engine_options(options, plan, facts, Facts("8.4", library=LibraryFunctions(("g",))), rest_ns=7)
    assert (made.max_row_bytes, made.refused_calls) == (100 << 20, "f\ng")
    assert (made.follows, made.rest_ns, made.rest_open) == (True, 7, 30)
    assert (made.on_lost, made.statement_timeout_ns, made.max_errors, made.overload, made.order_bound_ns) == (
        "stop", 5, None, "drop", 6,
    )  # fmt: skip
    assert (made.pace, made.max_concurrent_sessions, made.order_tables) == ("think", 4, 8)
    assert made.read_target is not None
    assert made.read_target.socket == "/s"
    assert engine_options(ReplayOptions(HERE, tmp_path, max_errors=0)).max_errors == 0


def test_start_time_is_converted_to_the_monotonic_clock(tmp_path: Path) -> None:
    """A start time on the wall clock is converted to CLOCK_MONOTONIC. If the start time is past, the replay starts
    immediately.
    """
    start = time.time_ns() + 10_000_000_000
    made = engine_options(ReplayOptions(HERE, tmp_path, start_at_ns=start))
    assert abs(made.zero_at_ns - time.monotonic_ns() - 10_000_000_000) < 1_000_000_000
    assert engine_options(ReplayOptions(HERE, tmp_path, start_at_ns=1)).zero_at_ns == 1


def test_row_size_is_limited() -> None:
    """A row may be as large as the target's max_allowed_packet. All sessions share 1 GiB, but each may use at least 64
    MiB.
    """
    mib = 1 << 20
    assert row_bound(1, None) == 1024 * mib
    assert row_bound(3, 1 << 40) == 1024 * mib // 3
    assert row_bound(3, 100 * mib) == 100 * mib
    assert row_bound(500, 1 << 30) == row_bound(0, 1) == 64 * mib
