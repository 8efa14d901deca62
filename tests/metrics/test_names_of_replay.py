# SPDX-License-Identifier: Apache-2.0
"""Tests of the metrics of a replay on a real server, compared with the summary of the run."""

import threading
from pathlib import Path

import pytest
from querytape.metrics.collector import Sources
from querytape.metrics.names import REPLAY, TARGET, TARGET_COUNTERS, TARGET_GAUGES, run_values
from querytape.metrics.page import Page
from querytape.replay import LiveRun, RunSummary, Watcher, replay
from querytape.servers.sandbox import Server

from tests.helpers.scrapes import Scrape, check_never_decreases, fetch, promtool, scrape
from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import options, query


class Scraped(Watcher):
    """A watcher that serves the metrics of the run and scrapes them until the run ends."""

    def __init__(self, page: Page, sources: Sources) -> None:
        self.scrapes: list[Scrape] = []
        self._page, self._sources = page, sources
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def running(self, live: LiveRun) -> None:
        self._sources.put(lambda: run_values(live))
        self._thread.start()

    def _ask(self) -> None:
        while not self._end.wait(0.05):
            self.scrapes.append(scrape(self._page.url))

    def stop(self) -> None:
        """Scrape the metrics for the last time."""
        self._end.set()
        self._thread.join()
        self.scrapes.append(scrape(self._page.url))


def mixed_tape(folder: Path) -> Path:
    """Return a tape of reads, writes and other statements in four sessions. Some statements fail, and one session gets
    its answers late.
    """
    statements = [
        ("SELECT 1", "read"), ("SELECT * FROM nope", "read"), ("INSERT INTO log (conn) VALUES (1)", "write"),
        ("SELECT nope", "read"), ("BEGIN", "transaction"), ("COMMIT", "transaction"), ("SELEC", "read"),
    ]  # fmt: skip
    events = [
        {"session": session, "statement": text, "class": kind, "db": "shop", "start_ns": T0 + (7 * n + at) * 50 * MS}
        for session in (1, 2, 3)
        for n in range(10)
        for at, (text, kind) in enumerate(statements)
    ]
    slow = [
        {"session": 4, "statement": "SELECT SLEEP(0.05)", "db": "shop", "start_ns": T0 + n * 20 * MS} for n in range(20)
    ]
    return make_tape(folder / "t.tape", events + slow)


@pytest.mark.sampled
@pytest.mark.server
def test_last_metrics_equal_the_run_summary(any_shop: Server, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """No counter decreases during the run. The last scrape has the accounting, errors, sessions and times of the run."""
    sources = Sources()
    with Page("127.0.0.1", 0, sources.registry()) as page:
        scraped = Scraped(page, sources)
        run = replay(mixed_tape(tmp_path), options(any_shop, tmp_path / "a.run", sample_ns=100 * MS), scraped)
        scraped.stop()
        plain = fetch(page.url)[1]
    assert len(scraped.scrapes) >= 2
    check_never_decreases(scraped.scrapes)
    last = scraped.scrapes[-1]
    assert Scrape(plain, plain=True).get("querytape_replay_lateness_seconds_count") == 230
    accounting_is_the_same(last, run)
    times_are_the_same(last, run)
    running = [each.get("querytape_replay_running") for each in scraped.scrapes]
    assert 1 in running
    assert running[-1] == 0
    assert last.by("querytape_target_events_total", "variable")["Com_select"] > 0
    exported = {family.name for family in last.families}
    assert {name.name for name in (*REPLAY, *TARGET)} - exported == set()
    promtool(request, plain)


def accounting_is_the_same(last: Scrape, run: RunSummary) -> None:
    """Compare the numbers of sent events, failed events and sessions with the run."""
    accounting, sessions = run.info["accounting"], run.info["sessions"]
    by_class = last.by("querytape_replay_statements_total", "class")
    assert by_class == {"read": 140.0, "write": 30.0, "other": 60.0}
    assert sum(by_class.values()) == accounting["executed"] == last.get("querytape_replay_planned_events")
    assert last.get("querytape_replay_not_sent_events_total") == accounting["not_sent"] == 0
    assert last.by("querytape_replay_errors_total", "number") == {str(n): count for n, count in run.errors.items()}
    assert set(run.errors) == {1054, 1064, 1146}
    for name in ("opened", "failed", "lost"):
        assert last.get(f"querytape_replay_sessions_{name}_total") == sessions[name]
    assert last.get("querytape_replay_open_sessions") == last.get("querytape_replay_waiting_events") == 0
    assert last.get("querytape_replay_injected_commands_total") == accounting["injected"]


def times_are_the_same(last: Scrape, run: RunSummary) -> None:
    """Compare the histograms with the outcomes: counts, sums and the parts of the lateness."""
    source = f"read_parquet('{run.path}/outcomes/*.parquet')"
    late, service, held = query(
        f"SELECT sum(sent_ns - due_ns), sum(done_ns - sent_ns), sum(free_ns - due_ns) FILTER (free_ns > due_ns)"
        f" FROM {source} WHERE status = 'executed'"
    )[0]
    assert last.get("querytape_replay_lateness_seconds_sum") == pytest.approx(late / 1e9)
    assert sum(last.by("querytape_replay_service_seconds_sum", "class").values()) == pytest.approx(service / 1e9)
    parts = last.by("querytape_replay_delay_seconds_sum", "cause")
    assert sum(parts.values()) == pytest.approx(late / 1e9)
    assert parts["session"] + parts["connect"] == pytest.approx(held / 1e9)
    assert parts["session"] > 0.3  # caused by the session whose answers take longer than its pauses
    assert parts["order"] == 0
    for bound, count in last.by("querytape_replay_lateness_seconds_bucket", "le").items():
        if bound != "+Inf":
            below = query(f"SELECT count(*) FROM {source} WHERE sent_ns - due_ns < {round(float(bound) * 1e9)}")[0][0]
            assert count == below


def test_server_variable_is_exported_as_counter_or_gauge() -> None:
    assert not set(TARGET_COUNTERS) & set(TARGET_GAUGES)
