# SPDX-License-Identifier: Apache-2.0
"""Tests of several local drivers that replay a tape set. The numbers stay correct even after a driver is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from querytape.capture.tools.deal import deal
from querytape.common.errors import InputError, QuerytapeError, RefusedError, TargetError
from querytape.replay import Tick, Watcher, replay
from querytape.replay.checks.preflight import Finding
from querytape.replay.drivers.lead import Lead, replay_by_drivers
from querytape.replay.drivers.shares import Drivers
from querytape.replay.plan.pacing import Pace
from querytape.replay.plan.rules import Plan
from querytape.replay.plan.selection import Selection
from querytape.servers.facts import Facts
from querytape.servers.sandbox import Server

from tests.helpers.primes import EVENTS, WRITTEN, balanced, prime_set, written
from tests.helpers.processes import children_with, start
from tests.helpers.tapes import MS, make_tape
from tests.helpers.whole import accounting, options, outcomes, query

pytestmark = pytest.mark.server
LOCAL = "querytape.replay.drivers.local_process"  # the module of a local driver
BOUND_S = 90  # limit for each wait, even on a busy machine


class At(Watcher):
    """A watcher that acts once, after a given number of seconds of the run."""

    def __init__(self, after_s: float, act: Callable[[], None]) -> None:
        self._after_ns, self._act, self._done = int(after_s * 1e9), act, False
        self.said: list[str] = []

    def finding(self, finding: Any) -> None:
        """Keep the text of the finding."""
        self.said.append(finding.text)

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        """Act once, at the given second."""
        if not self._done and tick.at_ns >= self._after_ns:
            self._done = True
            self._act()


def documented() -> list[str]:
    """Return the keys of a driver that `docs/format.md` lists."""
    page = (Path(__file__).parents[3] / "docs" / "format.md").read_text(encoding="utf-8")
    rows = page.split("### Runs of several drivers")[1].split("\n### ")[0].splitlines()
    cells = [row.split("|")[1] for row in rows if row.startswith("| ") and "key of drivers" not in row]
    return [key.strip() for cell in cells for key in cell.split(",")]


def test_three_drivers_give_the_same_numbers_as_one_driver(
    shop: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each session sends its statements once, on its own connection. `querytape report` can read the run."""
    monkeypatch.setattr("querytape.replay.drivers.gathering.AHEAD_NS", 5000 * MS)  # a busy machine needs this much time
    tapes = prime_set(tmp_path, 3, stagger_ns=30 * MS)  # each tape begins and ends at a different time
    found = []
    for count in (1, 3):
        shop.execute("TRUNCATE shop.log")
        run = tmp_path / f"{count}.run"
        summary = replay_by_drivers(tapes, options(shop, run, partial_ok=True), Drivers(count))
        assert summary.complete
        assert written(shop) == WRITTEN
        assert shop.execute("SELECT count(DISTINCT conn), count(DISTINCT session) FROM shop.log") == (
            (len(WRITTEN), len(WRITTEN)),
        )
        found.append((accounting(summary), outcomes(run, "session, seq, clone, status, reason, errno, due_ns")))
        drivers = summary.info["drivers"]
        assert [driver["number"] for driver in drivers] == list(range(1, count + 1))
        for driver in drivers:  # all drivers share one clock, so the true offset is 0
            assert abs(driver["offset_ns"]) <= driver["bound_ns"]
            assert driver["lost"] is None
            assert list(driver) == documented()
        assert sum(driver["planned"] for driver in drivers) == EVENTS
        assert query(f"SELECT sum(done) FROM '{run}/ticks.parquet'") == [(EVENTS,)]
        assert query(f"SELECT count(*), sum(executed) FROM '{run}/sessions.parquet'") == [(len(WRITTEN), EVENTS)]
        assert not (run / "drivers").exists()
    assert found[0] == found[1]
    alone = replay(tapes, options(shop, tmp_path / "alone.run", partial_ok=True))
    assert (accounting(alone), outcomes(alone.path, "session, seq, clone, status, reason, errno, due_ns")) == found[0]
    for command in (["report", str(tapes), str(tmp_path / "3.run"), str(tmp_path / "alone.run")],):
        done = subprocess.run(
            [sys.executable, "-m", "querytape", *command], capture_output=True, text=True, timeout=BOUND_S
        )
        assert done.returncode == 0, done.stderr
        assert str(EVENTS) in done.stdout


