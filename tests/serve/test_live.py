# SPDX-License-Identifier: Apache-2.0
"""Reading a run while it is written."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from querytape.common.errors import FolderError
from querytape.common.files import hold
from querytape.replay.observe.control_files import request_speed, request_stop
from querytape.serve.live import AT, COLUMNS, MAX_POINTS, TickReader, figures, lines, read_ticks, state_of

from .conftest import SECOND, write_ticks


def ticks_of(n: int, **columns: object) -> np.ndarray:
    """Return one tick per second with 100 statements each."""
    values = {"at_ns": np.arange(1, n + 1) * SECOND, "done": 100, "reads": 60, "writes": 30, "others": 10, **columns}
    return np.column_stack([np.broadcast_to(np.asarray(values.get(name, 0), float), n) for name in COLUMNS])


def test_parts_of_the_ticks_are_read_as_they_appear(tmp_path: Path) -> None:
    """Each part of the ticks is read once. The final merged file gives the same ticks."""
    reader = TickReader(tmp_path)
    assert reader.read().shape == (0, len(COLUMNS))
    for number in range(4):
        write_ticks(tmp_path, number, 3 * number, 3)
        assert list(reader.read()[:, AT] / SECOND) == list(range(1, 3 * number + 4))
    (tmp_path / "ticks" / "part-00000.parquet").unlink()  # the reader does not read the removed part again
    whole = reader.read()
    for number in range(1, 4):
        write_ticks(tmp_path, number, 3 * number, 3)
    write_ticks(tmp_path, 0, 0, 12)
    (tmp_path / "ticks" / "part-00000.parquet").rename(tmp_path / "ticks.parquet")
    assert np.array_equal(reader.read(), whole)
    assert np.array_equal(TickReader(tmp_path).read(), whole)


@pytest.mark.parametrize("how", ["link", "folder", "bytes", "columns"])
def test_links_damaged_files_and_missing_columns_are_errors(tmp_path: Path, how: str) -> None:
    write_ticks(tmp_path, 0, 0, 3)
    part = tmp_path / "ticks" / "part-00000.parquet"
    if how == "link":
        (tmp_path / "ticks" / "part-1.parquet").symlink_to(part)
    elif how == "folder":
        (tmp_path / "ticks").rename(tmp_path / "elsewhere")
        (tmp_path / "ticks").symlink_to(tmp_path / "elsewhere")
    elif how == "bytes":
        part.write_bytes(part.read_bytes()[:100])
    else:
        with duckdb.connect() as con:
            con.execute(f"COPY (SELECT 1 AS x) TO '{part}' (FORMAT parquet)")
    with pytest.raises(FolderError):
        TickReader(tmp_path).read()


def test_state_of_a_run(tmp_path: Path) -> None:
    """The state of a run depends on run.json, on a running writer, and on requests to the run."""
    info = {
        "format_version": 1,
        "finished": False,
        "parameters": {"pace": "schedule", "speed": "2"},
        "plan": {"planned": 9},
    }
    (tmp_path / "run.json").write_text(json.dumps(info))
    some = ticks_of(3)
    assert state_of(tmp_path, info, some).word == "killed"
    with hold(tmp_path):
        assert state_of(tmp_path, info, some[:0]).word == "opening"
        now = state_of(tmp_path, info, some)
        assert (now.word, now.speed, now.planned, now.paced, now.under_way) == ("running", "2", 9, True, True)
        request_speed(tmp_path, "1/3")
        assert state_of(tmp_path, info, some).speed == "1/3"
        request_speed(tmp_path, "pause")
        assert state_of(tmp_path, info, some).word == "paused"
        request_stop(tmp_path)
        assert (state_of(tmp_path, info, some).word, state_of(tmp_path, info, some).stops) == ("stopping", 1)
    ended = state_of(tmp_path, {**info, "finished": True}, some)
    assert (ended.word, ended.under_way) == ("ended", False)
    odd: tuple[Any, ...] = (None, 1, [], "x", {"pace": 1, "speed": [1] * 99, "planned": "<b>"})
    for value in odd:
        assert state_of(tmp_path, {"parameters": value, "plan": value}, some).planned == 0


def test_live_figures_cover_the_last_seconds() -> None:
    """The live figures of a run are rates, maximum times and the remaining time. Before the first second the run has no
    figures.
    """
    assert figures(ticks_of(0), 10) == {}
    ticks = ticks_of(30, errors=2, p95_ns=np.r_[np.full(25, 9e9), 1e6, 3e6, np.nan, 2e6, 1e6], sessions_open=7)
    ticks[:20, COLUMNS.index("reads")] = 1e6  # outside the covered seconds
    ticks[20:25, COLUMNS.index("p95_ns")] = np.nan
    found = figures(ticks, 6000)
    assert (found["per_second"], found["errors_per_second"], found["errors"]) == (100, 2, 60)
    assert (found["p95_ns"], found["open"], found["done"]) == (3e6, 7, 3000)
    assert (found["share"], found["left_s"], found["at_ns"]) == (0.5, 30, 30e9)
    none = figures(ticks_of(1, p95_ns=np.nan, done=0), 0)
    assert (none["p95_ns"], none["share"], none["left_s"]) == (None, None, None)


@pytest.mark.parametrize("n", [1, 2, MAX_POINTS, MAX_POINTS + 1, 86_400])
def test_chart_points_are_limited_without_loss(n: int) -> None:
    """A chart has a limited number of points. The rates of its points add up to the total, and the maximum time is
    kept.
    """
    p95 = np.full(n, 1e6)
    p95[n // 2] = 5e6
    width_s, found = lines(ticks_of(n, p95_ns=p95, errors=1))
    for points in found.values():
        assert 0 < len(points) <= MAX_POINTS + 1
    ends = [point["x"] for point in found["throughput"]]
    assert ends == sorted(set(ends))
    assert ends[-1] == n
    long = np.diff([0, *ends])
    assert sum(long * [point["y"] for point in found["throughput"]]) == pytest.approx(100 * n, rel=1e-3)
    assert sum(long * [point["y"] for point in found["errors"]]) == pytest.approx(n, rel=1e-3)
    assert max(point["y"] for point in found["p95"]) == 5
    assert width_s == max(-(-n // MAX_POINTS), 1)


def test_unknown_times_give_no_chart_points(tmp_path: Path) -> None:
    """A second without answers has no p95. A run without ticks has no points, but the chart data has all columns."""
    _, found = lines(ticks_of(3, p95_ns=[1e6, np.nan, 2e6]))
    assert [point["y"] for point in found["p95"]] == [1, 2]
    assert all(points == [] for points in lines(ticks_of(0))[1].values())
    write_ticks(tmp_path, 0, 0, 2, errors=5)
    assert list(read_ticks([tmp_path / "ticks" / "part-00000.parquet"])[:, COLUMNS.index("errors")]) == [5, 5]
