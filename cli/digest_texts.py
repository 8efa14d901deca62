# SPDX-License-Identifier: Apache-2.0
"""Looks up what a tape's digests say, a few at a time, as they are to be shown. No literal value is in them."""

from collections.abc import Collection

import duckdb

from ..common.duck import small_database
from ..common.text import printable
from ..schemas import Folder

MOST = 200  # characters of a text; more is shown nowhere


class DigestTexts:
    """Normalised statements of a tape by digest. What the tape does not have (it is under way) stands for itself."""

    def __init__(self, tape: Folder) -> None:
        self._tape = tape
        self._known: dict[str, str] = {}

    def of(self, digests: Collection[str]) -> dict[str, str]:
        """Return one line for each digest, without control characters."""
        missing = [digest for digest in digests if digest not in self._known]
        if missing:
            self._known.update(dict.fromkeys(missing, ""))
            self._known.update(self._read(missing))
        return {digest: self._known[digest] or digest for digest in digests}

    def _read(self, digests: Collection[str]) -> dict[str, str]:
        query = f"SELECT digest, left(normalized, {MOST}) FROM {self._tape.source('digests')}"
        try:
            with small_database() as con:
                rows = con.execute(f"{query} WHERE list_contains(?, digest)", [list(digests)]).fetchall()
        except duckdb.Error:  # the tape was moved meanwhile: the run goes on, and so does what shows it
            return {}
        return {digest: " ".join(printable(text).split()) for digest, text in rows}
