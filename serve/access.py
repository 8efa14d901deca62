# SPDX-License-Identifier: Apache-2.0
"""Decides who may read and who may change something, by token, session and origin of the request.

A request that changes something needs the token in its header, or a session cookie plus the session's secret word. Only
pages of that session contain the word. The request must also come from a page of this server. A cookie is never
sufficient.
"""

import hmac
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request

from ..common.errors import InputError
from ..common.files import open_regular

COOKIE = "querytape-session"
WORD_HEADER = "x-querytape-word"
MAX_SESSIONS, SESSION_S = 64, 12 * 3600.0
MIN_TOKEN, MAX_TOKEN = 20, 1024


def new_token() -> str:
    """Return a new random token."""
    return secrets.token_urlsafe(32)


def read_token(path: Path) -> str:
    """Return the token of a file.

    Raises InputError if others can read the file, or if its content is too short or is not one line of text.
    """
    with open_regular(path) as file:
        mode = Path(f"/proc/self/fd/{file.fileno()}").stat().st_mode
        raw = file.read(MAX_TOKEN + 1)
    if mode & 0o077:
        raise InputError(f"{path}: other users can read the token (expected mode 0600, run chmod 600 {path})")
    token = raw.decode("ascii", "replace").strip()
    if not MIN_TOKEN <= len(token) <= MAX_TOKEN or not all("!" <= character <= "~" for character in token):
        raise InputError(
            f"{path}: expected one line of {MIN_TOKEN} to {MAX_TOKEN} letters and digits, for"
            " example the output of `openssl rand -hex 32`"
        )
    return token


@dataclass
class Session:
    """The session of a browser that sent the token. `word`: the secret that its pages send with each change."""

    word: str
    until: float


@dataclass
class Access:
    """The access rules. `reads_need_token`: reading pages also requires the token."""

    token: str
    reads_need_token: bool
    _sessions: OrderedDict[str, Session] = field(default_factory=OrderedDict)

    def has_token(self, request: Request) -> bool:
        """Whether the request's Authorization header has the token."""
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())

    def begin(self) -> tuple[str, Session]:
        """Start a session. Return the value of its cookie, and the session."""
        name, session = secrets.token_urlsafe(32), Session(secrets.token_urlsafe(32), time.monotonic() + SESSION_S)
        self._sessions[name] = session
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return name, session

    def end(self, request: Request) -> None:
        """Delete the session of the request."""
        self._sessions.pop(request.cookies.get(COOKIE, ""), None)

    def session(self, request: Request) -> Session | None:
        """Return the session of the request, or None."""
        name = request.cookies.get(COOKIE, "")
        session = self._sessions.get(name)
        if session is not None and session.until < time.monotonic():
            del self._sessions[name]
            return None
        return session

    def may_read(self, request: Request) -> bool:
        """Whether the request may read pages."""
        return not self.reads_need_token or self.has_token(request) or self.session(request) is not None

    def may_change(self, request: Request) -> bool:
        """Whether the request may change something: it has the token, or comes from a page of a session."""
        if not is_same_origin(request):
            return False
        if self.has_token(request):
            return True
        session = self.session(request)
        given = request.headers.get(WORD_HEADER, "")
        return session is not None and hmac.compare_digest(given.encode(), session.word.encode())


def is_same_origin(request: Request) -> bool:
    """Whether a request comes from a page of this server, or from a program that sends no origin."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return (origin is None or origin.lower() == own.lower()) and site in (None, "same-origin")
