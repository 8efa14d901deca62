# SPDX-License-Identifier: Apache-2.0
"""Tests of the choice between live view and progress lines."""

import os
import sys
from typing import Any

import click
import pytest
from querytape.cli.live_lines import LiveLines
from querytape.cli.live_view import LiveView
from querytape.cli.replay_settings import parse_replay_options
from querytape.cli.watchers import level_watcher, may_draw, run_watcher
from querytape.replay import Watcher


class Window:
    """A replacement for stderr, with or without a terminal."""

    encoding = "utf-8"

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def window(patch: pytest.MonkeyPatch, columns: int, rows: int, term: str | None, terminal: bool = True) -> None:
    """Replace stderr by a terminal window of this size."""
    patch.setattr(sys, "stderr", Window(terminal))
    patch.setattr(os, "get_terminal_size", lambda descriptor: os.terminal_size((columns, rows)))
    if term is None:
        patch.delenv("TERM", raising=False)
    else:
        patch.setenv("TERM", term)


@pytest.mark.parametrize(
    ("columns", "rows", "term", "terminal", "wanted", "drawn"),
    [
        (80, 24, "xterm", True, True, True),
        (40, 10, "linux", True, True, True),
        (80, 24, "xterm", True, False, False),
        (80, 24, "xterm", False, True, False),
        (39, 24, "xterm", True, True, False),
        (80, 9, "xterm", True, True, False),
        (80, 24, "dumb", True, True, False),
        (80, 24, "unknown", True, True, False),
        (80, 24, "", True, True, False),
        (80, 24, None, True, True, False),
    ],
)
def test_live_view_needs_a_capable_and_large_enough_terminal(
    columns: int,
    rows: int,
    term: str | None,
    terminal: bool,
    wanted: bool,
    drawn: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """--no-live disables the live view. In a pipe, FORCE_COLOR does not enable the view."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    window(monkeypatch, columns, rows, term, terminal)
    otherwise = Watcher()
    found: list[Any] = [may_draw(wanted), run_watcher(wanted), level_watcher(wanted, (1, 2), otherwise)]
    monkeypatch.undo()
    assert found[0] == drawn
    assert type(found[1]) is (LiveView if drawn else LiveLines)
    assert (found[2] is otherwise) != drawn


def test_heading_of_a_sweep_level_comes_from_the_run_name(monkeypatch: pytest.MonkeyPatch) -> None:
    window(monkeypatch, 80, 24, "xterm")
    view = level_watcher(True, (1, 4, 16), Watcher())
    monkeypatch.undo()
    assert isinstance(view, LiveView)
    assert view._heading("1.run") == "level 1 of 3: 1 concurrent session"
    assert view._heading("16.run") == "level 3 of 3: 16 concurrent sessions"


def test_no_live_option_after_the_double_dash_is_refused() -> None:
    """`compare` has its own option --no-live. Among the options of its replays, --no-live would have no effect."""
    with pytest.raises(click.UsageError, match="--no-live applies to the whole command"):
        parse_replay_options(["--target", "mysql://app@db", "-o", "x.run", "--no-live"])
