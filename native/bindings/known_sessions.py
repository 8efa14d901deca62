# SPDX-License-Identifier: Apache-2.0
"""Pass sessions that were open before a capture to a reader, so that the reader starts with their state."""

from typing import Any

from .._querytape import ffi, lib
from .errors import check_code


class KnownSessions:
    """Sessions as their server shows them.

    A reader takes ownership of the sessions. Raises MemoryError or NativeFault.
    """

    def __init__(self) -> None:
        self._sessions = lib.qt_open_sessions_new()
        if self._sessions == ffi.NULL:
            raise MemoryError("out of memory for the open sessions")

    def add(
        self,
        thread_id: int,
        host: str | None = None,
        port: int | None = None,
        user: str | None = None,
        db: str | None = None,
        charset: str | None = None,
        reading: int = 0,
    ) -> None:
        """Add a session, in ascending order of thread ids.

        `host`: address of the client, or None for any address. `reading`: flags for the reading of quotes.
        """
        texts = [
            ffi.NULL if text is None else ffi.new("char[]", text.encode("utf-8", "replace"))
            for text in (host, user, db, charset)
        ]
        facts = ffi.new("struct qt_open_session_facts *")
        facts.thread_id, facts.port, facts.reading = thread_id, port or 0, reading
        facts.host, facts.user, facts.db, facts.charset = texts
        check_code(lib.qt_open_sessions_add(self._sessions, facts))

    def add_statement(self, id_: int, text: bytes) -> None:
        """Add a statement to the session that was added last.

        `id_`: id of a statement prepared in the protocol, or -1 for other statements.
        """
        check_code(lib.qt_open_sessions_add_statement(self._sessions, id_, text, len(text)))

    def give_to(self, reader: Any) -> None:
        """Pass the sessions to a reader before its first part."""
        sessions, self._sessions = self._sessions, ffi.NULL
        lib.qt_reader_set_open_sessions(reader, sessions)

    def close(self) -> None:
        """Free the sessions if no reader has taken them."""
        lib.qt_open_sessions_free(self._sessions)
        self._sessions = ffi.NULL
