# SPDX-License-Identifier: Apache-2.0
"""Handmade finished runs. Outcomes and sessions are files. The test gives the counters and the target's replies."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from querytape.common.errors import TargetError
from querytape.native.bindings.engine import LATENESS, EndedBy
from querytape.replay import ReplayOptions, Target, summary
from querytape.replay.plan.rules import Plan, Rules
from querytape.replay.run_folder import RunFolder
from querytape.replay.summary import IN_ACCOUNTING
from querytape.replay.task import ReplayTask, first_info
from querytape.schemas import select_list
from querytape.servers.facts import Facts

from tests.helpers.planning import planned
from tests.helpers.runs import make_run
from tests.helpers.tapes import MS

from .duck import database

S = 1_000_000_000
BEFORE = {"a": "1", "b": "2", "gone": "x", "timestamp": "1", "max_allowed_packet": "9"}
AFTER = {"a": "1", "b": "3", "new": "y", "timestamp": "2", "max_allowed_packet": "9"}
EVENTS = [{"statement": f"SELECT {n}", "class": "write" if n == 2 else "read"} for n in range(1, 5)]
SENT = [
    {"seq": 1, "due_ns": 0, "sent_ns": 3000, "done_ns": 2 * S, "errno": 0},
    {"seq": 3, "due_ns": 2 * MS, "sent_ns": 2 * MS + 5000, "done_ns": 3 * S, "errno": 1146},
    {"seq": 4, "due_ns": 3 * MS, "sent_ns": 3 * MS + 5000, "done_ns": 3 * S, "errno": 1146},
]
SESSION = {
    "session": 1,
    "clone": 0,
    "connect_ns": 0,
    "connected_ns": 5,
    "errno": 0,
    "in_transaction": True,
    "opened_ahead": False,
    "executed": 1,
    "injected": 0,
}


class Answer:
    """A control connection that returns the rows of SHOW GLOBAL VARIABLES."""

    open = True

    def __init__(self) -> None:
        self.closed = 0

    @contextmanager
    def cursor(self) -> Iterator["Answer"]:
        yield self

    def execute(self, query: str) -> None:
        assert query == "SHOW GLOBAL VARIABLES"

    def fetchall(self) -> list[tuple[str, str]]:
        return list(AFTER.items())

    def close(self) -> None:
        self.closed += 1


class Made:
    """A handmade finished run with outcomes. `asked` lists the queries sent to the target and their timeouts."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: Plan) -> None:
        self.path, self.planned = tmp_path, plan
        self.asked: list[Any] = []
        self.answer: Answer | None = Answer()
        monkeypatch.setattr(summary, "last_calibration", lambda: None)
        monkeypatch.setattr(Target, "connect", lambda target, timeout: self.connect(target, timeout))
        monkeypatch.setattr(summary, "cache_counters", self.counters)

    def connect(self, target: Target, timeout_s: int) -> Answer:
        self.asked.append((target.name, timeout_s))
        if self.answer is None:
            raise TargetError("nobody\x1b listens")
        return self.answer

    def counters(self, target: Target, timeout_s: int) -> dict[str, int]:
        self.asked.append(("cache", target.name, timeout_s))
        return {"Qcache_hits": 7}

    def run(
        self,
        sent: Sequence[dict[str, Any]] = SENT,
        sessions: Sequence[dict[str, Any]] = (SESSION,),
        options: dict[str, Any] | None = None,
        rules: Rules | None = None,
        stats: dict[str, Any] | None = None,
        **fields: Any,
    ) -> Any:
        """Return a finished run of a tape with three reads and one write. The plan excludes the write."""
        plan = planned(self.path, EVENTS, rules) if rules else self.copied()
        folder = RunFolder(self.path)
        made = make_run(self.path / "made.run", self.path / "t.tape", sent)
        shutil.copy(made / "outcomes" / "part-00000.parquet", folder.outcomes / "part-run-00000.parquet")
        self.write_sessions(sessions)
        given = ReplayOptions(
            Target("app", "h", "10.0.0.1"),
            self.path,
            **{"query_plans": False, "connect_timeout_s": 11, **(options or {})},
        )
        task = ReplayTask(plan, given, folder, Facts("8.0.36", variables=BEFORE))
        info = first_info(task)
        folder.write(info)
        counts = {name: number for number, name in enumerate(IN_ACCOUNTING, 1)}
        late = {name: number for number, name in enumerate(LATENESS, 101)}
        engine = {"zero_real_ns": 77, "now_ns": 2_500_000_000, "ended_by": EndedBy.NOTHING, "drain_timeout": 0}
        values = {**counts, **late, **engine, "engine_cpu_ns": 55, "order_broken": 0, **(stats or {})}
        self.cleaned = 0
        return SimpleNamespace(
            task=task, info=info, stats=SimpleNamespace(**values), stops=0, timed_out=False, standstill=None,
            logs=SimpleNamespace(
                ticks=SimpleNamespace(clock_pairs=[[1, 2]]), sampler=SimpleNamespace(problem="no rights"),
                speed=SimpleNamespace(changes=[{"at_ns": 3, "speed": "2"}], clean=self.clean),
            ),
            rows_written=len(sent), threads_peak=6, cpu_ns=66, feeder_error=None, drivers=None, **fields,
        )  # fmt: skip

    def copied(self) -> Plan:
        """Return a copy of a plan in its own folder. The plan itself is created only once."""
        plan = self.planned
        shutil.copytree(plan.spill.parent, self.path, dirs_exist_ok=True)
        files = {file: self.path / file.relative_to(plan.spill.parent) for file in plan.files}
        return replace(
            plan,
            tape=replace(plan.tape, path=self.path / "t.tape", info=dict(plan.tape.info)),
            spill=self.path / "spill",
            files=tuple(files.values()),
            measured={files[file]: pieces for file, pieces in plan.measured.items()},
        )

    def clean(self) -> None:
        self.cleaned += 1

    def write_sessions(self, rows: Sequence[dict[str, Any]]) -> None:
        listed = " UNION ALL BY NAME ".join(
            "SELECT "
            + ", ".join(f"{json.dumps(value).replace(chr(34), chr(39))} AS {name}" for name, value in row.items())
            for row in rows
        )
        with database() as con:
            have = {row[0] for row in con.execute(f"DESCRIBE {listed}").fetchall()}
            query = f"SELECT {select_list('run', 'sessions', have)} FROM ({listed})"
            con.execute(f"COPY ({query}) TO '{self.path}/sessions.parquet' (FORMAT parquet)")

    def kept(self) -> dict[str, Any]:
        """Return the content of run.json."""
        info: dict[str, Any] = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        return info
