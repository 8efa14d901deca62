# SPDX-License-Identifier: Apache-2.0
"""`querytape capture rds`: what is asked of the command line, and where boto3 is missing."""

import sys

import pytest
from click.testing import CliRunner
from querytape.cli.commands.capture_rds import rds_command


def test_a_missing_boto3_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    found = CliRunner().invoke(rds_command, ["shop-1", "--dry-run"], standalone_mode=False)
    assert str(found.exception) == "capture rds requires boto3. Run pip install 'querytape[rds]'"
