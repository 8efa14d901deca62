# SPDX-License-Identifier: Apache-2.0
"""Tests of the end of a run, with artificial files and without a server. They check run.json and partial runs."""

from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.common.errors import NativeFault, QuerytapeError
from querytape.native.bindings.engine import LATENESS, EndedBy
from querytape.replay import Target, summary
from querytape.replay.observe.accounting import account
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Amplification, Pace
from querytape.replay.plan.rules import Plan, Rules
from querytape.replay.summary import ENDED_BY, IN_ACCOUNTING, VOLATILE_VARIABLES, file_entries, finish
from querytape.schemas import open_folder

from tests.helpers.ended_runs import BEFORE, EVENTS, SENT, SESSION, Answer, Made, S
from tests.helpers.planning import planned

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def one_plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """Return the plan of the small tape."""
    return planned(tmp_path_factory.mktemp("plan"), EVENTS)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_plan: Plan) -> Made:
    """Return a factory that makes ended runs."""
    return Made(tmp_path, monkeypatch, one_plan)


def test_run_json_has_all_keys_of_a_finished_run(made: Made) -> None:
    """The values come from the files and the counters of the run."""
    run = made.run()
    before = dict(run.info)
    done = finish(run)
    assert made.kept() == done.info
    assert all(done.info[name] == value for name, value in before.items() if name != "finished")
    said = {name: done.info[name] for name in done.info.keys() - before.keys()} | {"finished": done.info["finished"]}
    generator = said.pop("generator")
    assert [generator[name] for name in ("cpu_ns", "engine_cpu_ns", "threads_peak", "warnings")] == [66, 55, 6, [
        f"{IN_ACCOUNTING.index('rows_too_large') + 1} rows in answers exceeded a session's memory (max_allowed_packet, or"
        " its part of 1 GiB). querytape closed each such connection with error 2013. Replay fewer sessions, or raise"
        " max_allowed_packet",
        f"the queue was full while events were overdue: {IN_ACCOUNTING.index('overload_drops') + 1} events were dropped."
        " Raise --queue-memory, or lower the speed"
    ]]  # fmt: skip
    files = said.pop("files")
    assert {entry["file"]: entry["rows"] for entry in files} == {
        "outcomes/part-plan-00000.parquet": 1, "outcomes/part-run-00000.parquet": 3, "sessions.parquet": 1,
    }  # fmt: skip
    assert said == {
        "finished": True,
        "follow": None,
        "started_ns": 77,
        "elapsed_ns": 3 * S,
        "partial": None,
        "accounting": {
            "tape_events": 4, "executed": 3, "filtered": 1, "skipped": 0, "not_sent": 0,
            "reasons": {"filtered": {"write": 1}}, "balanced": True,
            **{name: number for number, name in enumerate(IN_ACCOUNTING, 1)}, "order_broken": 0,
        },
        "lateness": {name: number for number, name in enumerate(LATENESS, 101)},
        "clock_pairs": [[1, 2]],
        "speed_changes": [{"at_ns": 3, "speed": "2"}],
        "drain": {"waited_ns": 3 * S - run.task.plan.last_due_ns, "cut": 0},
        "sessions": {"opened": 1, "opened_ahead": 0, "failed": 0, "lost": 0, "in_transaction_at_end": 1},
        "state": None,
        "sampling_problem": "no rights",
        "variables_changed": {"b": ["2", "3"], "gone": ["x", None], "new": [None, "y"]},
        "summaries": [],
        "query_plans": 0,
        "query_cache": None,
        "server_counters": None,
        "prepared": None,
        "problems_afterwards": [],
    }  # fmt: skip
    assert (done.path, done.late_p50_ns, done.late_p99_ns, done.errors) == (made.path, 5000, 5000, {1146: 2})
    assert made.asked == [("app@h:3306", 11)]
    assert made.answer is not None
    assert made.answer.closed == 1
    assert made.cleaned == 1
    assert not run.task.folder.spill.exists()
    assert done.complete


def test_volatile_variables_do_not_count_as_changes() -> None:
    assert {"timestamp", "gtid_executed", "gtid_binlog_pos", "gtid_current_pos", "rand_seed1"} <= VOLATILE_VARIABLES


def test_run_that_never_began_has_no_start_time(made: Made) -> None:
    """All planned events get an outcome with the reason why the run never began."""
    run = made.run(sent=SENT[:1], stats={"zero_real_ns": 0, "now_ns": -5, "order_waits": 4, "order_broken": 1})
    run.stops = 1
    done = finish(run)
    assert done.info["started_ns"] is None
    assert done.info["partial"] == "stopped by the user after 0.0 s: 2 events not sent"
    assert done.info["accounting"]["reasons"] == {"filtered": {"write": 1}, "not_sent": {"stopped": 2}}
    assert done.info["accounting"]["balanced"] is True
    assert done.info["generator"]["warnings"][0].startswith("--order commit: 1 of 4 waits")
    assert (made.path / "outcomes" / "part-end-00000.parquet").exists()


