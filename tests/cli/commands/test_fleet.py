# SPDX-License-Identifier: Apache-2.0
"""Tests of `querytape fleet`: its output and its exit code."""

from pathlib import Path

import pytest
from querytape.cli.commands.fleet import code_of, end_lines, severity
from querytape.common.exit_codes import ExitCode
from querytape.replay.drivers.fleet import PairEnd
from querytape.servers.sandbox import Server

from tests.helpers.primes import EVENTS, prime_set
from tests.helpers.processes import run_command
from tests.helpers.tapes import MS


@pytest.mark.server
def test_command_prints_each_pair_and_reports_work(mariadb: Server, tmp_path: Path) -> None:
    """A pair without events to send comes first in the output, and gives the exit code."""
    mariadb.execute("CREATE DATABASE IF NOT EXISTS shop")
    mariadb.execute("DROP TABLE IF EXISTS shop.log")
    mariadb.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    tapes = prime_set(tmp_path, 3, 5 * MS)
    pair = f'[[pair]]\ntarget = "{mariadb.url("shop")}"\n'
    (tmp_path / "fleet.toml").write_text(
        'replay = ["--allow-writes", "--target-is-disposable", "--partial-ok"]\n'
        + f'{pair}tape = "{tapes}/01.tape"\n{pair}name = "rest"\ntape = "{tapes}"\nreplay = ["--sessions", "100%"]\n'
    )
    done = run_command("fleet", "fleet.toml", "-o", "all.runs", cwd=tmp_path)
    assert f"all.runs/rest.run: {EVENTS:,} events = {EVENTS:,} executed" in done.stdout
    assert "all.runs/01.run: " in done.stdout
    assert "01: target root@" in done.stderr
    assert f"{EVENTS}" in run_command("report", tapes, "all.runs/rest.run", cwd=tmp_path).stdout
    with (tmp_path / "fleet.toml").open("a") as file:
        file.write(f'{pair}name = "none"\ntape = "{tapes}/02.tape"\nreplay = ["--db", "other"]\n')
    failed = run_command("fleet", "fleet.toml", "-o", "again.runs", cwd=tmp_path, check=False)
    assert failed.returncode == 1
    assert failed.stdout.startswith("none: NO COMPLETE RUN: ")


def test_worst_pair_gives_the_exit_code() -> None:
    """A lost pair may have sent statements, so its code is the worst."""
    ended, lost = PairEnd("a", None, "nothing"), PairEnd("b", None, "gone", sent=True)
    assert (code_of(ended), code_of(lost)) == (ExitCode.ERROR, ExitCode.UNKNOWN)
    assert max((0, ExitCode.UNKNOWN, ExitCode.ERROR, ExitCode.INCOMPLETE), key=severity) == ExitCode.UNKNOWN
    assert end_lines(lost) == ["b: NO COMPLETE RUN: gone. Some of its statements may have been sent"]
    assert end_lines(ended) == ["a: NO COMPLETE RUN: nothing"]
