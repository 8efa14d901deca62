# SPDX-License-Identifier: Apache-2.0
"""The list of all entries, generated pages, sessions and scripts."""

import json
import re
from http.cookies import SimpleCookie
from pathlib import Path

import pytest

from tests.helpers.damages import damage
from tests.helpers.runs import make_run
from tests.helpers.served import Served, served
from tests.helpers.tapes import make_tape

from .conftest import MARKUP, Everything

pytestmark = pytest.mark.slow


def test_list_has_every_entry(site: Served) -> None:
    """The list has names, addresses and states, with escaped texts. The nights of a nightly folder are on its own page."""
    text = site.ask("/").text
    for path in (
        "/tape/shop.tape",
        "/run/x.run",
        "/comparison/u.compare",
        "/sweep/s.sweep",
        "/nights/nights",
        "/live/live.run",
    ):
        assert f'href="{path}"' in text
    assert MARKUP not in text
    assert "&lt;img src=x" in text
    assert "under way" in text
    assert "cut off" in text
    assert "2026-11-03T0200" not in text
    assert "secret" not in text
    assert text.count("be read") >= 2


def test_pages_run_only_their_own_scripts(site: Served) -> None:
    """The policy contains the hash of each script of a generated page. Texts of the tape never run."""
    for path in ("/tape/shop.tape", "/run/x.run", "/pair?a=x.run&b=y.run", "/sweep/s.sweep"):
        answer = site.made(path)
        assert answer.status == 200, answer.text[:2000]
        assert answer.text.count("<script>") == 2
        assert MARKUP not in answer.text
        assert '<a href="/">' in answer.text


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("/run/shop.tape", "/tape/shop.tape"),
        ("/tape/x.run", "/run/x.run"),
        ("/run/live.run", "/live/live.run"),
        ("/live/x.run", "/run/x.run"),
        ("/nights/u.compare", "/comparison/u.compare"),
        ("/run/nights", "/nights/nights"),
    ],
)
def test_page_requested_with_a_wrong_kind_redirects(site: Served, path: str, to: str) -> None:
    answer = site.ask(path)
    assert (answer.status, answer.headers["location"]) == (307, to)


@pytest.mark.parametrize(
    "path",
    [
        *("/tape/../shop.tape", "/tape/..%2f..%2fetc%2fpasswd", "/tape/%2e%2e/%2e%2e/etc", "/tape//etc", "/tape/%00"),
        *(
            "/run/%ff",
            "/tape/..",
            "/nights/../..",
            "/live/..%2f..%2fx/ticks",
            "/pair?a=../x.run&b=/etc",
            "/pair?a=x.run",
        ),
        *("/pair?a=x.run&b=x.run", "/pair?a=x.run&b=shop.tape", "/pair?a=x.run&b=live.run", "/tape/" + "a/" * 3000),
    ],
)
def test_paths_cannot_leave_the_folder(site: Served, path: str) -> None:
    answer = site.made(path)
    assert answer.status in (400, 404, 422), answer.text[:500]
    assert "root:" not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.long
def test_damaged_entries_have_a_page_or_an_error_message(tmp_path: Path) -> None:
    """The tapes and runs were damaged by a disk, a person or an attacker. The list still works."""
    tape = make_tape(tmp_path / "good.tape", [{"statement": "SELECT 1"} for _ in range(30)])
    pages = []
    for number in range(9):
        for kind in ("tape", "run"):
            path = tmp_path / f"{number}.{kind}"
            if kind == "tape":
                make_tape(path, [{"statement": "SELECT 1"} for _ in range(30)])
            else:
                make_run(path, tape, [{}] * 30)
            damage(path, kind, number)
            pages.append(f"/{kind}/{path.name}")
    statuses = set()
    with served(tmp_path, "--memory", "500MB") as server:
        assert server.ask("/").status == 200
        for page in pages:
            answer = server.made(page)
            statuses.add(answer.status)
            assert answer.status in (200, 307, 404, 422), (page, answer.text)
            assert "Traceback" not in answer.text
            assert (
                str(tmp_path) not in re.sub(r"<script.*?</script>", "", answer.text, flags=re.S) or answer.status == 200
            )
            live = server.ask(page.replace("/run/", "/live/") + "/ticks")
            assert live.status in (200, 404, 422)
    assert {200, 422} <= statuses


def cookie_of(headers: dict[str, str]) -> tuple[str, str]:
    """Return the new cookie in the form of a request header, and all attributes of the cookie."""
    text = headers["set-cookie"]
    cookie = SimpleCookie(text)
    return f"querytape-session={cookie['querytape-session'].value}", text


def test_web_session_starts_with_the_token_and_ends(site: Served) -> None:
    """The session cookie is valid only for this server and hidden from scripts. Pages of the session contain its secret
    word.
    """
    begun = site.ask("/session", {"Authorization": f"Bearer {site.token}"}, "POST")
    assert begun.status == 200
    cookie, attributes = cookie_of(begun.headers)
    for each in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert each in attributes
    assert site.token not in attributes
    word = begun.json["word"]
    assert f'content="{word}"' in site.ask("/", {"Cookie": cookie}).text
    assert "querytape-word" not in site.ask("/").text
    assert site.ask("/session", {"Cookie": cookie}, "DELETE").status == 403
    assert site.ask("/session", {"Cookie": cookie, "X-Querytape-Word": word}, "DELETE").status == 200
    assert "querytape-word" not in site.ask("/", {"Cookie": cookie}).text


@pytest.mark.sampled
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic {token}"},
        {"Authorization": "{token}"},
        {"Authorization": "Bearer {token}x"},
        {"Authorization": "Bearer \xe4"},
        {"Authorization": "Bearer {token}", "Origin": "http://evil.example"},
        {"Authorization": "Bearer {token}", "Origin": "null"},
        {"Authorization": "Bearer {token}", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_web_session_needs_the_token_and_the_same_origin(site: Served, headers: dict[str, str]) -> None:
    answer = site.ask("/session", {name: value.format(token=site.token) for name, value in headers.items()}, "POST")
    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert json.loads(answer.body) == {"error": "wrong token"}


def test_scripts_and_styles_are_cached_by_content(site: Served, everything: Everything) -> None:
    """Pages name scripts and styles with their hash, so browsers cache them. Without a hash in the address, browsers
    must ask the server again.
    """
    found = re.findall(r'(?:src|href)="(/static/[^"]+)"', site.ask("/live/live.run").text)
    assert len(found) == 5
    for url in found:
        answer = site.ask(url)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith(("text/css", "text/javascript"))
        assert "immutable" in answer.headers["cache-control"]
        assert site.ask(url.partition("?")[0]).headers["cache-control"] == "no-cache"
