# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape capture server`: invalid options and the dry run."""

import pytest
from click.testing import CliRunner
from querytape.cli.commands.capture_server import server_command
from querytape.servers.sandbox import Server


def test_password_in_the_url_is_refused() -> None:
    found = CliRunner().invoke(server_command, ["mysql://root:secret@127.0.0.1/", "--dry-run"], standalone_mode=False)
    assert "every user of this machine can see a password" in str(found.exception)


@pytest.mark.server
def test_dry_run_lists_settings_and_needs_no_output(mariadb: Server) -> None:
    found = CliRunner().invoke(server_command, [mariadb.url(), "--dry-run"], standalone_mode=False)
    assert found.exception is None
    assert found.return_value == 0
    assert "slow_query_log" in found.stderr
    missing = CliRunner().invoke(server_command, [mariadb.url()])
    assert missing.exit_code == 2
    assert "expected -o TAPE, or --dry-run" in missing.stderr
