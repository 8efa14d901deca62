# SPDX-License-Identifier: Apache-2.0
"""Steps as tasks of a Ray cluster: the same report as on one machine, also if every worker is killed once."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from querytape.analyze import Settings, as_json, build
from querytape.cluster.tasks import run_step_there
from querytape.common.errors import FolderError
from querytape.common.version import __version__

from tests.analyze.test_any_order import small
from tests.helpers.logs import write_mariadb
from tests.helpers.object_store import running_store
from tests.helpers.ray_cluster import ray_cluster

CHECKOUT = Path(__file__).resolve().parents[2]
BOUND_S = 180


def secure(folder: Path) -> dict[str, str]:
    """Return an environment in which every process authenticates with a token."""
    token = folder / "token"
    token.write_text("0123456789abcdef" * 4)
    token.chmod(0o600)
    return {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}


@pytest.mark.slow
def test_report_by_tasks_equals_the_local_report_although_each_worker_is_killed_once(tmp_path: Path) -> None:
    tape, (a,), (b,) = small(tmp_path)
    local = as_json(build(tape, [a], [b], Settings(keep_summary=False)))
    environment = secure(tmp_path)
    with ray_cluster(3, environment) as address:
        command = [sys.executable, "-m", "tests.helpers.cluster_report", address, str(tmp_path), "4"]
        done = subprocess.run(
            [*command, *map(str, (tape, a, b))],
            cwd=CHECKOUT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.rstrip("\n") == local.rstrip("\n")
        assert len(list((tmp_path / "marks").iterdir())) == 12  # three steps of four shares
        words = ["report", *map(str, (tape, a, b)), "--json", "-", "--cluster-folder", str(tmp_path / "marks")]
        assert json.loads(run_there(words, environment, address)) == json.loads(local)
        assert len(list((tmp_path / "marks").iterdir())) == 12  # the folder of the command is removed


def run_there(words: Sequence[str], environment: dict[str, str], address: str, code: int = 0) -> str:
    """Run a command of querytape on a cluster that ends with this exit code, and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", "querytape", *words, "--cluster", f"ray:{address}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.mark.server
@pytest.mark.slow
def test_tapes_and_runs_may_be_in_an_object_store(tmp_path: Path) -> None:
    """A set is captured to the store. A tape and its runs are read from it. The shared folder is empty at the end."""
    tape, (a,), (b,) = small(tmp_path)
    local = as_json(build(tape, [a], [b], Settings(keep_summary=False)))
    shared = tmp_path / "shared"
    shared.mkdir()
    for number in range(2):
        rows = [(1_790_000_000 + n, 1 + n % 3, 0.001, f"SELECT {n}") for n in range(20)]
        write_mariadb(tmp_path / f"web{number}.log", rows)
    logs = sorted(str(path) for path in tmp_path.glob("*.log"))
    given = secure(tmp_path)
    with running_store(tmp_path / "store") as store, ray_cluster(2, given) as address:
        environment = {**given, **store.environment}
        for folder in (tape, a, b):
            shutil.copytree(folder, store.local(folder.name))
        folder_of = ["--cluster-folder", str(shared)]
        words = ["report", *(store.address(each.name) for each in (tape, a, b)), "--json", "-", *folder_of]
        made, wanted = json.loads(run_there(words, environment, address)), json.loads(local)
        assert {name for name in wanted if made[name] != wanted[name]} == {"tape", "runs", "trust"}  # have the address
        run_there(["capture", "slowlog", *logs, "-o", store.address("all.set"), *folder_of], environment, address)
        assert {name.partition("/")[0] for name in store.names("all.set")} >= {"set.json", "01.tape", "02.tape"}
    assert list(shared.iterdir()) == []


def failing(text: str) -> Path:
    raise FolderError(text)


def test_node_returns_the_result_of_its_step(tmp_path: Path) -> None:
    assert run_step_there(partial(Path, tmp_path), __version__, insecure=True) == (str(tmp_path), "")


def test_node_returns_why_its_step_failed() -> None:
    path, problem = run_step_there(partial(failing, "x.tape: no such tape"), __version__, insecure=True)
    assert (path, problem.partition(": ")[2]) == ("", "x.tape: no such tape")


def test_node_with_another_version_is_refused() -> None:
    _, problem = run_step_there(partial(failing, "never called"), "0.0.1", insecure=True)
    assert f"has querytape {__version__}, but this command is querytape 0.0.1" in problem


def test_node_without_authentication_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    _, problem = run_step_there(partial(failing, "never called"), __version__, insecure=False)
    assert "this node runs without RAY_AUTH_MODE=token" in problem


@pytest.mark.slow
def test_each_file_is_captured_by_a_task(tmp_path: Path) -> None:
    """Files that are no logs are listed first, and change the exit code."""
    for number in range(4):
        rows = [(1_790_000_000 + n, 1 + n % 3, 0.001, f"SELECT {n}") for n in range(20)]
        write_mariadb(tmp_path / f"web{number}.log", rows)
    (tmp_path / "other.log").write_text("no log\n")
    environment = secure(tmp_path)
    words = [
        "capture",
        "slowlog",
        *sorted(str(path) for path in tmp_path.glob("*.log")),
        "-o",
        str(tmp_path / "all.set"),
    ]
    with ray_cluster(2, environment) as address:
        first, second, third = run_there(words, environment, address, 4).splitlines()[:3]
    assert first == "NOT ALL FILES ARE IN THE SET: 1 file of 5"
    assert second.startswith(f"  {tmp_path}/other.log: no events in 7 bytes")
    assert third.startswith(f"{tmp_path}/all.set: 80 events, 12 sessions, 1 digest")
    assert len(list((tmp_path / "all.set").glob("*.tape"))) == 4
