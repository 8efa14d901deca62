# SPDX-License-Identifier: Apache-2.0
"""The plan before a recording: how the log is read, the changed settings, later effects and missing privileges."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from querytape.capture.server_log import RecordOptions, check_options, plan_logging
from querytape.capture.server_log.plan import Rights, check_rights, own_log, plan_notes
from querytape.capture.server_log.restore import RestoreFile, write_restore_file
from querytape.capture.server_log.settings import GLOBAL_CONTROL, plan_changes
from querytape.common.errors import InputError, RefusedError
from querytape.servers.facts import Facts, gather
from querytape.servers.sandbox import Server
from querytape.servers.target import Target, parse_target

TARGET = Target("app", "h", "10.0.0.1")
FAR = Facts(
    "8.0.31",
    hostname="db1",
    identity="id",
    connected=4,
    variables={"datadir": "/nowhere/else", "slow_query_log": "OFF"},
)
VARIABLES = {
    "long_query_time": "10.000000",
    "log_output": "FILE",
    "slow_query_log": "OFF",
    "slow_query_log_file": "/var/log/own.log",
    "general_log": "OFF",
}


def near(tmp_path: Path) -> Facts:
    """Return a server whose data folder is on this host."""
    (tmp_path / "db1.pid").write_text("1")
    return Facts("10.11.6-MariaDB", variables={"datadir": str(tmp_path), "pid_file": str(tmp_path / "db1.pid")})


def test_log_file_is_read_on_the_server_host(tmp_path: Path) -> None:
    """The capture's log file is in the folder of the server's own log. Each plan has a different file name."""
    plan = plan_logging(TARGET, near(tmp_path), RecordOptions(restore_file=tmp_path / "r"))
    assert plan.method == "file"
    assert plan.log_file is not None
    assert plan.log_file.parent == tmp_path
    assert plan.log_file != own_log(near(tmp_path))
    assert plan.restore_file == tmp_path / "r"


def test_log_table_is_read_from_a_remote_server() -> None:
    """For a remote server, `--read file` is refused, and the message suggests another option."""
    plan = plan_logging(TARGET, FAR, RecordOptions())
    assert (plan.method, plan.log_file) == ("table", None)
    with pytest.raises(RefusedError, match="--read table"):
        plan_logging(TARGET, FAR, RecordOptions(method="file"))


def test_plan_lists_each_change_with_its_old_value() -> None:
    """The plan also lists statements that the log will not contain."""
    lines = plan_logging(TARGET, FAR, RecordOptions()).lines()
    assert lines[0] == "8.0.31 on db1: querytape reads the log from mysql.slow_log"
    assert "  SET GLOBAL slow_query_log = 'ON'   (now 'OFF')" in lines
    assert any(line.startswith("  open connections: 3") for line in lines)
    general = plan_logging(TARGET, FAR, RecordOptions(method="general")).lines()
    assert "  the general log contains no durations, row counts or errors" in general
    assert "  no change is needed: the server already logs every statement" in general


def test_invalid_method_and_zero_duration_are_refused() -> None:
    check_options(RecordOptions())
    with pytest.raises(InputError, match="--read: expected one of auto"):
        check_options(RecordOptions(method="tea leaves"))
    with pytest.raises(InputError, match="--duration"):
        check_options(RecordOptions(duration_s=0))


def notes(method: str = "file", **variables: str) -> str:
    """Return the notes of a plan as one text."""
    facts = Facts("8.0", variables=VARIABLES | variables, connected=4, statements_per_s=2000.0)
    file = Path("/q.log") if method == "file" else None
    changes = plan_changes(facts.variables, method, str(file) if file else None)
    return "; ".join(plan_notes(facts, method, changes, file, 8 << 30))


def test_plan_shows_size_location_and_rate_of_the_log() -> None:
    """The notes of the plan contain the size limit, the location of the log, its deletion or retention, and the write
    rate.
    """
    assert "at most about 8,590 MB (--max-disk) to /q.log, and removes this file at the end" in notes()
    assert "0.60 MB/s at this server's average of 2,000 statements per second" in notes()
    assert "mysql.slow_log, and leaves the rows in this table" in notes("table")
    assert "mysql.general_log, and leaves the rows in this table" in notes("general")


def test_plan_describes_the_effect_on_open_sessions() -> None:
    """If the server's slow log was off, open sessions write nothing to it. If it was on, it stays off until these
    sessions end. Percona Server's global control stays enabled. A capture of the general log has no such effect.
    """
    assert "these sessions write nothing" in notes()
    on = notes(slow_query_log="ON")
    assert "own slow log (/var/log/own.log) is on" in on
    assert "stays off until these sessions are gone" in on
    percona = notes(**{"slow_query_log": "ON", GLOBAL_CONTROL: ""})
    assert "stays 'all' until these sessions disconnect" in percona
    assert "open connections" not in percona
    assert "open connections: 3" in on
    assert "long_query_time" not in notes("general")


def test_plan_warns_if_the_general_log_is_on() -> None:
    """The capture changes log_output, which also redirects the general log."""
    assert "general log is on" in notes("table", general_log="ON")
    assert "general log is on" not in notes("file", general_log="ON")


def missing_rights(
    server: Server, tmp_path: Path, user: str = "weak", method: str = "table", ends: bool = True
) -> Rights:
    """Return the privileges that the account lacks."""
    target = parse_target(server.url().replace(f"{server.user}@", f"{user}@"))
    with closing(target.connect()) as con:
        return check_rights(
            con, gather(con), method, tmp_path / "r", changes=True, end_sessions="--end-sessions" if ends else ""
        )


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["mariadb", "mysql-5.7", "mysql-8.0", "mysql-9"])
def test_suggested_grants_are_sufficient(server_factory: Callable[..., Server], tmp_path: Path, kind: str) -> None:
    """The account starts without privileges. Each message contains a GRANT statement. After all of these GRANTs, no
    privilege is missing.
    """
    server = server_factory(kind)
    user = f"weak_{tmp_path.name[-8:]}"
    server.execute(f"CREATE USER '{user}'@'%'")
    server.execute(f"CREATE USER '{user}'@'localhost'")
    assert missing_rights(server, tmp_path, "root") == Rights((), ())
    before = server.execute("SHOW GLOBAL VARIABLES LIKE 'long_query_time'")
    lacks = missing_rights(server, tmp_path, user)
    assert len(lacks.needed) == 3
    assert any("GRANT PROCESS" in text for text in lacks.useful)  # reported even if no other session is connected
    for method in ("general", "table"):
        for text in (
            *missing_rights(server, tmp_path, user, method).needed,
            *missing_rights(server, tmp_path, user, method).useful,
        ):
            assert f"'{user}'@" in text
            grant = text[text.index("GRANT") :].partition(". ")[0]
            server.execute(grant)
    assert missing_rights(server, tmp_path, user) == missing_rights(server, tmp_path, user, "general") == Rights((), ())
    assert server.execute("SHOW GLOBAL VARIABLES LIKE 'long_query_time'") == before


def test_pending_restore_or_unwritable_file_is_refused(server_factory: Callable[..., Server], tmp_path: Path) -> None:
    server = server_factory("mariadb")
    write_restore_file(tmp_path / "r", RestoreFile("mysql://app@h/", "id", "t", (), None))
    assert "--restore" in missing_rights(server, tmp_path, "root").needed[0]
    (tmp_path / "file").write_text("")
    assert "--restore-file" in missing_rights(server, tmp_path / "file", "root").needed[0]
