# SPDX-License-Identifier: Apache-2.0
"""What an account lacks is a sentence with the GRANT that mends it, and the GRANT does."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from querytape.capture.server_log.restore_file import RestoreFile, write_restore_file
from querytape.capture.server_log.rights import Rights, check_rights
from querytape.servers.facts import gather
from querytape.servers.sandbox import Server
from querytape.servers.target import parse_target


def lacking(server: Server, tmp_path: Path, user: str = "weak", method: str = "table", ends: bool = True) -> Rights:
    """Return what the account lacks."""
    target = parse_target(server.url().replace(f"{server.user}@", f"{user}@"))
    with closing(target.connect()) as con:
        return check_rights(
            con, gather(con), method, tmp_path / "r", changes=True, end_sessions="--end-sessions" if ends else ""
        )


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["mariadb", "mysql-5.7", "mysql-8.0", "mysql-9"])
def test_each_grant_mends_what_it_says(server_factory: Callable[..., Server], tmp_path: Path, kind: str) -> None:
    """An account with nothing: each sentence names a GRANT; all of them executed, nothing is lacking."""
    server = server_factory(kind)
    user = f"weak_{tmp_path.name[-8:]}"
    server.execute(f"CREATE USER '{user}'@'%'")
    server.execute(f"CREATE USER '{user}'@'localhost'")
    assert lacking(server, tmp_path, "root") == Rights((), ())
    before = server.execute("SHOW GLOBAL VARIABLES LIKE 'long_query_time'")
    lacks = lacking(server, tmp_path, user)
    assert len(lacks.needed) == 3
    assert any("GRANT PROCESS" in text for text in lacks.useful)  # though nobody else is connected
    for method in ("general", "table"):
        for text in (*lacking(server, tmp_path, user, method).needed, *lacking(server, tmp_path, user, method).useful):
            assert f"'{user}'@" in text
            grant = text[text.index("GRANT") :].partition(";")[0]
            server.execute(grant)
    assert lacking(server, tmp_path, user) == lacking(server, tmp_path, user, "general") == Rights((), ())
    assert server.execute("SHOW GLOBAL VARIABLES LIKE 'long_query_time'") == before


def test_pending_and_unwritable(server_factory: Callable[..., Server], tmp_path: Path) -> None:
    """An earlier capture that was not restored, and a restore file that cannot be."""
    server = server_factory("mariadb")
    write_restore_file(tmp_path / "r", RestoreFile("mysql://app@h/", "id", "t", (), None))
    assert "--restore" in lacking(server, tmp_path, "root").needed[0]
    (tmp_path / "file").write_text("")
    assert "--restore-file" in lacking(server, tmp_path / "file", "root").needed[0]
