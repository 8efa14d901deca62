# SPDX-License-Identifier: Apache-2.0
"""Says who may read and who may change something: a token, sessions of those who gave it, and where a request is from.

A request that changes something needs the token itself in its header, or a session's cookie and beside it the word that
only a page of that session knows; and it must come from a page of this server. Nothing is known by a cookie alone.
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
    """Return a token that nobody guesses."""
    return secrets.token_urlsafe(32)


def read_token(path: Path) -> str:
    """Return the token of a file. Raises InputError where others can read it, or it is short or no line of text."""
    with open_regular(path) as file:
        mode = Path(f"/proc/self/fd/{file.fileno()}").stat().st_mode
        raw = file.read(MAX_TOKEN + 1)
    if mode & 0o077:
        raise InputError(f"{path}: other users can read the token: expected mode 0600 (chmod 600 {path})")
    token = raw.decode("ascii", "replace").strip()
    if not MIN_TOKEN <= len(token) <= MAX_TOKEN or not all("!" <= character <= "~" for character in token):
        raise InputError(
            f"{path}: expected one line of {MIN_TOKEN} to {MAX_TOKEN} letters and digits, for"
            " example the output of `openssl rand -hex 32`"
        )
    return token


@dataclass
class Session:
    """A browser that gave the token. `word`: what its pages send along."""

    word: str
    until: float


@dataclass
class Access:
    """Who may do what. `reads_need_token`: the pages as well."""

    token: str
    reads_need_token: bool
    _sessions: OrderedDict[str, Session] = field(default_factory=OrderedDict)

    def has_token(self, request: Request) -> bool:
        """Whether the request's Authorization header has the token."""
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())

    def begin(self) -> tuple[str, Session]:
        """Return a new session and its cookie's value."""
        name, session = secrets.token_urlsafe(32), Session(secrets.token_urlsafe(32), time.monotonic() + SESSION_S)
        self._sessions[name] = session
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return name, session

    def end(self, request: Request) -> None:
        """Forget the request's session."""
        self._sessions.pop(request.cookies.get(COOKIE, ""), None)

    def session(self, request: Request) -> Session | None:
        """Return the request's session."""
        name = request.cookies.get(COOKIE, "")
        session = self._sessions.get(name)
        if session is not None and session.until < time.monotonic():
            del self._sessions[name]
            return None
        return session

    def may_read(self, request: Request) -> bool:
        """Whether pages may be shown."""
        return not self.reads_need_token or self.has_token(request) or self.session(request) is not None

    def may_change(self, request: Request) -> bool:
        """Whether something may be changed: by the token, or from a page of a session."""
        if not is_same_origin(request):
            return False
        if self.has_token(request):
            return True
        session = self.session(request)
        given = request.headers.get(WORD_HEADER, "")
        return session is not None and hmac.compare_digest(given.encode(), session.word.encode())


def is_same_origin(request: Request) -> bool:
    """Whether a request is from a page of this server, or from no page at all: other programs name no origin."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return (origin is None or origin.lower() == own.lower()) and site in (None, "same-origin")
