# SPDX-License-Identifier: Apache-2.0
"""A stop, requested through the run's folder."""

import json
from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.common.files import hold
from querytape.replay.observe.stop_request import forget_stop, request_stop, stops_asked


def write_run(run: Path, **info: object) -> None:
    (run / "run.json").write_text(json.dumps({"format_version": 1, "finished": False, **info}))


def test_the_second_time_is_harder_and_the_last(tmp_path: Path) -> None:
    """One asks for a stop, two for the connections to be cut; more is not asked."""
    write_run(tmp_path)
    assert stops_asked(tmp_path) == 0
    with hold(tmp_path):
        assert [request_stop(tmp_path) for _ in range(3)] == [1, 2, 2]
    assert stops_asked(tmp_path) == 2
    forget_stop(tmp_path)
    assert stops_asked(tmp_path) == 0


@pytest.mark.parametrize("text", ["", "x", "-1", "\xff", "1.5"])
def test_a_request_file_without_a_number_asks_for_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "stop").write_text(text, encoding="latin-1")
    assert stops_asked(tmp_path) == 0
    (tmp_path / "stop").write_text("99")
    assert stops_asked(tmp_path) == 2


def test_what_is_over_is_not_stopped(tmp_path: Path) -> None:
    """No run, one that has ended, one that was killed: a sentence each, and no file is left."""
    with pytest.raises(InputError, match="not a run"):
        request_stop(tmp_path)
    write_run(tmp_path, finished=True)
    with hold(tmp_path), pytest.raises(InputError, match="has ended"):
        request_stop(tmp_path)
    write_run(tmp_path)
    with pytest.raises(InputError, match="has ended"):
        request_stop(tmp_path)
    assert not (tmp_path / "stop").exists()