@pytest.mark.parametrize("pace", ["none", "think"])
def test_no_driver_sends_before_the_common_start(pace: Any, shop: Server, tmp_path: Path) -> None:
    """Without due times, the sessions wait for the start themselves."""
    run = tmp_path / "a.run"
    summary = replay_by_drivers(
        prime_set(tmp_path, 3), options(shop, run, partial_ok=True, pace=Pace(pace)), Drivers(3)
    )
    assert accounting(summary)[0] == EVENTS
    assert query(f"SELECT min(sent_ns) >= 0 FROM '{run}/outcomes/*.parquet'") == [(True,)]


@pytest.mark.long
@pytest.mark.parametrize("on_lost", ["continue", "stop"])
def test_events_of_a_killed_driver_are_accounted(on_lost: Any, shop: Server, tmp_path: Path) -> None:
    """The lead notices the loss. The other drivers continue or stop, depending on the options. Unreported events become
    `not_sent`, and the summary has the number of unknown events.
    """
    tapes = prime_set(tmp_path, 3, 100 * MS)
    killed: list[float] = []

    def kill() -> None:
        killed.append(time.monotonic())
        os.kill(children_with(LOCAL)[0], signal.SIGKILL)

    watcher = At(2, kill)
    noticed: list[float] = []
    watcher.finding = lambda finding: noticed.append(time.monotonic()) if "lost" in finding.text else None  # type: ignore[method-assign]
    run = tmp_path / "a.run"
    begun = time.monotonic()
    summary = replay_by_drivers(tapes, options(shop, run, partial_ok=True), Drivers(3, on_lost=on_lost), watcher)
    assert time.monotonic() - begun < BOUND_S
    assert killed
    assert len(noticed) == 1
    counts = balanced(run)
    lost = [driver for driver in summary.info["drivers"] if driver["lost"]]
    assert len(lost) == 1
    assert "signal 9" in lost[0]["lost"]
    unreported = counts["reasons"]["not_sent"]["driver_lost"]
    assert 0 < counts["sent_unknown"] < unreported <= lost[0]["planned"]
    assert not summary.complete
    assert "further events may have been sent" in summary.info["partial"]
    there = sum(written(shop).values())
    executed = query(f"SELECT count(*) FROM '{run}/outcomes/*.parquet' WHERE status = 'executed' AND seq % 2 = 1")[0][0]
    assert executed <= there <= executed + counts["sent_unknown"]  # the server's row count is in the reported range
    if on_lost == "continue":
        assert counts["executed"] + unreported == EVENTS
    else:
        assert counts["reasons"]["not_sent"]["stopped"] > 0
    assert children_with(LOCAL) == []


@pytest.mark.long
def test_run_with_a_lost_driver_can_be_resumed(shop: Server, tmp_path: Path) -> None:
    """The second run sends the events that have no outcome. Together both runs execute the events of all sessions."""
    tapes, run = prime_set(tmp_path, 3, 100 * MS), tmp_path / "a.run"
    given = options(shop, run, partial_ok=True)
    first = replay_by_drivers(tapes, given, Drivers(3), At(2, lambda: os.kill(children_with(LOCAL)[0], signal.SIGKILL)))
    assert not first.complete
    again = options(shop, tmp_path / "b.run", partial_ok=True, selection=Selection(resume=run))
    second = replay_by_drivers(tapes, again, Drivers(2))
    assert second.complete
    executed = first.info["accounting"]["executed"] + second.info["accounting"]["executed"]
    assert executed == EVENTS
    assert second.info["accounting"]["reasons"]["filtered"] == {"filter:resumed": first.info["accounting"]["executed"]}
    assert set(written(shop)) == set(WRITTEN)
    assert all(written(shop)[session] >= n for session, n in WRITTEN.items())


@pytest.mark.long
def test_driver_killed_before_the_start_leaves_nothing(shop: Server, tmp_path: Path) -> None:
    """The test finds no run folder, no sent statement and no remaining driver."""
    tapes = prime_set(tmp_path, 3)

    class Early(Watcher):
        def planned(self, plan: Plan) -> None:
            os.kill(children_with(LOCAL)[1], signal.SIGKILL)

    with pytest.raises(QuerytapeError, match="driver 2 was lost before the first event was sent"):
        replay_by_drivers(tapes, options(shop, tmp_path / "a.run", partial_ok=True), Drivers(3), Early())
    assert not (tmp_path / "a.run").exists()
    assert written(shop) == {}
    assert children_with(LOCAL) == []