@pytest.mark.parametrize(("fields", "reason"), [({}, "tape_unread"), ({"timed_out": True}, "stopped")])
def test_unsent_events_of_a_stopped_run_have_a_reason(made: Made, fields: dict[str, Any], reason: str) -> None:
    """The reason is that the run was stopped or that the tape ended too early."""
    run = made.run(sent=SENT[:2])
    vars(run).update(fields)
    assert finish(run).info["accounting"]["reasons"]["not_sent"] == {reason: 1}


def test_copies_of_events_are_counted_separately(made: Made) -> None:
    """If a tape is replayed in two copies, each event has two outcomes."""
    sent = [row | {"clone": clone} for row in SENT for clone in (0, 1)]
    accounting = finish(made.run(sent=sent, rules=Rules(amplification=Amplification(amplify=2)))).info["accounting"]
    assert (accounting["tape_events"], accounting["executed"], accounting["balanced"]) == (8, 6, True)


def test_run_without_pace_has_no_drain_time(made: Made) -> None:
    """The drain time is measured from the last due time. Without a pace, events have no due time."""
    drain = finish(made.run(options={"pace": Pace(kind="none")})).info["drain"]
    assert drain == {"waited_ns": 0, "cut": 0}


def test_target_may_be_gone_after_the_run(made: Made) -> None:
    """The run is complete, but run.json does not show whether variables changed."""
    made.answer = None
    done = finish(made.run())
    assert done.info["variables_changed"] is None
    assert done.info["problems_afterwards"] == []
    assert done.complete


