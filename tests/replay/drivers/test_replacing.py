# SPDX-License-Identifier: Apache-2.0
"""Tests of drivers that replace lost drivers. No statement is sent twice, and each event has one outcome."""

import json
import os
import random
import re
import signal
import threading
import time
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.replay import Tick, Watcher
from querytape.replay.checks.preflight import Finding
from querytape.replay.drivers.lead import replay_by_drivers
from querytape.replay.drivers.member import Beginning, Member
from querytape.replay.drivers.replacing import Places, Replacing, beginning, options_from, refuse_resume
from querytape.replay.drivers.shares import Drivers
from querytape.replay.options import ReplayOptions
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Amplification, Pace, due_ns
from querytape.replay.plan.rules import Plan
from querytape.servers.sandbox import Server
from querytape.servers.target import Target

from tests.helpers.growing_log import wait_until
from tests.helpers.joining import Bench, shop_with_account
from tests.helpers.primes import EVENTS, balanced, prime_set, written
from tests.helpers.processes import children_with
from tests.helpers.tapes import MS, T0
from tests.helpers.whole import options, query

from .test_lead import LOCAL, At

SECOND = 1_000_000_000


def test_due_times_after_the_beginning_stay_the_same() -> None:
    """Random speeds, ramps and times. Rounding changes no due time."""
    rng = random.Random(32)
    for _ in range(300):
        pace = Pace(speed=Fraction(rng.randint(1, 999), rng.randint(1, 999)), ramp_ns=rng.choice([0, 7, 30 * SECOND]))
        earliest = rng.randrange(100 * SECOND)
        begins = beginning(earliest, pace, T0)
        assert begins.due_ns >= max(earliest, pace.ramp_ns)
        for _ in range(20):
            start = begins.tape_ns + rng.randrange(10**12)
            whole = due_ns(start - T0, pace.speed) + pace.ramp_ns // 2
            assert whole == begins.due_ns + due_ns(start - begins.tape_ns, pace.speed)


def test_options_of_a_new_driver_count_from_its_beginning(tmp_path: Path) -> None:
    given = ReplayOptions(Target("h"), tmp_path, pace=Pace(ramp_ns=5), stop_after_ns=100)
    made = options_from(Beginning(40, T0 + 40), given)
    assert (made.selection.from_ns, made.pace.ramp_ns, made.stop_after_ns) == (T0 + 40, 0, 60)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"pace": Pace("none")}, "--pace none"),
        ({"pace": Pace("think")}, "--pace think"),
        ({"pace": Pace(max_idle_ns=1)}, "--max-idle"),
        ({"pace": Pace(connect_speed=Fraction(2))}, "--connect-speed and --think-speed"),
        ({"amplification": Amplification(loop=2)}, "--loop"),
        ({"commit_order": True, "overrides": Overrides(clock=True, ids=True)}, "--order commit"),
    ],
)
def test_options_without_a_time_to_continue_are_refused(wrong: dict[str, Any], named: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"--on-driver-lost resume cannot be combined with {named}"):
        refuse_resume(ReplayOptions(Target("h"), tmp_path, **wrong))


class Run:
    """A run with members without processes. `found`: the findings. `started`: the numbers of the started members."""

    def __init__(self, folder: Path, last_ns: int = 100 * SECOND, starts: bool = True) -> None:
        self.found: list[str] = []
        self.started: list[int] = []
        self.news = threading.Condition()
        self.root = Member(1, ["01.tape"], folder / "01", self.news)
        self.root.told, self.root.planned = True, {"last_due_ns": last_ns}
        self.members = [self.root]
        self._starts, self._folder = starts, folder
        self.zero_ns = time.monotonic_ns() - 5 * SECOND
        zero, prepare_ns = self.zero_ns, SECOND
        calls = self._add, self._start, lambda member: None, self._find
        self.replacing = Replacing(Places(self.members, *calls, Pace(), (T0, T0 + last_ns), zero, prepare_ns, 9.0))

    def _find(self, finding: Finding) -> None:
        self.found.append(finding.text)

    def _add(self, lost: Member, begins: Beginning) -> Member:
        new = Member(len(self.members) + 1, lost.names, self._folder / "x", self.news)
        new.replaces, new.begins, lost.successor = lost, begins, new
        self.members.append(new)
        return new

    def _start(self, new: Member) -> bool:
        self.started.append(new.number)
        return self._starts


def test_new_driver_begins_after_the_limits_of_all_lost_drivers(tmp_path: Path) -> None:
    """The second driver was lost before it got a limit of its own."""
    run = Run(tmp_path)
    run.root.granted_ns = time.monotonic_ns() + 30 * SECOND
    run.root.lose("its link was cut")
    run.replacing.look(stopping=False)
    first = run.members[1]
    assert first.begins is not None
    assert first.begins.due_ns + run.zero_ns > run.root.granted_ns
    first.lose("it was killed")
    run.replacing.look(stopping=False)
    second = run.members[2]
    assert second.begins is not None
    assert second.begins.due_ns + run.zero_ns > run.root.granted_ns
    assert run.replacing.settle(second).due_ns + run.zero_ns > run.root.granted_ns
    run.replacing.look(stopping=True)


