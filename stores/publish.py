# SPDX-License-Identifier: Apache-2.0
"""Copy a new folder to an object store while a command writes it.

    a new part -> the store -> the JSON that lists it -> remove what no longer exists

The JSON of a folder always follows the files that it lists, so a reader of the store never misses a file. If the store
is away, the command continues on the local disk, and the copy catches up later. At the end, the list of the store is
compared with the folder before the folder is removed.

The object CLAIM prevents two processes from writing to the same address. It has the id of the local folder, and it is
removed when the copy is complete.
"""

import re
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..common.errors import InputError
from ..common.files import remove_folder
from ..common.signals import held
from ..common.staged import FILE, refuse_inside, stage
from ..common.temporary import PREFIX, check_temporary
from ..common.units import plural
from .fetch import CLAIM, PART, is_finished, is_marker, named
from .store import Store, StoreError
from .threads import in_threads

PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
LAST_WAIT_S = 120.0  # longest wait for the store at the end of the command
WORK = ("spill", "snapshots")  # folders that the writers and readers of a folder use for a short time
UNFINISHED = re.compile(r".+\.\d+\.[0-9a-f]{8}\.tmp")  # a tape that a task is still capturing
ID = "claim"  # file next to the local folder, with the content of the object CLAIM

Stamp = tuple[int, int, int]  # inode, bytes and time of the last change in ns
Say = Callable[[str], None]


@contextmanager
def published(
    address: str,
    say: Say,
    source: Path | None = None,
    last_wait_s: float = LAST_WAIT_S,
    parent: Path | None = None,
) -> Iterator[Path]:
    """Yield the path for a new local folder, which is copied to the address. The local folder is then removed.

    If the block fails without a folder, nothing stays in the store. `say` shows a line to the user. It is called in
    another thread. `source`: a local folder of an earlier copy to the same address, which is continued. `last_wait_s`:
    how long to wait for the store after the block. `parent`: where the local folder is created. None means TMPDIR.

    Raises InputError if the address already has objects, and StoreError if the store cannot be used. The message names
    the local folder if it was kept because it could not be copied.
    """
    store = Store(address, quick=True)
    if parent is None:
        check_temporary()
    with held():
        room = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    try:
        path = stage(room, store.address)
        claim, there = _claim(store, source)
        (room / ID).write_bytes(claim)
    except BaseException:
        with held():
            remove_folder(room)
        raise
    copy = Copy(store, path, say, there)
    failed = True
    try:
        copy.start()
        with named(path, store.address):
            yield path
        failed = False
    finally:
        if _finish(copy, failed, last_wait_s):
            _clear(room, path, say)


def _claim(store: Store, source: Path | None) -> tuple[bytes, Collection[str]]:
    """Create the object CLAIM, or find the one that belongs to the source. Return its content and all objects."""
    there = store.sizes()
    if source is not None:
        with suppress(OSError):
            known = (source.parent / ID).read_bytes()
            if store.read(CLAIM) == known:
                return known, there
    _refuse_inside(store.address)
    claim = secrets.token_hex(16).encode()
    if not there and store.create(CLAIM, claim):
        return claim, there
    if CLAIM in there:
        raise InputError(
            f"{store.address}: another command is writing this folder, or it was killed. If it was killed, remove the"
            " folder from the store"
        )
    raise InputError(f"{store.address} already exists: choose another address, or remove the folder from the store")


def _refuse_inside(address: str) -> None:
    """Raise InputError if the folder above the address is a tape, a run or a folder of plans."""
    above = address.rpartition("/")[0]
    with suppress(StoreError):  # the user may be allowed to use only the address
        if above.count("/") > 2:
            store = Store(above, quick=True)
            refuse_inside(address, above, lambda name: store.read(name) or b"")


def _finish(copy: "Copy", failed: bool, last_wait_s: float) -> bool:
    """Copy what is missing. Return whether the local folder is no longer needed.

    Raises StoreError if the store is away for too long. If the command has `failed`, its own error is more important,
    so the user is only told.
    """
    command = f"querytape tape copy {copy.path} {copy.store.address}"
    later = f"The complete folder is on this machine. Copy it later:\n  {command}"
    try:
        copy.stop()
        if not copy.path.exists():
            if not copy.continues:  # the objects of an earlier copy may be the only ones
                copy.remove_all()
            return True
        copy.complete(last_wait_s)
    except StoreError as error:
        if not copy.path.exists():
            copy.say(f"{error}. Some objects are still in the store")
            return True
        text = f"{error}. {later}"
        if not failed:
            raise StoreError(text) from error
        copy.say(text)
        return False
    except BaseException:
        if copy.path.exists():
            copy.say(f"{copy.store.address}: the copy is incomplete. {later}")
        raise
    return True


def _clear(room: Path, path: Path, say: Say) -> None:
    """Remove the local folder. What the command has left next to the folder stays, and the user is told."""
    with held():
        remove_folder(path)
        if others := sorted(each for each in room.iterdir() if each.name not in (FILE, ID)):
            say(f"Not copied, but kept on this machine: {', '.join(map(str, others))}")
        else:
            remove_folder(room)


