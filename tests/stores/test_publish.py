# SPDX-License-Identifier: Apache-2.0
"""Copy a growing folder to a store. A reader of the store never finds a JSON that lists a file without this file."""

import json
import random
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import cast
from unittest import mock

import pytest
from querytape.common.errors import InputError
from querytape.common.files import write_json
from querytape.schemas import open_folder
from querytape.stores.fetch import CLAIM, fetched
from querytape.stores.publish import Copy, published
from querytape.stores.store import Store, StoreError

from ..helpers.growing_log import wait_until
from ..helpers.object_store import ObjectStore
from ..helpers.tapes import make_tape, reads


class Objects:
    """A store in memory. Some requests fail, before or after their effect."""

    def __init__(self, chance: random.Random, fails: float) -> None:
        self.address = "s3://b/x.tape"
        self.content: dict[str, bytes] = {}
        self.removable = True
        self.dropped: set[str] = set()
        self.fails = fails
        self._chance = chance

    def put(self, name: str, content: Path | bytes) -> None:
        before = self._fails()
        if isinstance(content, Path) and not content.exists():
            raise StoreError("no such file")
        data = content.read_bytes() if isinstance(content, Path) else content
        if not before:
            self.content[name] = data
            self.check()
        if before or self._fails():
            raise StoreError("away")

    def delete(self, names: Iterable[str]) -> None:
        listed = list(names)
        if listed and (not self.removable or self._fails()):
            raise StoreError("away")
        for name in listed:
            self.content.pop(name, None)

    def sizes(self) -> dict[str, int]:
        if self._fails():
            raise StoreError("away")
        return {name: len(data) for name, data in self.content.items()}

    def check(self) -> None:
        """Check that the JSON lists only files that are in the store or that the writer has dropped."""
        if marker := self.content.get("tape.json"):
            info = json.loads(marker)
            files = {"digests.parquet", "sessions.parquet"} if info["finished"] else set()
            assert files | set(info["parts"]) <= self.content.keys() | self.dropped

    def _fails(self) -> bool:
        return self._chance.random() < self.fails


class Writer:
    """Writes a folder as a capture does, with a random history. `--keep` drops old parts."""

    def __init__(self, path: Path, chance: random.Random, store: Objects) -> None:
        self.path, self.store = path, store
        self._chance = chance
        self.parts: list[str] = []
        self._number = 0
        self._finished = False
        (path / "events").mkdir(parents=True)
        (path / "spill").mkdir()
        self._publish()

    def step(self) -> None:
        """Add a part, drop a part, or leave unfinished files."""
        what = self._chance.random()
        if what < 0.6:
            name = f"events/part-{self._number:05d}.parquet"
            self._number += 1
            (self.path / "spill" / "work").write_bytes(b"x")
            (self.path / f"{name}.tmp").write_bytes(b"unfinished")
            (self.path / f"{name}.tmp").write_bytes(self._chance.randbytes(self._chance.randrange(1, 50)))
            (self.path / f"{name}.tmp").replace(self.path / name)
            self.parts.append(name)
        elif self.parts:
            gone = self.parts.pop(0)
            self._publish()
            self.store.dropped.add(gone)
            (self.path / gone).unlink()
        self._publish()

    def finish(self) -> None:
        """Write the files that a finished tape has."""
        for name in ("digests.parquet", "sessions.parquet"):
            (self.path / name).write_bytes(self._chance.randbytes(9))
        (self.path / "spill" / "work").unlink(missing_ok=True)
        self._finished = True
        self._publish()

    def _publish(self) -> None:
        write_json(self.path / "tape.json", {"parts": self.parts, "finished": self._finished})


