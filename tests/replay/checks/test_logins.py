# SPDX-License-Identifier: Apache-2.0
"""Tests of the login check before a replay. The check uses the logins of the sessions and names missing options."""

from dataclasses import replace
from pathlib import Path

import pytest
from querytape.common.errors import TargetError
from querytape.replay import ReplayOptions, replay
from querytape.replay.plan.overrides import Overrides
from querytape.servers.option_files import Account
from querytape.servers.sandbox import Server
from querytape.servers.tls import Tls

from tests.helpers.tapes import make_tape
from tests.helpers.whole import options

OFF, REQUIRED = Tls(), Tls("REQUIRED")


def given(server: Server, folder: Path, tls: Tls = OFF, accounts: dict[str, Account] | None = None) -> ReplayOptions:
    """Return options with an account of the target and accounts for users of the tape."""
    made = options(server, folder / "t.run", overrides=Overrides(accounts=accounts or {}), query_plans=False)
    return replace(made, target=replace(made.target, tls=tls), allow_writes=False)


def tape_of(folder: Path) -> Path:
    """Return a tape with one read."""
    return make_tape(folder / "t.tape", [{"statement": "SELECT 1", "user": "app"}])


def test_refused_account_stops_the_replay_before_it_sends_anything(server: Server, tmp_path: Path) -> None:
    server.execute("CREATE DATABASE IF NOT EXISTS shop")
    server.execute("CREATE USER IF NOT EXISTS secured REQUIRE SSL")
    server.execute("CREATE USER IF NOT EXISTS secret IDENTIFIED BY 'yes'")
    server.execute("GRANT SELECT ON shop.* TO secured, secret")
    tape = tape_of(tmp_path)
    for accounts, match in (
        ({"app": Account("secured", None)}, "secured@.*1045 .*--ssl-mode REQUIRED"),
        ({"x": Account("root", None), "app": Account("secret", "no")}, "secret@.*1045 .*Set the password"),
    ):
        with pytest.raises(TargetError, match=match):
            replay(tape, given(server, tmp_path, OFF, accounts))
        assert not (tmp_path / "t.run").exists()
    if server.kind != "mariadb":
        summary = replay(tape, given(server, tmp_path, REQUIRED, {"app": Account("secured", None)}))
        assert summary.complete
    else:  # the server was started without certificates
        with pytest.raises(TargetError, match=r"2026 .*--ssl-mode REQUIRED requires TLS"):
            replay(tape, given(server, tmp_path, REQUIRED))


def test_missing_tls_option_is_named(mysql80: Server, tmp_path: Path) -> None:
    """The server has `require_secure_transport` on. Its password plugin needs TLS or a public key."""
    mysql80.execute("CREATE DATABASE IF NOT EXISTS shop")
    mysql80.execute("CREATE USER IF NOT EXISTS sha IDENTIFIED WITH caching_sha2_password BY 'yes'")
    mysql80.execute("GRANT SELECT ON shop.* TO sha")
    tape = tape_of(tmp_path)
    mysql80.execute("SET GLOBAL require_secure_transport = ON")
    try:
        with pytest.raises(TargetError, match=r"3159 .*--ssl-mode REQUIRED"):
            replay(tape, given(mysql80, tmp_path))
        assert replay(tape, given(mysql80, tmp_path, REQUIRED, {"app": Account("sha", "yes")})).complete
    finally:
        mysql80.execute("SET GLOBAL require_secure_transport = OFF")