def test_failed_driver_is_replaced_three_times(tmp_path: Path) -> None:
    """The last message says that nobody takes over the tapes any more."""
    run = Run(tmp_path)
    run.root.failed = {"error": "other", "text": "the disk is full"}
    for number in (1, 2, 3):
        run.replacing.look(stopping=False)
        assert len(run.members) == 1 + number
        run.members[-1].failed = {"error": "target", "text": "refused"}
    for _ in range(2):
        run.replacing.look(stopping=False)
    assert [member.replaces for member in run.members] == [None, *run.members[:3]]
    assert run.found == ["no driver replaces driver 1 (unknown host): 3 new drivers failed"]


def test_no_driver_is_started_if_no_event_would_be_due(tmp_path: Path) -> None:
    run = Run(tmp_path, last_ns=8 * SECOND)
    run.root.lose("gone")
    for _ in range(2):
        run.replacing.look(stopping=False)
    assert run.members == [run.root]
    assert run.found == ["no driver replaces driver 1 (unknown host): no event is due after a new driver could begin"]


def test_place_of_a_driver_that_nobody_starts_is_removed(tmp_path: Path) -> None:
    """The lead waits until no event is due any more."""
    run = Run(tmp_path, last_ns=11 * SECOND, starts=False)
    run.root.lose("gone")
    run.replacing.look(stopping=False)
    new = run.members[1]

    def is_removed() -> bool:
        run.replacing.look(stopping=False)
        return len(run.members) == 1

    wait_until(is_removed, "the end of the wait")
    assert run.started == [2]
    assert time.monotonic_ns() - run.zero_ns > 6 * SECOND
    assert run.found == ["no driver replaces driver 1 (unknown host): no other driver joined in time"]
    assert (new.lost, run.root.successor) == ("no other driver joined in time", None)
    run.replacing.look(stopping=False)
    assert run.members == [run.root]


def check_run(shop: Server, run: Path, info: dict[str, Any], number: int) -> dict[str, Any]:
    """Check a run in which a driver was lost and driver `number` replaced it. Return the accounting."""
    twice = "SELECT session, seq, count(*) FROM shop.log GROUP BY session, seq HAVING count(*) > 1"
    assert shop.execute(twice) == ()
    counts = balanced(run)
    new = info["drivers"][number - 1]
    (lost,) = [driver for driver in info["drivers"] if driver["number"] == new["replaces"]]
    assert lost["lost"]
    assert new["lost"] is None
    assert new["tapes"] == lost["tapes"]
    of_lost = "session IN (SELECT session FROM '{}/{}/sessions.parquet')".format(
        run.parent / "primes.set", lost["tapes"][0]
    )
    outcomes = f"FROM '{run}/outcomes/*.parquet' WHERE {of_lost}"
    begin = new["begin_ns"]
    rows = query(f"SELECT status, reason, due_ns >= {begin}, count(*) {outcomes} GROUP BY ALL ORDER BY ALL")
    kinds = {(status, reason, late) for status, reason, late, _ in rows}
    assert ("executed", None, True) in kinds, rows
    assert kinds <= {("executed", None, True), ("executed", None, False), ("not_sent", "driver_lost", None)}, rows
    # the times of the new driver's outcomes count from the start of the run
    wrong = (
        f"NOT (free_ns <= sent_ns AND sent_ns >= due_ns AND done_ns >= sent_ns AND sent_ns < due_ns + {30 * SECOND})"
    )
    assert query(f"SELECT count(*) {outcomes} AND status = 'executed' AND {wrong}") == [(0,)]
    connected = f"SELECT min(connected_ns) FROM '{run}/sessions.parquet' WHERE {of_lost}"
    assert query(connected)[0][0] > 0
    assert counts["executed"] + counts["not_sent"] == EVENTS
    there = sum(written(shop).values())
    executed = query(f"SELECT count(*) FROM '{run}/outcomes/*.parquet' WHERE status = 'executed' AND seq % 2 = 1")[0][0]
    assert executed <= there <= executed + counts["sent_unknown"]
    return counts


@pytest.mark.server
def test_new_driver_continues_in_place_of_a_killed_driver(shop: Server, tmp_path: Path) -> None:
    tapes, run = prime_set(tmp_path, 3, 300 * MS), tmp_path / "a.run"
    watcher = At(2, lambda: os.kill(children_with(LOCAL)[0], signal.SIGKILL))
    summary = replay_by_drivers(tapes, options(shop, run, partial_ok=True), Drivers(3, on_lost="resume"), watcher)
    assert any("driver 4 replaces driver" in text for text in watcher.said), watcher.said
    counts = check_run(shop, run, summary.info, 4)
    assert 0 < counts["sent_unknown"] < counts["reasons"]["not_sent"]["driver_lost"]
    assert "driver 4 replaced it from" in summary.info["partial"]
    assert children_with(LOCAL) == []