def test_impossible_work_for_several_drivers_is_refused(shop: Server, tmp_path: Path) -> None:
    """The lead refuses fewer tapes than drivers, and options that need all sessions. No file is created."""
    tapes = prime_set(tmp_path, 2)
    given = options(shop, tmp_path / "a.run", partial_ok=True)
    with pytest.raises(InputError, match=r"3 drivers need at least 3 tapes, found a set of 2 tapes.*tape deal"):
        replay_by_drivers(tapes, given, Drivers(3))
    with pytest.raises(InputError, match=r"2 drivers need at least 2 tapes, found one tape"):
        replay_by_drivers(tmp_path / "primes.tape", given, Drivers(2))
    capped = options(shop, tmp_path / "a.run", partial_ok=True, pace=Pace(max_idle_ns=1))
    with pytest.raises(InputError, match=r"--max-idle cannot be used with several drivers"):
        replay_by_drivers(tapes, capped, Drivers(2))
    refused = options(shop, tmp_path / "a.run", partial_ok=True, target_is_disposable=False)
    with pytest.raises(RefusedError, match="target-is-disposable"):
        replay_by_drivers(tapes, refused, Drivers(2))
    gone = options(shop, tmp_path / "a.run", partial_ok=True)
    object.__setattr__(gone.target, "port", 1)
    with pytest.raises(TargetError):
        replay_by_drivers(tapes, gone, Drivers(2))
    assert not (tmp_path / "a.run").exists()
    assert children_with(LOCAL) == []


@pytest.mark.long
def test_driver_without_events_to_send_still_writes_outcomes(shop: Server, tmp_path: Path) -> None:
    """If no driver has anything to send, the replay is refused with an error."""
    tapes = prime_set(tmp_path, 3)
    few = query(f"SELECT session FROM '{tapes}/02.tape/sessions.parquet' ORDER BY session")[0][0]
    given = options(shop, tmp_path / "a.run", partial_ok=True, selection=Selection(sessions=(few,)))
    summary = replay_by_drivers(tapes, given, Drivers(3))
    assert summary.complete
    counts = balanced(tmp_path / "a.run")
    assert (counts["executed"], counts["filtered"]) == (2 * WRITTEN[few], EVENTS - 2 * WRITTEN[few])
    assert [driver["planned"] > 0 for driver in summary.info["drivers"]] == [False, True, False]
    assert written(shop) == {few: WRITTEN[few]}
    nothing = options(shop, tmp_path / "b.run", partial_ok=True, selection=Selection(sessions=(999,)))
    with pytest.raises(
        InputError, match=rf"^3 drivers: no event is left to send: {EVENTS} filtered \(filter:session\)$"
    ):
        replay_by_drivers(tapes, nothing, Drivers(3))
    assert not (tmp_path / "b.run").exists()


def command(tapes: Path, shop: Server, run: Path, *more: str) -> list[str]:
    """Return the command of a replay by three drivers."""
    given = ["--target", shop.url("shop"), "--allow-writes", "--target-is-disposable", "--partial-ok", "-o", str(run)]
    return [sys.executable, "-m", "querytape", "replay", str(tapes), "--drivers", "local:3", *given, *more]


def wait_for(ready: Callable[[], bool]) -> None:
    """Wait until the condition is true. Fail after BOUND_S seconds."""
    until = time.monotonic() + BOUND_S
    while not ready():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.long
@pytest.mark.parametrize("ignored", [(), (signal.SIGTERM,)])
def test_ctrl_c_stops_all_drivers(ignored: tuple[signal.Signals, ...], shop: Server, tmp_path: Path) -> None:
    """Ctrl-C on the lead stops all drivers, even if the lead's shell ignores SIGTERM. The run is partial, and its
    accounting balances.
    """
    tapes, run = prime_set(tmp_path, 3, 1000 * MS), tmp_path / "a.run"
    lead = start(command(tapes, shop, run), ignored, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: sum(written(shop).values()) > 20)
    lead.send_signal(signal.SIGINT)
    out, said = lead.communicate(timeout=BOUND_S)
    assert lead.returncode == 1
    assert "PARTIAL: stopped by the user" in out
    counts = balanced(run)
    assert counts["reasons"].get("not_sent") == {"stopped": EVENTS - counts["executed"]}, out + said
    assert counts["sent_unknown"] == 0


