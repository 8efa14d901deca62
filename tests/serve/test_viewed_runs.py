# SPDX-License-Identifier: Apache-2.0
"""Requests to a run in progress."""

import json
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.common.files import hold
from querytape.replay.observe.control_files import requested_speed, stops_asked
from querytape.serve.viewed_runs import MAX_READERS, Watched, ask_of

from .conftest import write_ticks


def make(run: Path, **more: Any) -> dict[str, Any]:
    info = {"format_version": 1, "finished": False, "parameters": {"pace": "schedule", "speed": "2"}, **more}
    (run / "run.json").write_text(json.dumps(info))
    write_ticks(run, 0, 0, 3)
    return info


def test_resume_of_a_paused_run_restores_the_previous_speed(tmp_path: Path) -> None:
    """The previous speed is the last speed that was set. If none was set, it is the initial speed of the run. A second
    pause does not change the previous speed.
    """
    info, watched = make(tmp_path), Watched()
    with hold(tmp_path):
        for acts, speed in (
            (("pause",), 0),
            (("resume",), 2),
            (("speed 1/2", "pause", "pause"), 0),
            (("resume",), 0.5),
            (("pause", "speed 3"), 3),
        ):
            for act in acts:
                ask_of(watched, tmp_path, info, *(f"{act} ".split(" ")[:2]))
            assert requested_speed(tmp_path) == speed
        ask_of(watched, tmp_path, info, "pause", "")
        ask_of(Watched(), tmp_path, info, "resume", "")  # a later server does not know the speed
        assert requested_speed(tmp_path) == 2


def test_stop_is_requested_at_most_twice(tmp_path: Path) -> None:
    """As with Ctrl-C, the first stop request waits for the last answers. The second stop request closes the
    connections.
    """
    info = make(tmp_path)
    with hold(tmp_path):
        assert "waiting for the last replies" in ask_of(Watched(), tmp_path, info, "stop", "")
        assert stops_asked(tmp_path) == 1
        assert "closing the connections" in ask_of(Watched(), tmp_path, info, "stop", "")
    assert stops_asked(tmp_path) == 2


@pytest.mark.parametrize(
    ("act", "factor", "more", "held", "sentence"),
    [
        ("speed", "max", {}, True, "expected a number"),
        ("speed", "", {}, True, "expected a number"),
        ("speed", "0", {}, True, "expected a number above 0"),
        ("speed", "-1", {}, True, "expected a number above 0"),
        ("speed", "1" * 100, {}, True, "at most nine digits"),
        ("speed", "../../x", {}, True, "expected a number"),
        ("explode", "", {}, True, "expected pause, resume, speed or stop"),
        ("pause", "", {"parameters": {"pace": "none"}}, True, "cannot change the speed of a replay with --pace none"),
        ("stop", "", {"finished": True}, True, "has ended"),
        ("pause", "", {}, False, "has ended"),
    ],
)
def test_invalid_request_is_an_error_message_and_writes_nothing(
    tmp_path: Path, act: str, factor: str, more: dict[str, Any], held: bool, sentence: str
) -> None:
    info = make(tmp_path, **more)
    before = sorted(tmp_path.rglob("*"))
    if held:
        with hold(tmp_path), pytest.raises(InputError, match=sentence):
            ask_of(Watched(), tmp_path, info, act, factor)
    else:
        with pytest.raises(InputError, match=sentence):
            ask_of(Watched(), tmp_path, info, act, factor)
    assert sorted(tmp_path.rglob("*")) == before


def test_least_recently_requested_run_is_forgotten() -> None:
    watched = Watched()
    first = watched.reader(Path("0"))
    watched.before[Path("0")] = "1"
    assert watched.reader(Path("0")) is first
    for n in range(1, MAX_READERS + 1):
        watched.reader(Path(str(n)))
    assert watched.reader(Path("0")) is not first
    assert watched.before == {}