def test_failures_after_the_run_are_kept(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """run.json and the warnings contain a short, printable reason. Results stored before the failure stay."""

    def fail(run: Any) -> Any:
        assert made.kept()["finished"]  # the accounting is already written
        raise IndexError("\x1b" + "x" * 900)

    for name in ("_end_prepared", "_changed_variables", "_query_cache", "_summaries", "_query_plans"):
        monkeypatch.setattr(summary, name, fail)
    run = made.run()
    run.info["query_cache"] = {"before": {"Qcache_hits": 1}}
    done = finish(run)
    info = done.info
    assert [text.split(":")[0] for text in info["problems_afterwards"]] == [
        "prepared", "variables_changed", "query_cache", "summaries", "query_plans",
    ]  # fmt: skip
    assert done.complete
    for text in info["problems_afterwards"]:
        assert "\x1b" not in text
        assert len(text) <= 520
    assert info["generator"]["warnings"][2:] == [f"after the run {text}" for text in info["problems_afterwards"]]
    assert [info[name] for name in ("variables_changed", "query_cache", "summaries", "query_plans")] == [
        None, {"before": {"Qcache_hits": 1}}, [], 0,
    ]  # fmt: skip


@pytest.mark.parametrize("split", [False, True])
def test_query_cache_counters_come_from_the_server_of_the_reads(made: Made, split: bool) -> None:
    """The counters that were read before the run stay unchanged."""
    options = {"reads_to": Target("ro", "r", "10.0.0.2")} if split else {}
    run = made.run(options=options)
    run.info["query_cache"] = {"before": {"Qcache_hits": 1}}
    assert finish(run).info["query_cache"] == {"before": {"Qcache_hits": 1}, "after": {"Qcache_hits": 7}}
    assert made.asked[-1] == ("cache", "ro@r:3306" if split else "app@h:3306", 11)


@pytest.mark.parametrize("after", [{"uptime": 9}, None])
def test_write_counters_are_read_before_the_accounting(made: Made, monkeypatch: pytest.MonkeyPatch, after: Any) -> None:
    """The counters must not include the work of the accounting. An unreachable server has no counters."""
    done: list[str] = []

    def counters(*given: Any) -> Any:
        done.append("counters")
        return after

    def accounting(*given: Any) -> dict[str, Any]:
        done.append("account")
        return account(*given)

    monkeypatch.setattr(summary, "server_counters", counters)
    monkeypatch.setattr(summary, "account", accounting)
    run = made.run()
    run.info["server_counters"] = {"before": {"uptime": 7}, "after": None}
    assert finish(run).info["server_counters"] == {"before": {"uptime": 7}, "after": after}
    assert done == ["counters", "account"]


def test_summary_tools_cover_all_known_servers(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary tools get the variables of source, target and read target. They also get the information whether the
    target is local.
    """
    given: list[Any] = []

    def keep(*args: Any) -> list[str]:
        given.append(args)
        return ["pt-summary"]

    monkeypatch.setattr(summary, "keep_summaries", keep)
    run = made.run(options={"summaries": True})
    run.task.plan.tape.info["server"] = {"variables": {"s": "1"}}
    run.info["read_target"] = {"variables": {"r": "1"}}
    assert finish(run).info["summaries"] == ["pt-summary"]
    variables = {"source": {"s": "1"}, "target": BEFORE, "read_target": {"r": "1"}}
    assert given == [(made.path, run.task.options.target, False, variables)]


def test_query_plans_use_the_mapped_schemas(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function gets the tape, the finished run, the target and the target's schema names. The number of plans is
    kept.
    """
    given: list[Any] = []

    def keep(con: duckdb.DuckDBPyConnection, tape: Any, run: Any, target: Any, schemas: Any) -> int:
        con.execute("SELECT 1")
        given.append((tape.path.name, run.path, run.finished, target, schemas))
        return 5

    monkeypatch.setattr(summary, "keep_query_plans", keep)
    run = made.run(options={"query_plans": True, "overrides": Overrides(schemas={"a": "b"})})
    info = finish(run).info
    assert (info["problems_afterwards"], info["query_plans"]) == ([], 5)
    assert given == [("t.tape", made.path, True, run.task.options.target, {"a": "b"})]


LOST = {
    "session": 2,
    "clone": 0,
    "connect_ns": 9,
    "connected_ns": 10,
    "errno": 2013,
    "error": "lost",
    "in_transaction": False,
    "opened_ahead": True,
    "executed": 1,
    "injected": 0,
}
FAILED = {
    "session": 3,
    "clone": 0,
    "connect_ns": 8,
    "errno": 1040,
    "error": "Too many",
    "in_transaction": False,
    "opened_ahead": True,
    "executed": 1,
    "injected": 0,
}


@pytest.mark.parametrize(
    ("sessions", "answers", "partial"),
    [
        ([SESSION, LOST], True, "1 event not sent before the end of --drain"),
        (
            [SESSION, LOST],
            False,
            "the target was lost: 1 session ended, 1 event not sent; current error: nobody  listens",
        ),
        (
            [LOST, FAILED],
            False,
            "the target was lost: 2 sessions ended, 1 event not sent; current error: nobody  listens",
        ),
        (
            [FAILED | {"session": 1, "connect_ns": 10, "errno": 1}, FAILED],
            True,
            "no session could be opened: 1 event not sent; the first error was 1040 Too many",
        ),
        ([SESSION, FAILED], True, "1 event not sent before the end of --drain"),
    ],
)
def test_lost_sessions_with_unsent_events_make_a_run_partial(
    made: Made, sessions: Any, answers: bool, partial: str
) -> None:
    """The reason names the target if the target no longer answers."""
    run = made.run(sent=SENT[:2], sessions=sessions)
    made.answer = Answer() if answers else None
    assert finish(run).info["partial"] == partial
    assert made.asked[0] == ("app@h:3306", 11)


def test_lost_sessions_without_unsent_events_are_allowed(made: Made) -> None:
    """The target is not checked in this case, because the run is complete."""
    run = made.run(sessions=[SESSION, LOST])
    assert finish(run).info["partial"] is None
    assert len(made.asked) == 1  # the only question asks for the variables of the target


@pytest.mark.parametrize(
    ("stats", "fields", "partial"),
    [
        ({"drain_timeout": 2}, {}, "no answer to 2 events before the end of --drain: 0 events not sent"),
        *[({"ended_by": why}, {}, f"stopped after 2.5 s: {text}; 0 events not sent") for why, text in ENDED_BY.items()],
        (
            {"drain_timeout": 2},
            {"feeder_error": OSError("gone")},
            "the tape could not be read to its end (gone): 0 events not sent",
        ),
        (
            {},
            {"feeder_error": duckdb.IOException("IO Error: gone")},
            "the tape could not be read to its end (",
        ),
        ({}, {"feeder_error": NativeFault(5, "bad Arrow")}, "the tape could not be read to its end ("),
        ({"ended_by": EndedBy.LOSS}, {"stops": 1}, "stopped by the user after 2.5 s: 0 events not sent"),
    ],
)
def test_first_reason_for_a_partial_run_is_kept(
    made: Made, stats: dict[str, Any], fields: dict[str, Any], partial: str
) -> None:
    """The number of stopped statements is also kept."""
    run = made.run(stats=stats)
    vars(run).update(fields)
    done = finish(run)
    assert done.info["partial"].startswith(partial)
    assert done.info["drain"]["cut"] == run.stats.drain_timeout
    assert not done.complete


def test_duckdb_error_becomes_a_message(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the run and leaves out the text of DuckDB."""

    def fail(*args: Any) -> Any:
        raise duckdb.OutOfMemoryException("Out of Memory Error: x")

    monkeypatch.setattr(summary, "account", fail)
    with pytest.raises(QuerytapeError, match=r": cannot complete the accounting: ") as caught:
        finish(made.run())
    assert str(caught.value).startswith(f"{made.path}: ")
    assert isinstance(caught.value.__cause__, duckdb.Error)


def test_files_of_a_run_are_listed_with_their_rows(made: Made) -> None:
    """The list has all tables of the run, with bytes and rows."""
    run = made.run()
    entries = file_entries(run.task.folder.open())
    assert [entry["bytes"] for entry in entries] == [(made.path / entry["file"]).stat().st_size for entry in entries]
    assert sum(entry["rows"] for entry in entries) == 5


def test_interrupt_at_the_end_removes_the_spill_folder(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The accounting is already written when the interrupt arrives. Later work is cancelled."""

    def interrupt(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(summary, "_query_plans", interrupt)
    with pytest.raises(KeyboardInterrupt):
        finish(made.run())
    assert open_folder("run", made.path).info["finished"] is True
    assert not (made.path / "spill").exists()