@pytest.mark.long
def test_second_ctrl_c_disconnects_all_drivers(shop: Server, tmp_path: Path) -> None:
    """The connections of statements that hang are cut on all drivers. The accounting of the run balances."""
    events = [{"session": s, "statement": f"SELECT SLEEP(300) /* {s} */", "db": "shop"} for s in (1, 2, 3)]
    make_tape(tmp_path / "slow.tape", events)
    deal(tmp_path / "slow.tape", 3, tmp_path / "slow.set")
    words = command(tmp_path / "slow.set", shop, tmp_path / "a.run")
    lead = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    sleeping = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(300)%'"
    wait_for(lambda: shop.execute(sleeping) == ((3,),))
    lead.send_signal(signal.SIGINT)
    time.sleep(0.5)
    lead.send_signal(signal.SIGINT)
    out, said = lead.communicate(timeout=BOUND_S)
    assert lead.returncode == 1
    assert "stopping now" in said
    assert "PARTIAL: stopped by the user" in out
    counts = json.loads((tmp_path / "a.run" / "run.json").read_text())["accounting"]
    assert counts["balanced"]
    assert counts["tape_events"] == 3


@pytest.mark.long
def test_drivers_send_their_first_statements_together(
    mariadb_factory: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server's general log gives the times. The test prints the largest difference."""
    server = mariadb_factory({"general_log": "ON", "log_output": "TABLE"})
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    tapes = prime_set(tmp_path, 3)
    summary = replay_by_drivers(tapes, options(server, tmp_path / "a.run", partial_ok=True), Drivers(3))
    driver_of = {
        int(session): name
        for name in ("01", "02", "03")
        for (session,) in query(f"SELECT session FROM '{tapes}/{name}.tape/sessions.parquet'")
    }
    first: dict[str, float] = {}
    logged = server.execute(
        "SELECT convert(argument USING utf8), unix_timestamp(event_time) FROM mysql.general_log"
        " WHERE argument LIKE 'INSERT INTO log%, 1)'"
    )
    for text, at in logged:
        name = driver_of[int(text.split(",")[-2])]
        first[name] = min(first.get(name, float("inf")), float(at))
    apart = max(first.values()) - min(first.values())
    with capsys.disabled():
        print(f"\nfirst statements of 3 drivers: {apart * 1e3:.2f} ms apart by the server's log")
    assert len(first) == 3
    assert query(f"SELECT min(sent_ns) FROM '{summary.path}/outcomes/*.parquet'")[0][0] >= 0
    assert apart < 1.0  # without a common start, the difference would be the start time of a process


def test_warnings_of_drivers_that_differ_only_in_numbers_become_one() -> None:
    """A hundred drivers on a busy machine would else give a hundred lines."""
    texts = {1: ["1 % were 1.5 ms late", "the queue was full"], 2: ["1 % were 2.25 ms late"], 3: ["1 % were 3 ms late"]}
    members = [SimpleNamespace(name=f"driver {n}", info={"generator": {"warnings": own}}) for n, own in texts.items()]
    members.append(SimpleNamespace(name="driver 4", info=None))
    found = Lead._warnings(SimpleNamespace(members=members))  # type: ignore[arg-type]
    assert found == ["driver 1: 1 % were 1.5 ms late (also 2 other drivers)", "driver 1: the queue was full"]


def test_driver_with_another_target_is_a_warning() -> None:
    """An unknown server is no reason for a warning."""
    found: list[Finding] = []
    servers = {1: "a", 2: "b", 3: None, 4: "b", 5: "b", 6: "b"}
    members = [SimpleNamespace(name=f"driver {number}", server=server) for number, server in servers.items()]
    lead = SimpleNamespace(members=members, _find=found.append)
    Lead._find_other_servers(lead, Facts("x", identity="a"))  # type: ignore[arg-type]
    assert [(finding.severity, finding.text) for finding in found] == [
        (
            "warning",
            "driver 2, driver 4, driver 5 and others: the target is another server than the target of the lead process",
        )
    ]
    Lead._find_other_servers(lead, Facts("x"))  # type: ignore[arg-type]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("died_ns", "granted_ns", "told", "span"),
    [
        (None, 0, False, None),
        (None, 0, True, (0, None)),
        (99, 0, True, None),
        (100, 0, True, None),
        (101, 0, True, (0, 1)),
        (None, 90, True, None),
        (None, 130, True, (0, 30)),
    ],
)
def test_driver_that_ended_before_the_start_sent_nothing(
    died_ns: int | None, granted_ns: int, told: bool, span: tuple[int, int | None] | None
) -> None:
    """The run starts at 100. `granted_ns` is the limit after which a driver on another host sends nothing."""
    member = SimpleNamespace(info=None, told=told, died_ns=died_ns, granted_ns=granted_ns, begins=None)
    assert Lead._unsure(SimpleNamespace(zero_ns=100), member) == span  # type: ignore[arg-type]
