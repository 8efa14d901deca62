# SPDX-License-Identifier: Apache-2.0
"""A run's end from made files, without a server: everything that run.json says, and why a run is partial."""

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
    """Return a maker of ended runs."""
    return Made(tmp_path, monkeypatch, one_plan)


def test_all_that_run_json_says(made: Made) -> None:
    """Each key of a run that came to its end, from the files and the counters that it stands for."""
    run = made.run()
    before = dict(run.info)
    done = finish(run)
    assert made.kept() == done.info
    assert all(done.info[name] == value for name, value in before.items() if name != "finished")
    said = {name: done.info[name] for name in done.info.keys() - before.keys()} | {"finished": done.info["finished"]}
    generator = said.pop("generator")
    assert [generator[name] for name in ("cpu_ns", "engine_cpu_ns", "threads_peak", "warnings")] == [66, 55, 6, [
        f"{IN_ACCOUNTING.index('rows_too_large') + 1} rows in answers exceeded the memory limit of a session"
        " (max_allowed_packet, or a share of 1 GiB). querytape closed each such connection with error 2013. Replay fewer"
        " sessions (--sessions), or raise the target's max_allowed_packet",
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


def test_variables_that_move_by_themselves() -> None:
    """They are no change."""
    assert {"timestamp", "gtid_executed", "gtid_binlog_pos", "gtid_current_pos", "rand_seed1"} <= VOLATILE_VARIABLES


def test_a_run_that_never_began(made: Made) -> None:
    """No time of its start; what was planned and not sent has its outcome and its reason."""
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
def test_why_the_rest_was_not_sent(made: Made, fields: dict[str, Any], reason: str) -> None:
    """By somebody who stopped it, or a tape that ended too early."""
    run = made.run(sent=SENT[:2])
    vars(run).update(fields)
    assert finish(run).info["accounting"]["reasons"]["not_sent"] == {reason: 1}


def test_copies_are_counted(made: Made) -> None:
    """A tape that is replayed twice has two outcomes an event."""
    sent = [row | {"clone": clone} for row in SENT for clone in (0, 1)]
    accounting = finish(made.run(sent=sent, rules=Rules(amplification=Amplification(amplify=2)))).info["accounting"]
    assert (accounting["tape_events"], accounting["executed"], accounting["balanced"]) == (8, 6, True)


def test_answers_are_waited_for_only_with_a_pace(made: Made) -> None:
    """Without a pace there is no last due time."""
    drain = finish(made.run(options={"pace": Pace(kind="none")})).info["drain"]
    assert drain == {"waited_ns": 0, "cut": 0}


def test_a_target_that_is_gone_afterwards(made: Made) -> None:
    """Whether variables have changed is not known then; the run is whole."""
    made.answer = None
    done = finish(made.run())
    assert done.info["variables_changed"] is None
    assert done.info["problems_afterwards"] == []
    assert done.complete


def test_what_fails_afterwards_is_kept(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reason is short and printable, in run.json and among the warnings; what was known before stays."""

    def fail(run: Any) -> Any:
        assert made.kept()["finished"]  # the accounting is written already
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
def test_the_query_cache_is_asked_where_the_reads_went(made: Made, split: bool) -> None:
    """Its counters before stay, those after come from the server that answered the reads."""
    options = {"reads_to": Target("ro", "r", "10.0.0.2")} if split else {}
    run = made.run(options=options)
    run.info["query_cache"] = {"before": {"Qcache_hits": 1}}
    assert finish(run).info["query_cache"] == {"before": {"Qcache_hits": 1}, "after": {"Qcache_hits": 7}}
    assert made.asked[-1] == ("cache", "ro@r:3306" if split else "app@h:3306", 11)


@pytest.mark.parametrize("after", [{"uptime": 9}, None])
def test_counters_of_writes_are_asked_first(made: Made, monkeypatch: pytest.MonkeyPatch, after: Any) -> None:
    """Those after the run are of its end, not of what the accounting took; a server that is gone has none."""
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


def test_summaries_are_of_every_server_that_is_known(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools get the variables of source, target and read target, and whether the target is this machine."""
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


def test_query_plans_are_of_the_mapped_schemas(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tape, the finished run, the target and the schemas' names there are given; how many is kept."""
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
def test_events_of_lost_sessions(made: Made, sessions: Any, answers: bool, partial: str) -> None:
    """A run that did not send all its events is partial. The reason names the target if that is gone by now."""
    run = made.run(sent=SENT[:2], sessions=sessions)
    made.answer = Answer() if answers else None
    assert finish(run).info["partial"] == partial
    assert made.asked[0] == ("app@h:3306", 11)


def test_all_is_sent_though_sessions_were_lost(made: Made) -> None:
    """Then nothing is asked of the target: the run came to its end."""
    run = made.run(sessions=[SESSION, LOST])
    assert finish(run).info["partial"] is None
    assert len(made.asked) == 1  # its variables


@pytest.mark.parametrize(
    ("stats", "fields", "partial"),
    [
        ({"drain_timeout": 2}, {}, "2 events without an answer at the end of --drain, 0 events not sent"),
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
def test_why_it_is_partial(made: Made, stats: dict[str, Any], fields: dict[str, Any], partial: str) -> None:
    """The first reason counts; what is cut is kept beside it."""
    run = made.run(stats=stats)
    vars(run).update(fields)
    done = finish(run)
    assert done.info["partial"].startswith(partial)
    assert done.info["drain"]["cut"] == run.stats.drain_timeout
    assert not done.complete


def test_errors_of_duckdb_are_sentences(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """They name the run; the first line of DuckDB's text is not ours."""

    def fail(*args: Any) -> Any:
        raise duckdb.OutOfMemoryException("Out of Memory Error: x")

    monkeypatch.setattr(summary, "account", fail)
    with pytest.raises(QuerytapeError, match=r": cannot complete the accounting: ") as caught:
        finish(made.run())
    assert str(caught.value).startswith(f"{made.path}: ")
    assert isinstance(caught.value.__cause__, duckdb.Error)


def test_files_of_a_run_are_named_with_their_rows(made: Made) -> None:
    """All tables of a run, with bytes and rows."""
    run = made.run()
    entries = file_entries(run.task.folder.open())
    assert [entry["bytes"] for entry in entries] == [(made.path / entry["file"]).stat().st_size for entry in entries]
    assert sum(entry["rows"] for entry in entries) == 5


def test_who_is_interrupted_at_the_end_leaves_no_room_of_the_replay(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The accounting is written; what comes behind it is broken off, and what only the replay needed goes all the same."""

    def interrupt(*given: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(summary, "_query_plans", interrupt)
    with pytest.raises(KeyboardInterrupt):
        finish(made.run())
    assert open_folder("run", made.path).info["finished"] is True
    assert not (made.path / "spill").exists()
