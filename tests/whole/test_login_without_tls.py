# SPDX-License-Identifier: Apache-2.0
"""Logins with caching_sha2_password and sha256_password without TLS on real servers. Both clients of querytape log in:
the Python client and the replay engine.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.replay.plan.pacing import Pace
from querytape.replay.replay_tape import replay
from querytape.servers.sandbox import Server
from querytape.servers.target import Target
from querytape.servers.tls import Tls

from tests.helpers.processes import run_command
from tests.helpers.tapes import make_tape
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import accounting, options

PASSWORD = "s3cret-" * 3
ELSEWHERE = "0.0.0.0"  # this host through a non-loopback address, like a remote server
WAYS = ("--ssl-mode", "--server-public-key-path", "--get-server-public-key")
KINDS = [
    ("mysql-8.0", "caching_sha2_password"),
    ("mysql-8.0", "sha256_password"),
    ("mysql-9", "caching_sha2_password"),
]


@pytest.fixture(params=KINDS, ids=lambda pair: "-".join(pair))
def account(request: pytest.FixtureRequest, server_factory: Any, tmp_path: Path) -> tuple[Server, str, Path]:
    """Return a server, the authentication plugin of its account, and the path of the server's public key."""
    kind, plugin = request.param
    server = server_factory(kind)
    server.execute(f"CREATE USER app@'%' IDENTIFIED WITH {plugin} BY '{PASSWORD}'")
    server.execute("GRANT SELECT ON *.* TO app@'%'")
    status = "Caching_sha2_password_rsa_public_key" if plugin == "caching_sha2_password" else "Rsa_public_key"
    key = server.execute(f"SHOW STATUS LIKE '{status}'")
    assert key[0][1].startswith("-----BEGIN PUBLIC KEY-----")
    pem = tmp_path / "server.pem"
    pem.write_text(key[0][1])
    return server, plugin, pem


@pytest.mark.sampled
def test_login_needs_a_key_file_a_key_request_or_loopback(account: tuple[Server, str, Path], tmp_path: Path) -> None:
    """In all other cases, a remote login is refused. The error lists these three ways. Before each login, FLUSH
    PRIVILEGES empties the password cache of caching_sha2_password.
    """
    server, _plugin, pem = account
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    given = options(server, tmp_path / "refused.run", pace=Pace("none"))
    target = Target("app", ELSEWHERE, ELSEWHERE, server.port, password=PASSWORD)
    told = [
        (target, False),
        (replace(target, tls=Tls(server_public_key=str(pem))), True),
        (replace(target, tls=Tls(get_server_public_key=True)), True),
        (replace(target, host="127.0.0.1", address="127.0.0.1"), True),
    ]
    for number, (each, passes) in enumerate(told):
        server.execute("FLUSH PRIVILEGES")
        if not passes:
            with pytest.raises(Exception, match="2061") as failed:
                replay(tape, replace(given, target=each))
            assert all(way in str(failed.value) for way in WAYS)
            continue
        with_engine = replace(given, target=each, output=tmp_path / f"{number}.run")
        server.execute("FLUSH PRIVILEGES")
        summary = replay(tape, with_engine)
        assert accounting(summary)[0] == 1, (each, summary.info["partial"])


@pytest.mark.sampled
def test_engine_sessions_log_in_with_an_empty_password_cache(account: tuple[Server, str, Path]) -> None:
    """The control connection would fill the server's password cache. This test therefore uses only engine sessions."""
    from querytape.native.bindings.engine import EngineOptions

    from tests.helpers.logins import one_session

    server, _plugin, pem = account
    base = EngineOptions(host=ELSEWHERE, port=server.port, user="app", password=PASSWORD)
    refused = one_session(base)
    assert refused is not None
    assert all(way in refused for way in WAYS)
    for each in (replace(base, public_key=str(pem)), replace(base, asks_for_key=True)):
        server.execute("FLUSH PRIVILEGES")
        assert one_session(each) is None


@pytest.mark.sampled
def test_cached_password_allows_the_login(account: tuple[Server, str, Path]) -> None:
    """If the server has the password in its cache, caching_sha2_password needs no key."""
    server, plugin, _pem = account
    Target("app", "x", "127.0.0.1", server.port, password=PASSWORD).connect().close()
    elsewhere = Target("app", ELSEWHERE, ELSEWHERE, server.port, password=PASSWORD)
    if plugin == "caching_sha2_password":
        elsewhere.connect().close()
    else:
        with pytest.raises(Exception, match="2061"):
            elsewhere.connect()


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    mostly_long(
        ["replay", "capture-server", "capture-source", "inspect-source", "plans", "reads-to"], "replay", "plans"
    ),
)
def test_every_command_that_connects_shows_the_same_refusal(command: str, mysql80_factory: Any, tmp_path: Path) -> None:
    """Each command accepts the options that are named in its error message."""
    server = mysql80_factory()
    server.execute(f"CREATE USER app@'%' IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'")
    server.execute("GRANT ALL ON *.* TO app@'%'")
    server.execute(f"CREATE USER near@'%' IDENTIFIED WITH mysql_native_password BY '{PASSWORD}'")
    server.execute("GRANT ALL ON *.* TO near@'%'")
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    log = tmp_path / "general.log"
    log.write_text("2026-01-01T00:00:00.000000Z\t    7 Query\tSELECT 1\n")
    url, local = f"mysql://app@{ELSEWHERE}:{server.port}/", f"mysql://near@127.0.0.1:{server.port}/"
    words = {
        "replay": ["replay", str(tape), "--target", url, "-o", "{out}"],
        "capture-server": ["capture", "server", url, "--dry-run"],
        "capture-source": ["capture", "general", str(log), "--source", url, "-o", "{out}"],
        "inspect-source": ["inspect", str(tape), "--source", url],
        "plans": ["plans", str(tape), "--target", f"a={url}", "--target", f"b={local}", "-o", "{out}"],
        "reads-to": ["replay", str(tape), "--target", local, "--reads-to", url, "-o", "{out}"],
    }[command]
    for number, more in enumerate(([], ["--get-server-public-key"])):
        server.execute("FLUSH PRIVILEGES")
        filled = [word.format(out=tmp_path / f"{number}.out") for word in words]
        environ = {"QUERYTAPE_PASSWORD": PASSWORD, "PATH": "/usr/bin:/bin"}
        done = run_command(*filled, *more, check=False, env=environ)
        said = done.stderr + done.stdout
        assert PASSWORD not in said
        assert all(way in " ".join(said.split()) for way in WAYS) == (not more), said
        assert "Traceback" not in said
