# SPDX-License-Identifier: Apache-2.0
"""Tests of `--metrics` on the command line."""

from contextlib import ExitStack

import click
import pytest
from querytape.cli.metrics_page import MetricsPage
from querytape.cli.replay_settings import parse_replay_options
from querytape.metrics.names import Value

from tests.helpers.scrapes import scrape


def test_metrics_server_starts_only_with_the_metrics_option(capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        MetricsPage(None, stack).put(lambda: [])
    assert capsys.readouterr().err == ""


def test_metrics_address_is_printed_with_its_visibility(capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        page = MetricsPage(("127.0.0.1", 0), stack)
        page.put(lambda: [Value("querytape_replay_open_sessions", 5)])
        said = capsys.readouterr().err
        assert said.startswith("metrics: http://127.0.0.1:")
        assert said.endswith("/metrics\n")
        assert scrape(said.split()[1]).get("querytape_replay_open_sessions") == 5
        MetricsPage(("0.0.0.0", 0), stack)
        assert "anyone who reaches this address" in capsys.readouterr().err


def test_metrics_option_after_the_double_dash_is_refused() -> None:
    with pytest.raises(click.UsageError, match="--metrics applies to the whole command"):
        parse_replay_options(["--target", "mysql://a@b", "-o", "r", "--metrics", ":0"])
