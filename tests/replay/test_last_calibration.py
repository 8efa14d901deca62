# SPDX-License-Identifier: Apache-2.0
"""The kept calibration: only one of this machine counts."""

import json
import socket
from pathlib import Path

import pytest
from querytape.replay.last_calibration import cache_file, last_calibration


def test_missing_damaged_and_foreign_calibrations_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_file() == tmp_path / "querytape" / "calibration.json"
    assert last_calibration() is None
    cache_file().parent.mkdir()
    levels = [{"sessions": 1, "pace": "schedule", "queries_per_second": 1000.0, "late_p99_ns": 20_000}]
    kept = {"machine": socket.gethostname(), "levels": levels}
    for text in (
        "",
        "[]",
        json.dumps({"machine": "elsewhere", "levels": levels}),
        json.dumps({**kept, "levels": None}),
        json.dumps({**kept, "levels": [{"sessions": 1}]}),
        json.dumps({**kept, "levels": [{**levels[0], "queries_per_second": "fast"}]}),
    ):
        cache_file().write_text(text)
        assert last_calibration() is None
    cache_file().write_text(json.dumps(kept))
    assert last_calibration() == kept
