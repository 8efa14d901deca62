# SPDX-License-Identifier: Apache-2.0
"""Permissions to read and to change data."""

import itertools
import time
from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.serve.access import MAX_SESSIONS, SESSION_S, Access, is_same_origin, new_token, read_token
from starlette.requests import Request

TOKEN = "0123456789abcdefghij"


def request(scheme: str = "http", **headers: str) -> Request:
    """Return a request with these headers. An underscore in a header name stands for a hyphen."""
    sent = {"host": "127.0.0.1:8741", **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in sent.items()]
    return Request(
        {"type": "http", "scheme": scheme, "path": "/", "query_string": b"", "headers": raw, "method": "POST"}
    )


def test_tokens_are_long_and_unique() -> None:
    assert len(new_token()) >= 43
    assert new_token() != new_token()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o660, 0o601])
def test_token_file_readable_by_others_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(mode)
    with pytest.raises(InputError, match="other users can read the token"):
        read_token(file)
    file.chmod(0o400)
    assert read_token(file) == TOKEN


@pytest.mark.parametrize(
    "text", ["", "short", "x" * 19, "x" * 1025, "a b" * 10, f"{TOKEN}\n{TOKEN}", "\xe4" * 30, "x" * 30 + "\0"]
)
def test_invalid_token_file_is_refused(tmp_path: Path, text: str) -> None:
    """The tested tokens are too short, too long, or have several lines or invalid characters. One token file is not a
    regular file.
    """
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(InputError, match="expected one line of 20 to 1024"):
        read_token(file)
    (tmp_path / "link").symlink_to(file)
    for path in (tmp_path / "missing", tmp_path, tmp_path / "link"):
        with pytest.raises(InputError):
            read_token(path)


@pytest.mark.parametrize(
    ("headers", "good"),
    [
        ({}, True),
        ({"origin": "http://127.0.0.1:8741"}, True),
        ({"origin": "http://127.0.0.1:8741", "sec_fetch_site": "same-origin"}, True),
        ({"sec_fetch_site": "same-origin"}, True),
        ({"origin": "http://127.0.0.1:8742"}, False),
        ({"origin": "https://127.0.0.1:8741"}, False),
        ({"origin": "http://localhost:8741"}, False),
        ({"origin": "http://127.0.0.1"}, False),
        ({"origin": "null"}, False),
        ({"origin": ""}, False),
        ({"origin": "http://127.0.0.1:8741.evil"}, False),
        ({"sec_fetch_site": "same-site"}, False),
        ({"sec_fetch_site": "none"}, False),
        ({"sec_fetch_site": "cross-site", "origin": "http://127.0.0.1:8741"}, False),
    ],
)
def test_request_origin_must_be_this_server_or_empty(headers: dict[str, str], good: bool) -> None:
    assert is_same_origin(request(**headers)) is good
    assert Access(TOKEN, False).may_change(request(authorization=f"Bearer {TOKEN}", **headers)) is good


def test_changes_need_a_token_or_a_session_with_its_secret_word() -> None:
    """A session's cookie is accepted only with the secret word of the same session."""
    access = Access(TOKEN, reads_need_token=False)
    (name, session), (other, others) = access.begin(), access.begin()
    names, words = (None, name, other, "x"), (None, session.word, others.word, "", "x")
    for cookie, word in itertools.product(names, words):
        headers = {}
        if cookie is not None:
            headers["cookie"] = f"querytape-session={cookie}"
        if word is not None:
            headers["x_querytape_word"] = word
        good = (cookie, word) in ((name, session.word), (other, others.word))
        assert access.may_change(request(**headers)) is good, (cookie, word)
    assert access.may_change(request(authorization=f"bearer  {TOKEN}"))
    for given in ("", "Bearer", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN, "Bearer \xe4"):
        assert not access.may_change(request(authorization=given)), given


def test_reading_is_public_or_needs_a_token_or_session() -> None:
    access, closed = Access(TOKEN, reads_need_token=False), Access(TOKEN, reads_need_token=True)
    name, _ = closed.begin()
    assert access.may_read(request())
    assert not closed.may_read(request())
    assert closed.may_read(request(authorization=f"Bearer {TOKEN}"))
    assert closed.may_read(request(cookie=f"querytape-session={name}"))
    closed.end(request(cookie=f"querytape-session={name}"))
    assert not closed.may_read(request(cookie=f"querytape-session={name}"))


def test_sessions_expire_and_the_oldest_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    access = Access(TOKEN, reads_need_token=True)
    first, _ = access.begin()
    for _ in range(MAX_SESSIONS - 1):
        access.begin()
    assert access.may_read(request(cookie=f"querytape-session={first}"))
    last, _ = access.begin()
    assert not access.may_read(request(cookie=f"querytape-session={first}"))
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + SESSION_S + 1)
    assert not access.may_read(request(cookie=f"querytape-session={last}"))