@pytest.mark.parametrize("seed", range(60))
def test_store_is_readable_at_any_moment_of_any_history(seed: int, tmp_path: Path) -> None:
    """The copy runs between random steps of the writer. Up to half of all requests fail."""
    chance = random.Random(seed)
    objects = Objects(chance, chance.choice((0, 0.1, 0.5)))
    path = tmp_path / "x.tape"
    writer = Writer(path, chance, objects)
    copy = Copy(cast(Store, objects), path, lambda text: None)
    for _ in range(40):
        for _ in range(chance.randrange(3)):
            writer.step()
        try:
            copy.copy_new()
        except StoreError:
            assert objects.fails
    writer.finish()
    if chance.random() < 0.5:  # the copy sees the finished folder before the command ends
        with suppress(StoreError):
            copy.copy_new()
    with mock.patch("time.sleep"):
        copy.complete(1e9)
    kept = {
        str(file.relative_to(path)): file.read_bytes()
        for file in path.rglob("*")
        if file.is_file() and file.suffix != ".tmp"
    }
    # A part that was dropped stays only if the store failed to remove it.
    assert {name: data for name, data in objects.content.items() if name not in objects.dropped} == kept
    assert objects.fails or objects.content == kept


def test_json_of_an_inner_folder_comes_before_the_json_of_the_folder(tmp_path: Path) -> None:
    path, put = tmp_path / "big.set", []

    class Recorded(Objects):
        def put(self, name: str, content: Path | bytes) -> None:
            put.append(name)

    for name in ("set.json", "digests.parquet", "01.tape/tape.json", "01.tape/events/part-00000.parquet"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(b"{}")
    Copy(cast(Store, Recorded(random.Random(1), 0)), path, lambda text: None).copy_new(final=True)
    assert put[-2:] == ["01.tape/tape.json", "set.json"]
    assert sorted(put[:-2]) == ["01.tape/events/part-00000.parquet", "digests.parquet"]


def test_objects_that_cannot_be_removed_are_named(tmp_path: Path) -> None:
    """A store without the permission to delete still gets all data."""
    chance = random.Random(5)
    said: list[str] = []
    objects = Objects(chance, 0)
    objects.removable = False
    writer = Writer(tmp_path / "x.tape", chance, objects)
    copy = Copy(cast(Store, objects), tmp_path / "x.tape", said.append)
    for _ in range(20):
        writer.step()
        copy.copy_new()
    writer.finish()
    copy.complete(0)
    assert objects.content.keys() >= {*writer.parts, "tape.json", "digests.parquet"}
    assert "the store refused to delete" in said[-1]


@pytest.mark.parametrize("change", ["removed", "other size", "added"])
def test_folder_stays_here_if_the_store_has_something_else(change: str, tmp_path: Path) -> None:
    chance = random.Random(6)
    objects = Objects(chance, 0)
    writer = Writer(tmp_path / "x.tape", chance, objects)
    for _ in range(9):
        writer.step()
    writer.finish()

    class Changing(Objects):
        def sizes(self) -> dict[str, int]:
            sizes = super().sizes()
            first = next(iter(sizes))
            changes = {"removed": {}, "other size": {first: 1}, "added": {first: sizes[first], "new": 1}}
            return {name: size for name, size in sizes.items() if name != first} | changes[change]

    copy = Copy(cast(Store, Changing(chance, 0)), tmp_path / "x.tape", lambda text: None)
    with pytest.raises(StoreError, match=r"is missing|instead of|another program has written new"):
        copy.complete(0)


@pytest.mark.server
def test_two_writers_never_share_an_address(store: ObjectStore) -> None:
    address = store.address("shared.tape")
    with (
        published(address, fail_if_called) as path,
        pytest.raises(InputError, match="another command is writing this folder"),
        published(address, fail_if_called),
    ):
        pass
    assert not path.parent.exists()


@pytest.mark.server
def test_copy_that_failed_is_continued_from_its_folder(store: ObjectStore) -> None:
    """Another folder cannot be copied to the same address."""
    address = store.address("continued.tape")
    said: list[str] = []

    def command(tape: Path) -> None:
        make_tape(tape, reads(50), parts=2)
        store.stop()

    try:
        with pytest.raises(StoreError), published(address, said.append, last_wait_s=0.5) as path:
            command(path)
    finally:
        store.start()
    with pytest.raises(InputError, match="another command is writing"), published(address, said.append):
        pass
    with published(address, said.append, source=path) as again:
        shutil.copytree(path, again)
    assert store.names("continued.tape") == {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
    with fetched(address) as copy:
        assert open_folder("tape", copy).finished


@pytest.mark.server
def test_continued_copy_that_fails_removes_nothing(store: ObjectStore) -> None:
    """The local folder may be damaged, so that the objects of the earlier copy are the only ones."""
    address = store.address("m.tape")

    def command(tape: Path) -> None:
        make_tape(tape, reads(50), finished=False)
        wait_until(lambda: "tape.json" in store.names("m.tape"), "the JSON is in the store")

    with (
        mock.patch.object(Copy, "complete", side_effect=StoreError("away")),
        pytest.raises(StoreError),
        published(address, lambda text: None) as path,
    ):
        command(path)
    before = store.names("m.tape")
    with pytest.raises(InputError, match="damaged"), published(address, fail_if_called, source=path):
        raise InputError("damaged")
    assert store.names("m.tape") == before


@pytest.mark.server
def test_claim_is_not_made_without_a_local_folder(store: ObjectStore, tmp_path: Path) -> None:
    with (
        mock.patch("tempfile.mkdtemp", side_effect=OSError("no space")),
        pytest.raises(OSError, match="no space"),
        published(store.address("n.tape"), fail_if_called),
    ):
        pass
    assert store.names("n.tape") == set()


@pytest.mark.server
def test_claim_is_removed_at_the_end_and_never_copied(store: ObjectStore) -> None:
    with published(store.address("k.tape"), fail_if_called) as path:
        assert store.names("k.tape") == {CLAIM}
        make_tape(path, reads(5), finished=False)
        wait_until(lambda: "tape.json" in store.names("k.tape"), "the JSON is in the store")
        with fetched(store.address("k.tape")) as copy:
            assert not (copy / CLAIM).exists()
    assert CLAIM not in store.names("k.tape")


@pytest.mark.server
def test_finished_inner_folder_waits_for_the_end(store: ObjectStore) -> None:
    """The runs of a fleet end at different times. Their other files come only at the end of the command."""
    with published(store.address("l.runs"), fail_if_called) as path:
        path.mkdir()
        make_tape(path / "one.tape", reads(5))
        wait_until(lambda: any("part-" in name for name in store.names("l.runs")), "a part is in the store")
        assert "one.tape/tape.json" not in store.names("l.runs")
    assert open_folder("tape", store.local("l.runs") / "one.tape").finished


@pytest.mark.server
def test_new_folder_is_in_the_store_and_no_longer_here(store: ObjectStore, tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "a.tape", reads(50), parts=2)
    with published(store.address("new/a.tape"), fail_if_called) as path:
        assert path.name == "a.tape"
        make_tape(path, reads(50), parts=2)
        room = path.parent
    assert not room.exists()
    assert store.names("new/a.tape") == {str(file.relative_to(tape)) for file in tape.rglob("*") if file.is_file()}
    assert open_folder("tape", store.local("new/a.tape")).finished


@pytest.mark.server
def test_parts_are_in_the_store_before_the_end(store: ObjectStore) -> None:
    with published(store.address("b.tape"), fail_if_called) as path:
        make_tape(path, reads(50), parts=2, finished=False)
        wait_until(lambda: "tape.json" in store.names("b.tape"), "the JSON is in the store")
        assert {"events/part-00000.parquet", "events/part-00001.parquet"} <= store.names("b.tape")


@pytest.mark.server
def test_address_that_exists_is_refused(store: ObjectStore) -> None:
    Store(store.address("c.tape")).put("anything", b"x")
    assert store.names("c.tape") == {"anything"}
    with pytest.raises(InputError, match="already exists"), published(store.address("c.tape"), fail_if_called):
        pass


@pytest.mark.server
def test_command_that_fails_without_a_folder_leaves_nothing(store: ObjectStore) -> None:
    with (
        pytest.raises(InputError, match=r"d\.tape: no event"),
        published(store.address("d.tape"), fail_if_called) as path,
    ):
        raise InputError(f"{path}: no event")
    assert store.names("d.tape") == set()
    assert not path.parent.exists()


@pytest.mark.server
def test_folder_that_was_removed_after_an_error_is_removed_from_the_store(store: ObjectStore) -> None:

    def capture(tape: Path) -> None:
        make_tape(tape, reads(50), finished=False)
        wait_until(lambda: "tape.json" in store.names("e.tape"), "the JSON is in the store")
        shutil.rmtree(tape)
        raise InputError("no event")

    with pytest.raises(InputError), published(store.address("e.tape"), fail_if_called) as path:
        capture(path)
    assert store.names("e.tape") == set()


@pytest.mark.server
def test_partial_folder_of_a_failed_command_is_in_the_store(store: ObjectStore) -> None:

    def capture(tape: Path) -> None:
        make_tape(tape, reads(50), finished=False)
        raise InputError("failed")

    with pytest.raises(InputError), published(store.address("f.tape"), fail_if_called) as path:
        capture(path)
    assert "tape.json" in store.names("f.tape")
    assert not path.parent.exists()


@pytest.mark.server
def test_store_that_is_away_for_some_time_gets_everything_later(store: ObjectStore) -> None:
    said: list[str] = []
    with published(store.address("g.tape"), said.append) as path:
        store.stop()
        try:
            make_tape(path, reads(50), parts=2)
            wait_until(lambda: bool(said), "the user is told")
        finally:
            store.start()
        wait_until(lambda: len(said) == 2, "the store answers again")
    assert "no answer from" in said[0]
    assert f"continues on the local disk: {path}" in said[0]
    assert "the store answers again after" in said[1]
    assert open_folder("tape", store.local("g.tape")).finished


@pytest.mark.server
@pytest.mark.parametrize("failed", [False, True])
def test_store_that_stays_away_leaves_the_folder_here(store: ObjectStore, failed: bool) -> None:
    """The message names the folder and the command that copies it. An error of the command itself is shown first."""
    said: list[str] = []
    address = store.address(f"h{failed}.tape")

    def command(tape: Path) -> None:
        store.stop()
        make_tape(tape, reads(50))
        if failed:
            raise InputError("the command failed")

    try:
        with (
            pytest.raises(InputError if failed else StoreError) as caught,
            published(address, said.append, last_wait_s=0.5) as path,
        ):
            command(path)
    finally:
        store.start()
    text = said[-1] if failed else str(caught.value)
    assert f"querytape tape copy {path} {address}" in text
    assert open_folder("tape", path).finished


@pytest.mark.server
def test_what_the_command_leaves_next_to_the_folder_stays_here(store: ObjectStore) -> None:
    said: list[str] = []
    with published(store.address("i.run"), said.append) as path:
        make_tape(path, reads(5))
        other = make_tape(path.with_name("i.tape"), reads(5))
    assert said == [f"Not copied, but kept on this machine: {other}"]
    assert other.exists()
    assert not path.exists()


@pytest.mark.server
def test_interrupt_at_the_end_names_the_folder(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(Copy, "complete", interrupting())
    with pytest.raises(KeyboardInterrupt), published(store.address("j.tape"), said.append) as path:
        make_tape(path, reads(5))
    assert said[0].startswith(
        f"{store.address('j.tape')}: the copy is incomplete. The complete folder is on this machine"
    )
    assert said[0].endswith(f"\n  querytape tape copy {path} {store.address('j.tape')}")
    assert path.exists()


def fail_if_called(text: str) -> None:
    raise AssertionError(text)


def interrupting() -> Callable[..., None]:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    return interrupt
