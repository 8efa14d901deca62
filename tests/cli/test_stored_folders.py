# SPDX-License-Identifier: Apache-2.0
"""Commands read and write folders of an object store by their address."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from querytape.schemas import open_folder

from ..helpers.growing_log import GrowingLog, wait_until
from ..helpers.logs import mariadb_entry, write_mariadb
from ..helpers.object_store import ObjectStore, running_store
from ..helpers.processes import run_command, start
from ..helpers.tapes import make_tape, reads

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with running_store(tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture
def store(shared_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """Return a store that commands can use. Their temporary folders are below tmp_path/tmp."""
    for name, value in shared_store.environment.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return shared_store


def left(folder: Path) -> list[str]:
    """Return the names of what commands have left in their temporary folder."""
    return sorted(path.name for path in (folder / "tmp").iterdir())


def test_tape_goes_through_the_store_unchanged(store: ObjectStore, tmp_path: Path) -> None:
    log = write_mariadb(
        tmp_path / "slow.log", [(1_790_000_000 + n, 1 + n % 4, 0.001, f"SELECT {n}") for n in range(50)]
    )
    address = store.address("all/a.tape")
    said = run_command("capture", "slowlog", log, "-o", address).stdout
    assert said.startswith(f"{address}: 50 events")
    assert run_command("tape", "verify", address).stdout == f"{address}: whole\n"
    run_command("tape", "copy", address, tmp_path / "a.tape")
    assert run_command("inspect", address).stdout.startswith(address)
    with_path = json.loads(run_command("inspect", address, "--json").stdout)
    local = json.loads(run_command("inspect", tmp_path / "a.tape", "--json").stdout)
    assert with_path.pop("path") == address
    assert local.pop("path") == str(tmp_path / "a.tape")
    assert with_path == local
    assert left(tmp_path) == []


def test_set_and_its_tapes_are_read_from_the_store(store: ObjectStore, tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "b.tape", reads(80), parts=2)
    run_command("tape", "copy", tape, store.address("b.tape"))
    run_command("tape", "deal", store.address("b.tape"), 2, "-o", store.address("b.set"))
    assert open_folder("tape", store.local("b.set")).info["counts"]["events"] == 80
    counted = [
        json.loads(run_command("inspect", store.address(name), "--json").stdout)["counts"]["events"]
        for name in ("b.set", "b.set/01.tape", "b.set/02.tape")
    ]
    assert counted[0] == counted[1] + counted[2] == 80
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("inspect", "s3://tapes/none.tape"), "s3://tapes/none.tape: the store has no such folder"),
        (("inspect", "s3://tapes"), "expected s3://BUCKET/PATH"),
        (("inspect", "s3://no-such-bucket/x"), "NoSuchBucket"),
        (("serve", "s3://tapes/all"), "expected a path on this machine"),
        (("speed", "s3://tapes/a.run", "2"), "expected a path on this machine"),
        (("export", "s3://tapes/other.tape"), "s3://tapes/other.tape is not a tape"),
        (("tape", "copy", "s3://tapes/other.tape", "x"), "s3://tapes/other.tape: expected a tape"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_address(
    words: tuple[str, ...], said: str, store: ObjectStore, tmp_path: Path
) -> None:
    (store.local("other.tape")).mkdir(exist_ok=True)
    (store.local("other.tape") / "notes.txt").write_text("x", encoding="utf-8")
    done = run_command(*words, check=False)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert left(tmp_path) == []


def test_output_that_exists_in_the_store_is_refused_before_the_work(store: ObjectStore, tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "c.tape", reads(10))
    run_command("tape", "copy", tape, store.address("c.tape"))
    done = run_command("tape", "copy", tape, store.address("c.tape"), check=False)
    assert done.returncode == 1
    assert "already exists" in done.stderr


@pytest.mark.parametrize(("where", "inner"), [("store", "y.tape"), ("disk", "y.tape"), ("disk", "events/y.tape")])
@pytest.mark.parametrize(
    "command", [("tape", "copy", "{tape}", "{new}"), ("tape", "deal", "{tape}", "2", "-o", "{new}")]
)
def test_folder_inside_a_tape_is_refused(
    where: str, command: tuple[str, ...], inner: str, store: ObjectStore, tmp_path: Path
) -> None:
    """The commands that copy or remove the outer tape would also copy or remove the new one."""
    tape = make_tape(tmp_path / "d.tape", reads(10))
    outer = store.address("d.tape") if where == "store" else str(tape)
    if where == "store" and not store.local("d.tape").exists():
        run_command("tape", "copy", tape, outer)
    before = sorted(tmp_path.rglob("*")), sorted(store.local("d.tape").rglob("*"))
    words = [word.format(tape=tape, new=f"{outer}/{inner}") for word in command]
    done = run_command(*words, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"querytape: {outer}/{inner}: {outer} is a tape, which is copied and removed as a whole."
        " Choose a place outside\n"
    )
    assert before == (sorted(tmp_path.rglob("*")), sorted(store.local("d.tape").rglob("*")))


def test_tapes_may_be_added_to_a_set_and_to_foreign_folders(store: ObjectStore, tmp_path: Path) -> None:
    """A file of another program may have the name of a file of querytape."""
    tape = make_tape(tmp_path / "e.tape", reads(10))
    (tmp_path / "mine.set").mkdir()
    (tmp_path / "run.json").write_text('{"scripts": []}', encoding="utf-8")
    for name in ("1.tape", "2.tape"):
        run_command("tape", "copy", tape, tmp_path / "mine.set" / name)
        (tmp_path / "mine.set" / "set.json").unlink(missing_ok=True)
        run_command("tape", "set", tmp_path / "mine.set")
    assert open_folder("tape", tmp_path / "mine.set").info["counts"]["events"] == 20
    for name in ("1.tape", "2.tape"):
        run_command("tape", "copy", tape, store.address(f"mine.set/{name}"))


def test_capture_goes_on_while_the_store_is_away(store: ObjectStore, tmp_path: Path) -> None:
    """Parts arrive during the capture, an unfinished tape can be read, and nothing is lost."""
    log = GrowingLog(tmp_path / "slow.log", Random(3))
    address = store.address("live.tape")
    capture = following(log, address)
    try:
        log.write(entries(0, 100))
        wait_until(lambda: bool(parts(store, "live.tape")), "a part is in the store")
        during = run_command("inspect", address, "--json")
        assert "is still running, or it was killed" in during.stderr
        assert 0 < json.loads(during.stdout)["counts"]["events"] <= 100
        store.stop()
        try:
            log.write(entries(100, 200))
            wait_until(lambda: len(list((tmp_path / "tmp").glob("*/live.tape/events/*.parquet"))) > 1, "a local part")
        finally:
            store.start()
        log.write(entries(200, 300))
        capture.send_signal(signal.SIGINT)
        _, said = capture.communicate(timeout=60)
    finally:
        capture.kill()
        capture.wait()
        log.close()
    assert capture.returncode == 0, said
    tape = open_folder("tape", store.local("live.tape"))
    assert tape.finished
    assert tape.info["counts"]["events"] == 300
    assert left(tmp_path) == []


def test_killed_capture_keeps_its_published_parts(store: ObjectStore, tmp_path: Path) -> None:
    log = GrowingLog(tmp_path / "slow.log", Random(4))
    address = store.address("killed.tape")
    capture = following(log, address)
    try:
        log.write(entries(0, 100))
        wait_until(lambda: bool(parts(store, "killed.tape")), "a part is in the store")
    finally:
        capture.kill()
        capture.wait()
        log.close()
    read = json.loads(run_command("inspect", address, "--json").stdout)
    assert 0 < read["counts"]["events"] <= 100
    copied = run_command("tape", "copy", address, tmp_path / "killed.tape", check=False)
    assert copied.returncode == 4
    assert "INCOMPLETE: the writer of the source is still running, or it was killed" in copied.stdout


def following(log: GrowingLog, address: str) -> "subprocess.Popen[str]":
    """Start a capture that follows a log into the store."""
    command = (sys.executable, "-m", "querytape", "capture", "slowlog", str(log.path), "--follow", "-o", address)
    return start([*command, "--part-every", "100ms"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def parts(store: ObjectStore, name: str) -> list[Path]:
    return list((store.local(name) / "events").glob("*.parquet"))


def entries(first: int, end: int) -> bytes:
    return "".join(
        mariadb_entry(1_790_000_000 + n, 1 + n % 4, 0.001, f"SELECT {n}") for n in range(first, end)
    ).encode()
