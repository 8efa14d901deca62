# SPDX-License-Identifier: Apache-2.0
"""Tests of the metrics page. No client can disturb the page."""

import socket
import threading
import time
import urllib.error
from collections.abc import Iterator

import pytest
from querytape.common.errors import InputError
from querytape.metrics import page as module
from querytape.metrics.collector import Sources
from querytape.metrics.names import Value
from querytape.metrics.page import AT_ONCE, Page

from tests.helpers.scrapes import fetch, scrape

pytestmark = pytest.mark.slow


@pytest.fixture
def page() -> Iterator[Page]:
    """Serve a page with one value on a free port."""
    sources = Sources()
    sources.put(lambda: [Value("querytape_replay_open_sessions", 3)])
    with Page("127.0.0.1", 0, sources.registry()) as served:
        yield served


def talk(page: Page, data: bytes) -> socket.socket:
    """Send `data` to the page on a new connection and return the connection."""
    connection = socket.create_connection(("127.0.0.1", page.port), timeout=30)
    connection.sendall(data)
    return connection


def test_request_selects_the_format_of_the_metrics(page: Page) -> None:
    assert fetch(page.url)[0].startswith("text/plain")
    assert scrape(page.url).get("querytape_replay_open_sessions") == 3


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\xff" * 500 + b"\r\n\r\n", b"GET\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n", b"GET /%ff?name[]=%00 HTTP/1.1\r\n\r\n",
     b"A" * 70_000 + b"\r\n", b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", b"\x16\x03\x01\x02\x00\x01"],
    ids=["bytes", "half", "post", "names", "long", "headers", "tls"],
)  # fmt: skip
def test_metrics_page_survives_invalid_requests(page: Page, garbage: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """An invalid request gets an error or no answer. The metrics page answers the next request and writes nothing to
    stderr.
    """
    with talk(page, garbage) as connection:
        connection.shutdown(socket.SHUT_WR)
        try:
            while connection.recv(65536):
                pass
        except ConnectionResetError:
            pass
    assert scrape(page.url).get("querytape_replay_open_sessions") == 3
    assert capfd.readouterr().err == ""


def test_metrics_page_survives_a_connection_reset(page: Page, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(20):
        connection = talk(page, b"GET /metrics HTTP/1.1\r\n\r\n")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        connection.close()
    assert scrape(page.url).get("querytape_replay_open_sessions") == 3
    assert capfd.readouterr().err == ""


@pytest.mark.long
def test_idle_connections_do_not_exhaust_the_metrics_page(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """The metrics page limits its threads and closes connections beyond the limit. It answers again when the idle
    connections have timed out.
    """
    monkeypatch.setattr(module._Handler, "timeout", 1.0)
    before = threading.active_count()
    hanging = [talk(page, b"GET /metr") for _ in range(3 * AT_ONCE)]
    for connection in hanging[AT_ONCE:]:
        assert connection.recv(1) == b""
    assert threading.active_count() <= before + AT_ONCE
    for connection in hanging[:AT_ONCE]:
        assert connection.recv(1) == b""  # the page closes the connection after the time-out
    assert scrape(page.url).get("querytape_replay_open_sessions") == 3
    for connection in hanging:
        connection.close()


def test_metrics_page_closes_despite_open_connections(page: Page) -> None:
    """One client is connected and sends nothing. Another client waits for an answer."""
    asked, go = threading.Event(), threading.Event()

    def slow() -> list[Value]:
        asked.set()
        go.wait(60)
        return []

    sources = Sources()
    sources.put(slow)
    with Page("127.0.0.1", 0, sources.registry()) as served:
        silent = talk(served, b"")
        waiting = talk(served, b"GET / HTTP/1.1\r\n\r\n")
        assert asked.wait(30)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", served.port), timeout=30)
    go.set()
    silent.close()
    waiting.close()


def test_unreadable_value_fails_only_its_request(capfd: pytest.CaptureFixture[str]) -> None:
    sources = Sources()
    sources.put(lambda: [Value("querytape_replay_open_sessions", 1 / 0)])
    with Page("127.0.0.1", 0, sources.registry()) as served:
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError, match="500"):
                fetch(served.url)
    assert capfd.readouterr().err == ""


def test_unusable_addresses_are_refused(page: Page) -> None:
    """A used port or an address of another host is an error. A page on all interfaces is not local."""
    registry = Sources().registry()
    with pytest.raises(InputError, match=f"^--metrics 127.0.0.1:{page.port}: Address already in use; use port 0"):
        Page("127.0.0.1", page.port, registry)
    with pytest.raises(InputError, match=r"^--metrics 192\.0\.2\.1:0: Cannot assign requested address"):
        Page("192.0.2.1", 0, registry)
    with pytest.raises(InputError, match=r"^--metrics no such host:0: "):
        Page("no such host", 0, registry)
    assert page.is_local
    assert page.url == f"http://127.0.0.1:{page.port}/metrics"
    with Page("0.0.0.0", 0, registry) as served:
        assert not served.is_local


def test_ipv6_address_has_brackets_in_the_url() -> None:
    try:
        served = Page("::1", 0, Sources().registry())
    except InputError:
        pytest.skip("this machine has no ::1")
    with served:
        assert served.url == f"http://[::1]:{served.port}/metrics"
        assert served.is_local
        assert fetch(served.url)[0].startswith("text/plain")
    time.sleep(0)
