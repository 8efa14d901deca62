# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape capture rds` without boto3."""

import sys

import pytest
from click.testing import CliRunner
from querytape.cli.commands.capture_rds import rds_command


def test_missing_boto3_error_shows_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    found = CliRunner().invoke(rds_command, ["shop-1", "--dry-run"], standalone_mode=False)
    assert str(found.exception) == "capture rds requires boto3. Run pip install 'querytape[rds]'"
