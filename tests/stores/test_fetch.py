# SPDX-License-Identifier: Apache-2.0
"""Copy a folder of a store to this machine, also while a capture still publishes the folder."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from querytape.capture.tools.deal import deal
from querytape.common.errors import FolderError, InputError
from querytape.common.staged import address_of, shown_path
from querytape.schemas import open_folder
from querytape.stores import fetch
from querytape.stores.fetch import check_names, check_space, fetch_tapes, fetched, is_marker
from querytape.stores.store import NotThereError, Store

from ..helpers.object_store import ObjectStore
from ..helpers.tapes import make_tape, reads


@pytest.mark.parametrize(
    "name", ["../x", "a/../b", "/x", "a//b", "a/./b", "x\0y", "a" * 256, "a/" * 20 + "b", "/".join(["b" * 200] * 8)]
)
def test_name_that_leaves_the_folder_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="is not a valid file name"):
        check_names("s3://b/x", {"tape.json": 1, name: 1})


def test_only_the_json_of_a_folder_is_a_marker() -> None:
    assert [
        is_marker(name) for name in ("tape.json", "01.tape/tape.json", "set.json", "digests.parquet", "a.json")
    ] == [
        *(True, True, True),
        *(False, False),
    ]


def test_copy_that_exceeds_the_limit_or_the_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_space("s3://b/x", 1000, tmp_path)
    with pytest.raises(InputError, match="set TMPDIR, or --cluster-folder, to a folder on a larger disk"):
        check_space("s3://b/x", 1 << 60, tmp_path)
    monkeypatch.setenv(fetch.LIMIT, "1M")
    check_space("s3://b/x", 1 << 20, tmp_path)
    with pytest.raises(InputError, match="exceeds QUERYTAPE_STAGING_LIMIT"):
        check_space("s3://b/x", (1 << 20) + 1, tmp_path)
    monkeypatch.setenv(fetch.LIMIT, "much")
    with pytest.raises(InputError, match="QUERYTAPE_STAGING_LIMIT: "):
        check_space("s3://b/x", 1, tmp_path)


@pytest.mark.server
def test_copy_is_complete_and_removed_after_use(store: ObjectStore, tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "a.tape", reads(100), parts=3)
    put_all(tape, store.address("a.tape"))
    with fetched(store.address("a.tape/")) as path:
        assert {file.relative_to(path): file.read_bytes() for file in path.rglob("*") if file.is_file()} == {
            file.relative_to(tape): file.read_bytes() for file in tape.rglob("*") if file.is_file()
        }
        assert open_folder("tape", path).finished
        assert address_of(path) == shown_path(path) == store.address("a.tape")
        room = path.parent
    assert not room.exists()


@pytest.mark.server
def test_tapes_of_a_set_are_copied_one_by_one(store: ObjectStore, tmp_path: Path) -> None:
    """Before that, the copy has the JSON of all tapes and their sessions, so the set can be opened."""
    make_tape(tmp_path / "s.tape", [{**event, "session": 1 + n % 9} for n, event in enumerate(reads(90))])
    deal(tmp_path / "s.tape", 3, tmp_path / "s.set")
    put_all(tmp_path / "s.set", store.address("s.set"))
    whole = open_folder("tape", tmp_path / "s.set")
    with fetched(store.address("s.set"), whole=False) as path:
        assert not list(path.rglob("events*"))
        opened = open_folder("tape", path, has_parts=False)
        assert opened.info == whole.info
        fetch_tapes(path, ["02.tape"])
        assert [file.relative_to(path).parts[0] for file in path.rglob("events*")] == ["02.tape"]
        open_folder("tape", path / "02.tape")
        with pytest.raises(FolderError, match=r"01\.tape"):
            open_folder("tape", path)
        fetch_tapes(path, ["01.tape", "03.tape"])
        for file in (file for file in (tmp_path / "s.set").rglob("*") if file.is_file()):
            assert (path / file.relative_to(tmp_path / "s.set")).read_bytes() == file.read_bytes()
        open_folder("tape", path)


@pytest.mark.server
def test_missing_folder_is_an_error(store: ObjectStore) -> None:
    with (
        pytest.raises(InputError, match=r"none\.tape: the store has no such folder"),
        fetched(store.address("none.tape")),
    ):
        pass


@pytest.mark.server
def test_error_about_the_copy_names_the_address(store: ObjectStore, tmp_path: Path) -> None:
    put_all(make_tape(tmp_path / "b.tape", reads(10)), store.address("b.tape"))
    with pytest.raises(InputError) as caught, fetched(store.address("b.tape")) as path:
        raise InputError(f"{path / 'events'}: is damaged")
    assert str(caught.value) == f"{store.address('b.tape')}/events: is damaged"


@pytest.mark.server
def test_part_that_is_dropped_during_the_copy_starts_the_copy_again(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tape = make_tape(tmp_path / "c.tape", reads(100), parts=4, finished=False)
    put_all(tape, store.address("c.tape"))
    info = json.loads((tape / "tape.json").read_text(encoding="utf-8"))
    remote, get = Store(store.address("c.tape")), Store.get
    drops = ["events/part-00000.parquet", "events/part-00001.parquet"]

    def drop_first(self: Store, name: str, path: Path) -> None:
        if name in drops:
            drops.remove(name)
            info["parts"] = [part for part in info["parts"] if part["file"] != name]
            remote.put("tape.json", json.dumps(info).encode())
            remote.delete([name])
        get(self, name, path)

    monkeypatch.setattr(Store, "get", drop_first)
    with fetched(store.address("c.tape")) as path:
        names = sorted(file.name for file in (path / "events").iterdir())
    assert names == ["part-00002.parquet", "part-00003.parquet"]


@pytest.mark.server
def test_folder_that_lacks_a_file_is_copied_and_reported(store: ObjectStore, tmp_path: Path) -> None:
    """So that `tape verify` and its --salvage can read what is there."""
    tape = make_tape(tmp_path / "f.tape", reads(40), parts=2)
    put_all(tape, store.address("f.tape"))
    Store(store.address("f.tape")).delete(["events/part-00001.parquet"])
    with fetched(store.address("f.tape")) as path:
        assert (path / "events" / "part-00000.parquet").exists()
        with pytest.raises(FolderError, match=r"part-00001\.parquet"):
            open_folder("tape", path)


@pytest.mark.server
@pytest.mark.parametrize("finished", [True, False])
def test_old_parts_of_a_finished_tape_are_left_out(finished: bool, store: ObjectStore, tmp_path: Path) -> None:
    """A store can refuse to delete parts. While a capture runs, its newest parts are not listed yet."""
    name = f"old{finished}.tape"
    tape = make_tape(tmp_path / name, reads(40), parts=2, finished=finished)
    put_all(tape, store.address(name))
    Store(store.address(name)).put("events/part-00009.parquet", tape / "events" / "part-00000.parquet")
    with fetched(store.address(name)) as path:
        there = sorted(file.name for file in (path / "events").iterdir())
        open_folder("tape", path)
    more = [] if finished else ["part-00009.parquet"]
    assert there == ["part-00000.parquet", "part-00001.parquet", *more]


@pytest.mark.server
def test_folder_that_changes_without_end_is_an_error(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_all(make_tape(tmp_path / "d.tape", reads(10)), store.address("d.tape"))
    monkeypatch.setattr(Store, "get", failing(NotThereError("x: gone")))
    with pytest.raises(NotThereError, match="gone"), fetched(store.address("d.tape")):
        pass


@pytest.mark.server
def test_many_small_and_some_large_objects_arrive_unchanged(store: ObjectStore, tmp_path: Path) -> None:
    chance = random.Random(7)
    folder = tmp_path / "e.tape"
    for number in range(120):
        file = folder / f"events/part-{number:05d}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(chance.randbytes(chance.choice((0, 1, 5_000, 70_000, 9_000_000 if number % 40 == 0 else 3))))
    put_all(folder, store.address("e.tape"))
    with fetched(store.address("e.tape")) as path:
        assert all(
            (path / file.relative_to(folder)).read_bytes() == file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file()
        )


def put_all(folder: Path, address: str) -> None:
    remote = Store(address)
    for file in folder.rglob("*"):
        if file.is_file():
            remote.put(str(file.relative_to(folder)), file)


def failing(error: Exception) -> Callable[..., None]:
    def fail(*args: object) -> None:
        raise error

    return fail
