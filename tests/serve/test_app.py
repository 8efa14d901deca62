# SPDX-License-Identifier: Apache-2.0
"""The routes of the server, and the checks of hosts, headers, methods and sizes before each route."""

from contextlib import suppress
from pathlib import Path

import pytest

from tests.helpers.served import Served, served

from .conftest import Everything

pytestmark = pytest.mark.slow

PAGES = (
    "/",
    "/tape/shop.tape",
    "/run/x.run",
    "/comparison/u.compare",
    "/sweep/s.sweep",
    "/nights/nights",
    "/live/live.run",
)
NO_PAGES = (
    "/nothing",
    "/tape/nothing",
    "/run/bad.run",
    "/live/bad.run",
    "/live/x.run/nothing",
    "/static/nothing",
    "/static/..",
)


@pytest.mark.sampled
@pytest.mark.parametrize("path", [*PAGES, *NO_PAGES, "/pair", "/static/style.css", "/session"])
def test_every_answer_has_the_security_headers(site: Served, path: str) -> None:
    """The headers of each answer set a strict policy and forbid sniffing, caching and frames. Error pages have the same
    headers.
    """
    answer = site.made(path)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src ")
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
    assert "unsafe-eval" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert "server" not in answer.headers
    if not path.startswith("/static/"):
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", PAGES)
def test_each_kind_of_entry_has_an_html_page_without_local_paths(site: Served, path: str) -> None:
    answer = site.made(path)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<!doctype html>" in answer.text


@pytest.mark.parametrize("path", NO_PAGES)
def test_missing_page_returns_an_error_without_local_paths(site: Served, everything: Everything, path: str) -> None:
    """The answer to an invalid address has an error status and does not contain the path of the folder."""
    answer = site.ask(path)
    assert answer.status in (404, 405, 422)
    assert str(everything.root) not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "",
        "localhost.",
        "[::2]",
        "a b",
        "x" * 300,
    ],
)
def test_unknown_host_name_is_refused(site: Served, host: str) -> None:
    """A foreign host name may resolve to this server (DNS rebinding). Such a request gets no pages or scripts, and its
    token is rejected.
    """
    host = host.format(port=site.port)
    for path, method in (
        ("/", "GET"),
        ("/static/style.css", "GET"),
        ("/live/live.run/ticks", "GET"),
        ("/session", "POST"),
    ):
        answer = site.ask(path, {"Host": host, "Authorization": f"Bearer {site.token}"}, method)
        assert (answer.status, answer.body) == (400, b"Invalid host header"), path


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST", "[::1]:{port}", "127.0.0.1:1"])
def test_loopback_names_are_accepted_with_any_port(site: Served, host: str) -> None:
    assert site.ask("/", {"Host": host.format(port=site.port)}).status == 200


def test_oversized_body_or_header_is_not_read_completely(site: Served) -> None:
    token = {"Authorization": f"Bearer {site.token}", "Content-Type": "application/json"}
    assert site.ask("/live/live.run/control", token, "POST", b"x" * 5000).status == 413
    with suppress(ConnectionError):  # the server closed the connection early
        assert site.ask("/", {"X-Large": "x" * 1_000_000}).status == 400
    assert site.ask("/").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_pages_accept_only_reading_http_methods(site: Served, method: str) -> None:
    for path in ("/", "/tape/shop.tape", "/live/live.run", "/live/live.run/ticks"):
        assert site.ask(path, {}, method).status == 405


@pytest.mark.parametrize("options", [("--token-to-read",), ("--token-file",)])
def test_reading_needs_the_token_if_required(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Without a token, each page shows only the login form. Scripts and style sheets remain public."""
    (tmp_path / "folder" / "secret-name").mkdir(parents=True)
    (tmp_path / "folder" / "secret-name" / "tape.json").write_text("{}")
    file = tmp_path / "token"
    file.write_text("0123456789abcdefghij\n")
    file.chmod(0o600)
    given = ("--token-file", str(file), "--token-to-read") if options == ("--token-file",) else options
    with served(tmp_path / "folder", *given, lines=2 if len(given) > 1 else 3) as server:
        token = server.token or "0123456789abcdefghij"
        for headers in (
            {},
            {"Authorization": f"Bearer {token}x"},
            {"Cookie": "querytape-session=x"},
            {"Authorization": token},
        ):
            for path in ("/", "/tape/secret-name", "/live/x/ticks", "/nothing", "/pair"):
                answer = server.ask(path, headers)
                assert answer.status == 401, path
                assert "secret-name" not in answer.text
                assert token not in answer.text
        assert server.ask("/static/style.css").status == 200
        assert "secret-name" in server.ask("/", {"Authorization": f"Bearer {token}"}).text
