# SPDX-License-Identifier: Apache-2.0
"""`querytape capture server`: what is asked of the command line before a server is touched, and a dry run."""

import pytest
from click.testing import CliRunner
from querytape.cli.commands.capture_server import server_command
from querytape.servers.sandbox import Server


def test_a_password_in_the_url_is_refused_with_where_it_belongs() -> None:
    found = CliRunner().invoke(server_command, ["mysql://root:secret@127.0.0.1/", "--dry-run"], standalone_mode=False)
    assert "every user of this machine can see a password" in str(found.exception)


@pytest.mark.server
def test_a_dry_run_changes_nothing(mariadb: Server) -> None:
    """The settings that would be changed are shown, and are as before; no output is needed for that."""
    found = CliRunner().invoke(server_command, [mariadb.url(), "--dry-run"], standalone_mode=False)
    assert found.exception is None
    assert found.return_value == 0
    assert "slow_query_log" in found.stderr
    missing = CliRunner().invoke(server_command, [mariadb.url()])
    assert missing.exit_code == 2
    assert "expected -o TAPE, or --dry-run" in missing.stderr
