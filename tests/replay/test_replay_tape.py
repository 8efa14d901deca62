# SPDX-License-Identifier: Apache-2.0
"""Tests of refused replays. The error comes before anything is sent, and no file remains."""

from dataclasses import replace
from pathlib import Path

import pytest
from querytape.common.errors import InputError, RefusedError, TargetError
from querytape.replay import Finding, ReplayOptions, Target, replay
from querytape.replay.plan.selection import Selection
from querytape.replay.replay_tape import open_hosts, read_target_facts, refuse, span_of
from querytape.replay.watcher import ALONE
from querytape.schemas import Folder
from querytape.servers.facts import Facts
from querytape.servers.sandbox import Server

from tests.helpers.tapes import make_tape
from tests.helpers.whole import options


def test_one_error_lists_all_refusals() -> None:
    refuse([Finding("info", "a"), Finding("warning", "b")])
    with pytest.raises(RefusedError) as raised:
        refuse([Finding("refuse", "first"), Finding("warning", "b"), Finding("refuse", "second")])
    assert [line.strip() for line in str(raised.value).splitlines()] == ["refused: first", "second"]


def test_metrics_of_the_target_host_need_a_local_target(tmp_path: Path) -> None:
    """Counters of another host need `--host-metrics`. Without a read target, the run has no properties of a read
    target.
    """
    away = ReplayOptions(Target("u", "db", "10.0.0.7"), tmp_path / "a.run")
    here = ReplayOptions(Target("u", socket="/s"), tmp_path / "a.run")
    facts = Facts("8.0")
    assert {source for host in open_hosts(away, facts) for source, _, _ in host.read()} == {"tool"}
    assert {source for host in open_hosts(here, facts) for source, _, _ in host.read()} == {"host"}
    assert open_hosts(replace(here, sample_ns=0), facts) == ()
    assert read_target_facts(here) is None


def test_tape_of_a_split_set_keeps_its_place_with_a_start_time(tmp_path: Path) -> None:
    """The tape covers 40 to 70 of a set that covers 10 to 100. The set begins at --from if the time is given."""
    part = Folder("tape", tmp_path, {"set_first_ns": 10, "set_last_ns": 100})
    given = ReplayOptions(Target("u", socket="/s"), tmp_path / "a.run")
    at = replace(given, start_at_ns=1)
    assert span_of(part, at, ALONE)(40, 70) == (10, 100)
    assert span_of(part, replace(at, selection=Selection(from_ns=25)), ALONE)(40, 70) == (25, 100)
    assert span_of(part, given, ALONE)(40, 70) == (40, 70)
    assert span_of(Folder("tape", tmp_path, {}), at, ALONE)(40, 70) == (40, 70)


@pytest.mark.server
def test_unreachable_target_leaves_no_run(shop: Server, tmp_path: Path) -> None:
    """The target refuses the connection or the login."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    for target in (Target("root", "127.0.0.1", "127.0.0.1", 1), replace(options(shop, tmp_path).target, user="nobody")):
        with pytest.raises(TargetError, match="cannot connect to"):
            replay(tape, ReplayOptions(target, tmp_path / "t.run"))
        assert not (tmp_path / "t.run").exists()


@pytest.mark.server
def test_refused_replay_leaves_no_folder(shop: Server, tmp_path: Path) -> None:
    """The pre-flight check refuses the replay before anything is sent. An existing folder is never changed."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    with pytest.raises(RefusedError, match="--target-is-disposable"):
        replay(tape, options(shop, tmp_path / "t.run", target_is_disposable=False))
    assert not (tmp_path / "t.run").exists()
    with pytest.raises(InputError, match="already exists"):
        replay(tape, options(shop, tmp_path))
    with pytest.raises(InputError, match="no such tape"):
        replay(tmp_path / "none.tape", options(shop, tmp_path / "t.run"))


@pytest.mark.server
def test_damaged_part_is_named_and_leaves_no_run(shop: Server, tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}"} for n in range(10)], parts=2)
    part = tape / "events" / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"part-00001\.parquet: the file is damaged: its end is missing"):
        replay(tape, options(shop, tmp_path / "t.run"))
    assert not (tmp_path / "t.run").exists()
