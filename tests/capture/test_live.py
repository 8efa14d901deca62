# SPDX-License-Identifier: Apache-2.0
"""Progress of a capture, during and after it."""

from pathlib import Path

from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.live import CaptureMoment, LiveCapture


def test_progress_can_be_read_during_and_after_a_capture(tmp_path: Path) -> None:
    """Progress is read before the first part, between two parts and after the end. The last values stay readable and
    match the tape.
    """
    log = Path(__file__).parent / "sources" / "logs" / "mysql57_use_rule_and_restart.log"
    lives: list[LiveCapture] = []
    moments: list[CaptureMoment] = []

    def running(live: LiveCapture) -> None:
        lives.append(live)
        moments.append(live.read())

    settings = Settings(watch=lambda stats, total: moments.append(lives[0].read()), running=running)
    info = capture_source(SOURCES["slowlog"], [str(log)], tmp_path / "t.tape", settings)
    last = lives[0].read()
    assert last is lives[0].read()
    assert moments[0].total == last.total == log.stat().st_size
    assert last.stats.events == info["counts"]["events"] > 0
    assert last.stats.bytes_read == log.stat().st_size
    assert last.stats.finished
    read = [moment.stats.bytes_read for moment in (*moments, last)]
    assert read == sorted(read)
