# SPDX-License-Identifier: Apache-2.0
"""Make a tape that can be shared. Pseudonyms replace all values.

A pseudonym has the form of its value. Equal values always get the same pseudonym.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import duck_path, open_database, write_parquet
from ...common.errors import InputError
from ...common.files import publish, whole_or_removed, write_json
from ...native.bindings.pseudonyms import KEY_BYTES, Pseudonyms
from ...schemas import Folder, columns
from ..finish import finish
from ..parts import part_entry
from ..storage import open_storage
from ..tape_writer import new_tape
from .derive import inherited_warnings, make_views, open_finished, start_info, write_facts

READING_MEMORY = 512 << 20
READING_PER_EVENT = 8  # number of copies of the largest event in memory while DuckDB reads a result


def new_key() -> bytes:
    """Return a random key."""
    return secrets.token_bytes(KEY_BYTES)


def read_key(path: Path) -> bytes:
    """Return the key in a file of 32 hexadecimal digits.

    Creates a missing file with a new key. Only its owner can read the new file. Raises InputError if the file is
    unreadable or has no valid key.
    """
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        text = secrets.token_hex(KEY_BYTES)
        with publish(path) as temporary:
            temporary.write_text(text + "\n", encoding="ascii")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: the key cannot be read: {error}") from error
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InputError(f"{path}: expected a key of {2 * KEY_BYTES} hexadecimal digits")
    return key


def pseudonymize(tape: Path, out: Path, key: bytes, accounts: bool = False) -> dict[str, Any]:
    """Write a copy of a tape with pseudonyms for its values, and return its JSON.

    `accounts`: also replace users and hosts. Raises InputError if the tape is unfinished.
    """
    folder = open_finished(tape)
    pseudonyms = Pseudonyms(key)
    new_tape(out)
    info = start_info([folder])
    largest = int(info["largest_event"])
    reading_memory = f"{(READING_MEMORY + READING_PER_EVENT * largest) >> 20}MiB"
    with (
        whole_or_removed(out),
        open_storage(out, largest=largest) as con,
        open_database(memory=reading_memory, large_arrow=True) as reading,
    ):
        replacer = _Replacer(con, reading, pseudonyms, accounts)
        for number, part in enumerate(folder.files("events")):
            final = out / "events" / f"part-{number:05d}.parquet"
            replacer.write_part(folder.events_of([duck_path(part)]), final)
            info["parts"].append(part_entry(con, out, final))
        make_views(con, [folder])
        if accounts:
            replacer.replace_accounts(folder)
        write_facts(con, out)
        info["files"] = [{**entry, "path": f"file {number}"} for number, entry in enumerate(info["files"])]
        info["input"] = {}
        info["pseudonymized"] = True
        info["read_in_several_ways"] = pseudonyms.ambiguous
        write_json(out / "tape.json", info)
        return finish(con, out, info, inherited_warnings([folder]))


@dataclass(frozen=True)
class _Replacer:
    """Replaces the values of one tape. `reading`: a separate connection whose result is read while `con` writes."""

    con: duckdb.DuckDBPyConnection
    reading: duckdb.DuckDBPyConnection
    pseudonyms: Pseudonyms
    accounts: bool

    def write_part(self, events: str, final: Path) -> None:
        """Write one part with replaced values. `events`: an SQL table expression of its events."""
        more = ', "user", host' if self.accounts else ""
        swaps = "r.c2 AS statement, r.c3 AS params, r.c4 AS error"
        swaps += ', r.c5 AS "user", r.c6 AS host' if self.accounts else ""
        names = ", ".join(f'"{name}"' for name, _ in columns("tape", "events"))
        query = f"SELECT session, seq, statement, params, error{more} FROM {events}"
        with self._replaced(query, "llspm" + ("tt" if self.accounts else "")):
            write_parquet(
                self.con,
                f"SELECT {names} FROM (SELECT e.* REPLACE ({swaps}) FROM {events} e"
                " JOIN replaced r ON e.session = r.c0 AND e.seq = r.c1) ORDER BY start_ns, session, seq",
                final,
            )

    def replace_accounts(self, folder: Folder) -> None:
        """Replace users and hosts in view `sessions0`, and clear the client attributes."""
        source = folder.source("sessions")
        with self._replaced(f'SELECT session, "user", host FROM {source}', "ltt"):
            self.con.execute("CREATE TABLE accounts AS SELECT * FROM replaced")
        self.con.execute(
            'CREATE OR REPLACE VIEW sessions0 AS SELECT s.* REPLACE (a.c1 AS "user", a.c2 AS host,'
            " NULL::VARCHAR AS attributes)"
            f" FROM (SELECT * FROM {source}) s JOIN accounts a ON s.session = a.c0"
        )

    @contextmanager
    def _replaced(self, query: str, kinds: str) -> Iterator[None]:
        """Provide view `replaced` with the rows of a query and pseudonyms, as columns c0, c1, ...

        The view can be read only once.
        """
        stream = self.pseudonyms.replace(self.reading.sql(query), kinds)
        self.con.register("replaced", stream)
        try:
            yield
        finally:
            self.con.unregister("replaced")
            stream.close()
