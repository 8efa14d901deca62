# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape plans` and `querytape report --plans`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from querytape.cli.commands.plans import plans_command
from querytape.cli.commands.report import report_command
from querytape.common.errors import InputError
from querytape.servers.sandbox import Server

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


@pytest.mark.server
def test_equal_servers_give_equal_plans(shop: Server, tmp_path: Path) -> None:
    """`plans` keeps its output folder. A report of two runs reads the plans from this folder."""
    events = [{"statement": "SELECT id FROM log WHERE seq > 7", "digest": f"{1:016x}", "db": "shop"}] * 40
    tape = make_tape(tmp_path / "t.tape", events)
    targets = [word for side in "ab" for word in ("--target", f"{side}={shop.url('shop')}")]
    words = [str(tape), *targets, "-o", str(tmp_path / "p"), "--json", str(tmp_path / "p.json"), "--markdown", "-"]
    done = CliRunner().invoke(plans_command, words, standalone_mode=False, catch_exceptions=False)
    assert done.return_value == 0
    assert "The plan of 1 digest is the same" in done.output
    assert json.loads((tmp_path / "p.json").read_text())["digests"][0]["a"][0]["table"] == "log"
    runs = [str(make_run(tmp_path / f"{side}.run", tape, [{} for _ in events])) for side in "ab"]
    more = ["--plans", str(tmp_path / "p"), "--json", "-"]
    shown = CliRunner().invoke(report_command, [str(tape), *runs, *more], standalone_mode=False, catch_exceptions=False)
    plans = json.loads(shown.output[shown.output.index("{") :])["query_plans"]
    assert plans[f"{1:016x}"]["b"][0]["table"] == "log"


def test_plans_command_refuses_a_single_server(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    with pytest.raises(InputError, match="--target a=URL and --target b=URL"):
        CliRunner().invoke(
            plans_command, [str(tape), "--target", "a=mysql://x@h/d"], standalone_mode=False, catch_exceptions=False
        )
