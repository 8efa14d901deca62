# SPDX-License-Identifier: Apache-2.0
"""The server process of `querytape serve`: its addresses, its start messages and its end."""

import http.client
import signal
import socket
import ssl
import subprocess
import threading
import time
from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.serve.access import Access
from querytape.serve.server import Options, bound, greeting, names_of
from querytape.serve.shelf import Shelf

from tests.helpers.served import served
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow

LARGE = (
    "SELECT 1 AS session, n + 1 AS seq, 'query' AS command, n * 1000 AS start_ns, 1000 AS precision_ns, 0 AS file,"
    " n AS \"offset\", 0 AS flags, 'SELECT 1'::BLOB AS statement, 'read' AS class, 0 AS actions,"
    " printf('%016x', n % 50000) AS digest, 5 AS duration_ns FROM range(400000) t(n)"
)


@pytest.mark.parametrize(
    ("host", "options", "names"),
    [
        ("127.0.0.1", Options(("127.0.0.1", 1)), ["127.0.0.1", "[::1]", "localhost"]),
        ("127.0.0.1", Options(("x", 1), names=("a.example",)), ["127.0.0.1", "[::1]", "a.example", "localhost"]),
        ("::1", Options(("::1", 1)), ["127.0.0.1", "[::1]", "localhost"]),
        ("10.0.0.5", Options(("db5", 1)), ["10.0.0.5", "db5"]),
        ("10.0.0.5", Options(("10.0.0.5", 1), names=("t.example",)), ["10.0.0.5", "t.example"]),
        ("0.0.0.0", Options(("0.0.0.0", 1), names=("t.example",)), ["t.example"]),
        ("fe80::1%eth0", Options(("fe80::1", 1), names=("t",)), ["[fe80::1%eth0]", "[fe80::1]", "t"]),
    ],
)
def test_accepted_host_names(host: str, options: Options, names: list[str]) -> None:
    """The server accepts the loopback names, its address, and the names given as options. It never accepts every name."""
    assert names_of(host, options) == names


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_listening_on_all_addresses_needs_a_host_name(host: str) -> None:
    with pytest.raises(InputError, match="use --name"):
        names_of(host, Options((host, 1)))


def test_start_messages(tmp_path: Path) -> None:
    """A generated token is shown once. The messages state who can read the pages, and that remote traffic is not
    encrypted.
    """
    shelf = Shelf(tmp_path)
    here = greeting(shelf, Access("T" * 20, False), "127.0.0.1", 1, Options(("127.0.0.1", 1)))
    assert here[:2] == [f"{tmp_path}: http://127.0.0.1:1/", "token: TTTTTTTTTTTTTTTTTTTT"]
    assert "every account on this machine can read the pages" in here[2]
    file = greeting(shelf, Access("T" * 20, True), "10.0.0.5", 1, Options(("", 1), token_file=tmp_path, names=("t",)))
    assert file[0].endswith(": http://t:1/")
    assert not any("TTTT" in line for line in file)
    assert file[-1].startswith("WARNING: without --certificate")
    secure = greeting(
        shelf, Access("T" * 20, True), "10.0.0.5", 1, Options(("", 1), certificate=tmp_path, key=tmp_path)
    )
    assert secure[0].endswith(": https://10.0.0.5:1/")
    assert not any("WARNING" in line for line in secure)


def test_unusable_address_is_an_error_message(tmp_path: Path) -> None:
    with bound("127.0.0.1", 0) as taken:
        for host, port in (
            ("127.0.0.1", taken.getsockname()[1]),
            ("192.0.2.1", 0),
            ("no.such.host.invalid", 0),
            ("x" * 300, 0),
        ):
            with pytest.raises(InputError, match="use port 0 for a free port"):
                bound(host, port)


def test_certificate_is_used(tmp_path: Path) -> None:
    """With a certificate, only HTTPS is served, and the cookie is sent only over HTTPS."""
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")]
    subject = ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, *files]
    subprocess.run(command, capture_output=True, check=True)
    (tmp_path / "folder").mkdir()
    given = ("--certificate", str(tmp_path / "cert"), "--key", str(tmp_path / "key"))
    with served(tmp_path / "folder", *given) as server:
        assert server.url.startswith("https://")
        context = ssl.create_default_context(cafile=str(tmp_path / "cert"))
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=60)
        connection.request("POST", "/session", headers={"Authorization": f"Bearer {server.token}"})
        answer = connection.getresponse()
        assert (answer.status, "Secure" in str(answer.getheader("set-cookie"))) == (200, True)
        connection.close()


@pytest.mark.sampled
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_ends_the_server(tmp_path: Path, number: signal.Signals) -> None:
    """The server exits cleanly with code 130, like all commands. An open connection does not delay the exit."""
    with served(tmp_path) as server, socket.create_connection(("127.0.0.1", server.port)) as idle:
        idle.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert server.ask("/").status == 200
        code, rest = server.end(number)
        assert (code, rest.strip()) == (130, "querytape: stopped")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_end_of_the_server_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    """The server ends while a page is being made. The page's process and temporary files disappear with the server,
    even after kill -9.
    """
    make_tape(tmp_path / "folder" / "large.tape", LARGE)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "folder").rglob("*")}
    (tmp_path / "tmp").mkdir()
    with served(tmp_path / "folder", TMPDIR=str(tmp_path / "tmp")) as server:
        threading.Thread(target=_ask, args=(server,), daemon=True).start()
        until = time.monotonic() + 120
        while not any((tmp_path / "tmp").rglob("*.duckdb")):
            assert time.monotonic() < until
            time.sleep(0.02)
        pid = server.process.pid
        makers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        assert len(makers) == 1
        server.end(number)
        until = time.monotonic() + 60
        while Path(f"/proc/{makers[0]}").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert not Path(f"/proc/{makers[0]}").exists()
        assert list((tmp_path / "tmp").iterdir()) == []
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "folder").rglob("*")} == before


def _ask(server: object) -> None:
    import contextlib

    with contextlib.suppress(Exception):
        server.ask("/tape/large.tape")  # type: ignore[attr-defined]