@pytest.mark.server
@pytest.mark.long
def test_new_driver_is_replaced_as_well(shop: Server, tmp_path: Path) -> None:
    """Each driver is killed four seconds after it begins. Three new drivers are tried, then the tape has no driver."""
    prime_set(tmp_path, 2, 700 * MS)
    tape, run = tmp_path / "primes.tape", tmp_path / "a.run"
    killed: list[int] = []

    class Killing(Watcher):
        due_ns = 4 * SECOND

        def finding(self, finding: Finding) -> None:
            if begin := re.search(r" replaces .* from ([\d.]+) s on", finding.text):
                self.due_ns = int((float(begin[1]) + 4) * SECOND)

        def tick(self, tick: Tick, done: int, plan: Plan) -> None:
            if tick.at_ns >= self.due_ns and (there := children_with(LOCAL)):
                killed.extend(there)
                os.kill(killed[-1], signal.SIGKILL)
                self.due_ns = 10**18

    summary = replay_by_drivers(tape, options(shop, run, partial_ok=True), Drivers(1, on_lost="resume"), Killing())
    counts, drivers = balanced(run), summary.info["drivers"]
    assert len(killed) == 4
    assert [driver["replaces"] for driver in drivers] == [None, 1, 2, 3]
    assert all(driver["lost"] for driver in drivers)
    assert shop.execute("SELECT session, seq FROM shop.log GROUP BY session, seq HAVING count(*) > 1") == ()
    times = f"SELECT due_ns FROM '{run}/outcomes/*.parquet' WHERE status = 'executed'"
    for driver in drivers:  # each driver has reported events
        begin = driver["begin_ns"]
        assert query(f"SELECT count(*) > 0 FROM ({times}) WHERE due_ns BETWEEN {begin} AND {begin + 4 * SECOND}") == [
            (True,)
        ]
    there = sum(written(shop).values())
    executed = query(f"SELECT count(*) FROM '{run}/outcomes/*.parquet' WHERE status = 'executed' AND seq % 2 = 1")[0][0]
    assert executed <= there <= executed + counts["sent_unknown"]


@pytest.mark.server
@pytest.mark.long
def test_frozen_driver_on_another_host_sends_nothing_after_its_limit(mariadb_factory: Any, tmp_path: Path) -> None:
    """A user starts another driver. The frozen driver wakes up when the new driver is at work."""
    shop = shop_with_account(mariadb_factory())
    with ExitStack() as stack:
        bench = Bench(shop, tmp_path, stack, gap_ns=500 * MS)
        lead, port = bench.lead("--on-driver-lost", "resume")
        drivers = [bench.driver(number, port) for number in (1, 2, 3)]
        lead.saw("0:02 ")
        frozen = drivers[0].process
        frozen.send_signal(signal.SIGSTOP)
        lead.saw("can be replaced: start another driver with the same options")
        drivers.append(bench.driver(4, port))
        lead.saw("driver 4 .*replaces driver")
        lead.saw("0:20 ")
        frozen.send_signal(signal.SIGCONT)
        code, said = lead.end()
        assert code == 5, said
        assert [driver.end()[0] for driver in drivers[1:]] == [0, 0, 0]
        assert drivers[0].end()[0] == 1
    info = json.loads((bench.run / "run.json").read_text())
    check_run(shop, bench.run, info, 4)
    assert info["drivers"][3]["begin_ns"] > 10 * SECOND  # after the limit of the frozen driver


@pytest.mark.server
@pytest.mark.long
def test_lead_waits_for_a_new_driver_although_all_drivers_are_lost(mariadb_factory: Any, tmp_path: Path) -> None:
    """A driver with a wrong password fails. The next driver replaces it."""
    shop = shop_with_account(mariadb_factory())
    with ExitStack() as stack:
        bench = Bench(shop, tmp_path, stack, tapes=2, gap_ns=500 * MS)
        lead, port = bench.lead("--on-driver-lost", "resume", count=2)
        drivers = [bench.driver(number, port) for number in (1, 2)]
        lead.saw("0:02 ")
        for driver in drivers:
            driver.process.kill()
        lead.saw("(?s)can be replaced.*can be replaced")
        wrong = bench.driver(3, port, environment={"MYSQL_PWD": "wrong"}, login=False)
        assert wrong.end()[0] == 1
        lead.saw("driver [34] .*failed: .*Access denied")
        drivers = [bench.driver(number, port) for number in (4, 5)]
        code, said = lead.end()
        assert code == 5, said
        assert [driver.end()[0] for driver in drivers] == [0, 0]
    info = json.loads((bench.run / "run.json").read_text())
    assert sum(driver["replaces"] is not None and driver["lost"] is None for driver in info["drivers"]) == 3
    assert balanced(bench.run)["executed"] > 0
    assert shop.execute("SELECT session, seq FROM shop.log GROUP BY session, seq HAVING count(*) > 1") == ()
    assert not (bench.run / "drivers").exists()