class Copy:
    """Copies a growing folder to a store, in a thread of its own.

    `there`: objects of an earlier copy, which this copy `continues`.
    """

    def __init__(self, store: Store, path: Path, say: Say, there: Collection[str] = ()) -> None:
        self.store, self.path, self.say = store, path, say
        self.continues = bool(there)
        self._sent: dict[str, Stamp] = {}
        # Objects that the store may have. A request that failed may have had its effect.
        self._tried: set[str] = {*there} - {CLAIM}
        self._kept: set[str] = set()  # objects that the store does not allow to remove
        self._stopped = threading.Event()
        self._away_since: float | None = None
        self._thread = threading.Thread(target=self._follow, name="store", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. It finishes the request that it is waiting for."""
        self._stopped.set()
        self._thread.join()

    def complete(self, most_s: float) -> None:
        """Copy all files of the complete folder, and compare the store with them.

        Raises StoreError if the store is away for `most_s` seconds or has other objects.
        """
        until, pause, waits = time.monotonic() + most_s, PAUSE_S, False
        while True:
            try:
                self.copy_new(final=True)
                self._check()
                break
            except StoreError as error:
                if time.monotonic() + pause > until:
                    raise
                if not waits:
                    waits = True
                    self.say(
                        f"{error}. Waiting up to {most_s:.0f} s for the store. Ctrl-C ends the wait and keeps the local"
                        " folder"
                    )
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
        self._is_back()
        if waits:
            self.say(f"{self.store.address}: the copy is complete")
        self._delete([CLAIM])
        if self._kept:
            self.say(
                f"{self.store.address}: the store refused to delete {plural(len(self._kept), 'old object')}:"
                f" {', '.join(sorted(self._kept)[:5])}"
            )

    def copy_new(self, final: bool = False) -> None:
        """Copy the files that are new or have changed, then each JSON that changed. Remove files that are gone.

        `final`: nothing writes the folder any more, so all files are complete. Before, only parts are complete, and a
        JSON of a finished folder waits. Raises StoreError.
        """
        names = self._names()
        markers = {name: read for name in names if is_marker(name) and (read := self._read(name))}
        stamps = {name: stamp for name in self._names() if not is_marker(name) and (stamp := self._stamp(name))}
        new = [
            name for name, stamp in stamps.items() if (final or PART.fullmatch(name)) and self._sent.get(name) != stamp
        ]
        in_threads(lambda name: self._put(name, stamps[name]), new)
        # The JSON of an inner folder comes before the JSON of the folder itself.
        for name in sorted(markers, key=lambda name: -name.count("/")):
            stamp, content = markers[name]
            if self._sent.get(name) != stamp and (final or not is_finished(content)):
                self._tried.add(name)
                self.store.put(name, content)
                self._sent[name] = stamp
        gone = self._tried - stamps.keys() - markers.keys()
        self._delete(gone)
        for name in gone:
            self._sent.pop(name, None)
        self._tried -= gone

    def remove_all(self) -> None:
        """Remove everything that was copied, each JSON first. Raises StoreError."""
        self.store.delete([name for name in self._tried if is_marker(name)])
        self.store.delete([*self._tried, CLAIM])
        self._sent.clear()

    def _delete(self, names: Iterable[str]) -> None:
        """Remove objects. An object that cannot be removed is tried again later. It costs space, but no data."""
        listed = {*names} | self._kept
        try:
            self.store.delete(listed)
            self._kept.clear()
        except StoreError:
            self._kept |= listed

    def _check(self) -> None:
        """Raise StoreError if the store does not have exactly the files of the folder."""
        found = self.store.sizes()
        for name, (_, size, _) in self._sent.items():
            if found.get(name) != size:
                self._sent.clear()  # copy everything again
                there = "is missing" if name not in found else f"has {found[name]:,} bytes instead of {size:,}"
                raise StoreError(f"{self.store.address}: {name} {there}, although it was copied")
        if others := sorted(found.keys() - self._sent.keys() - self._kept - {CLAIM}):
            raise StoreError(
                f"{self.store.address}: another program has written {', '.join(others[:5])}. Remove these objects"
            )

    def _follow(self) -> None:
        pause = PAUSE_S
        while not self._stopped.wait(pause):
            try:
                self.copy_new()
            except StoreError as error:
                self._is_away(error)
                pause = min(2 * pause, LONGEST_PAUSE_S)
                continue
            pause = PAUSE_S
            self._is_back()

    def _is_away(self, error: StoreError) -> None:
        if self._away_since is None:
            self._away_since = time.monotonic()
            self.say(f"{error}. The command continues on the local disk: {self.path}")

    def _is_back(self) -> None:
        if self._away_since is not None:
            lasted = plural(round(time.monotonic() - self._away_since), "second")
            self._away_since = None
            self.say(f"{self.store.address}: the store answers again after {lasted}")

    def _names(self) -> list[str]:
        """Return the relative names of the files, without temporary and hidden files."""
        found = (file.relative_to(self.path) for file in self.path.rglob("*"))
        return [
            str(name)
            for name in found
            if name.suffix != ".tmp"
            and not any(part in WORK or part.startswith(".") or UNFINISHED.fullmatch(part) for part in name.parts)
        ]

    def _stamp(self, name: str) -> Stamp | None:
        """Return the stamp of a regular file. Returns None for anything else, and for a file that is gone."""
        file = self.path / name
        try:
            stat = file.lstat()
        except FileNotFoundError:
            return None
        return (stat.st_ino, stat.st_size, stat.st_mtime_ns) if file.is_file() and not file.is_symlink() else None

    def _read(self, name: str) -> tuple[Stamp, bytes] | None:
        """Return the stamp and the content of a JSON file. Its writer replaces it as a whole."""
        with suppress(FileNotFoundError):
            if stamp := self._stamp(name):
                content = (self.path / name).read_bytes()
                return (stamp[0], len(content), stamp[2]), content
        return None

    def _put(self, name: str, stamp: Stamp) -> None:
        """Copy a file. A file that its writer has just removed is skipped."""
        self._tried.add(name)
        try:
            self.store.put(name, self.path / name)
        except StoreError:
            if (self.path / name).exists():
                raise
            return
        self._sent[name] = stamp
