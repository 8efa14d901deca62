# SPDX-License-Identifier: Apache-2.0
"""`capture --follow` is killed at random moments. The tape contains all published events in order, and no other events."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from querytape.capture.tools.verify import verify
from querytape.schemas import open_folder

from tests.helpers.command_line import run_here
from tests.helpers.growing_log import GrowingLog, wait_until
from tests.helpers.log_writers import make_statements, slow_log
from tests.helpers.processes import start

pytestmark = pytest.mark.long

STATEMENTS = make_statements([60] * 400, 5)
ENDINGS = (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def statements_of(tape: Path) -> list[bytes]:
    """Return the statements of a tape in log order."""
    with duckdb.connect() as con:
        rows = con.execute(
            f"SELECT statement FROM '{tape}/events/*.parquet' ORDER BY file, \"offset\", start_ns"
        ).fetchall()
    return [row[0] for row in rows]


@pytest.mark.parametrize("seed", range(5))
def test_killed_capture_leaves_a_readable_tape(seed: int, tmp_path: Path) -> None:
    """After SIGKILL, the tape is marked as killed and contains the beginning of the log. After other signals, the tape
    contains the whole log.
    """
    chance, ending = random.Random(seed), ENDINGS[seed]
    tape = tmp_path / "live.tape"
    log = GrowingLog(tmp_path / "slow.log", chance)
    whole = slow_log(STATEMENTS)
    command = ["-m", "querytape", "capture", "slowlog", str(log.path), "--follow", "--part-every", "20ms"]
    child = start([sys.executable, *command, "-o", str(tape)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    moment, at = chance.randrange(len(whole) // 4, len(whole)), 0
    half = len(whole) // 8
    log.write(whole[:half])
    wait_until(lambda: any((tape / "events").glob("*.parquet")), "a part is there")
    for at in range(half, moment, 4000):
        log.write(whole[at : min(at + 4000, moment)])
        if chance.random() < 0.2:
            time.sleep(chance.random() * 0.02)
    child.send_signal(ending)
    child.communicate()
    log.close()
    ended = run_here("inspect", str(tape), "--json")
    assert ended.code == 0, ended.err
    info = open_folder("tape", tape).info
    kinds = [warning["kind"] for warning in info["warnings"]]
    found = statements_of(tape)
    assert list(verify(tape, tmp_path)) == []
    assert len(found) == info["counts"]["events"] >= 1
    if ending == signal.SIGKILL:
        assert kinds == ["killed"]
        assert found == STATEMENTS[: len(found)]
    else:
        written = [number for number in range(len(STATEMENTS)) if len(slow_log(STATEMENTS[: number + 1])) <= moment]
        assert len(found) >= len(written)
        # The log may end inside an event header. The partial header then counts as text of the previous statement.
        assert found[: len(written) - 1] == STATEMENTS[: len(written) - 1]
        assert child.returncode in (0, 4)
