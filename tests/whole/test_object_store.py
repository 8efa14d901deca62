# SPDX-License-Identifier: Apache-2.0
"""The whole way with an object store in place of local folders: capture, replay, drivers, fleet and report."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.joining import Program
from tests.helpers.logs import write_mariadb
from tests.helpers.object_store import ObjectStore, running_store
from tests.helpers.processes import run_command

from ..conftest import ServerFactory

EVENTS = 400


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    """Start a store with a captured tape, `all.tape`, and a set of it, `all.set`."""
    with running_store(tmp_path / "store") as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        rows = [(1_790_000_000 + n // 100, 1 + n % 8, 0.001, f"SELECT {n}, 'x'") for n in range(EVENTS)]
        log = write_mariadb(tmp_path / "slow.log", rows)
        run_command("capture", "slowlog", log, "-o", running.address("all.tape"))
        run_command("tape", "deal", running.address("all.tape"), 3, "-o", running.address("all.set"))
        yield running


def replay_words(url: str, *more: object) -> tuple[object, ...]:
    return ("--target", url, "--pace", "none", "--verify", *more)


def plain(report: str, *names: str) -> Any:
    """Return a report without the names of its folders."""
    for name in names:
        report = report.replace(name, "FOLDER")
    return json.loads(re.sub(r'"(started|created)": "[^"]*"', "", report))


def test_report_of_folders_in_the_store_equals_the_local_report(
    store: ObjectStore, server_factory: ServerFactory, tmp_path: Path
) -> None:
    url = target(server_factory("mariadb"))
    runs = [store.address(f"{name}.run") for name in "ab"]
    for run in runs:
        said = run_command("replay", store.address("all.tape"), *replay_words(url, "-o", run)).stdout
        assert f"{run}: {EVENTS:,} events = {EVENTS:,} executed" in said
    for name in ("all.tape", "a.run", "b.run"):
        run_command("tape", "copy", store.address(name), tmp_path / name)
    assert open_folder("run", tmp_path / "a.run").run_info["tape"]["path"] == store.address("all.tape")
    remote = run_command("report", store.address("all.tape"), *runs, "--json", "-").stdout
    local = run_command("report", tmp_path / "all.tape", tmp_path / "a.run", tmp_path / "b.run", "--json", "-").stdout
    assert plain(remote, "s3://tapes/") == plain(local, f"{tmp_path}/")
    assert str(tmp_path) not in remote


def test_drivers_replay_a_set_in_the_store(store: ObjectStore, server_factory: ServerFactory) -> None:
    url = target(server_factory("mariadb"))
    run = store.address("drivers.run")
    run_command("replay", store.address("all.set"), "--drivers", "local:3", *replay_words(url, "-o", run))
    assert executed(store.local("drivers.run")) == EVENTS


def test_joined_drivers_replay_a_set_in_the_store(
    store: ObjectStore, server_factory: ServerFactory, tmp_path: Path
) -> None:
    """Each driver copies its own tapes when it has joined."""
    url = target(server_factory("mariadb"))
    address, key = store.address("all.set"), ("--join-key", tmp_path / "join.key")
    how = ("--drivers", "join:3", "--listen", "127.0.0.1:0", *key, *replay_words(url))
    lead = Program("replay", address, *how, "-o", tmp_path / "joined.run")
    port = lead.saw(r"drivers at 127\.0\.0\.1:(\d+)")[1]
    own = ("--join", f"127.0.0.1:{port}", *key, *replay_words(url))
    drivers = [Program("driver", address, *own, "-o", tmp_path / f"{n}.run") for n in (1, 2, 3)]
    assert [driver.end()[0] for driver in drivers] == [0, 0, 0]
    code, said = lead.end()
    assert code == 0, said
    assert executed(tmp_path / "joined.run") == EVENTS


def test_fleet_replays_tapes_of_the_store(store: ObjectStore, server_factory: ServerFactory, tmp_path: Path) -> None:
    url = target(server_factory("mariadb"))
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'replay = ["--pace", "none"]\n'
        f'[[pair]]\nname = "one"\ntape = "{store.address("all.set/01.tape")}"\ntarget = "{url}"\n'
        f'[[pair]]\nname = "two"\ntape = "{store.address("all.set/02.tape")}"\ntarget = "{url}"\n',
        encoding="utf-8",
    )
    run_command("fleet", plan, "-o", store.address("fleet.runs"))
    sent = [executed(store.local(f"fleet.runs/{name}.run")) for name in ("one", "two")]
    assert all(sent)
    assert sum(sent) < EVENTS


def executed(run: Path) -> int:
    return int(open_folder("run", run).info["accounting"]["executed"])


def target(server: Server) -> str:
    """Return the URL of a server after the schema of the tape was created."""
    server.execute("CREATE DATABASE IF NOT EXISTS shop")
    return f"mysql://root@127.0.0.1:{server.port}/shop"
