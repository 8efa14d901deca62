# SPDX-License-Identifier: Apache-2.0
"""Captures from Python. The kind of source is given by name or detected."""

from pathlib import Path

import pytest
from querytape.capture import Settings
from querytape.capture.library import capture
from querytape.common.errors import InputError

LOG = """\
# User@Host: app[app] @ web [10.0.0.5]  Id:     5
# Query_time: 0.002000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 0
SET timestamp=1795176000;
SELECT 1;
"""


@pytest.mark.parametrize("kind", [None, "slowlog"])
def test_capture_returns_the_written_tape(kind: str | None, tmp_path: Path) -> None:
    """The input is either one file or a list of files."""
    (tmp_path / "slow.log").write_text(LOG, encoding="utf-8")
    one = capture(tmp_path / "slow.log", tmp_path / "one.tape", kind, Settings())
    listed = capture([str(tmp_path / "slow.log")], tmp_path / "listed.tape", kind)
    for tape in (one, listed):
        assert tape.events().aggregate("count(*)").fetchall() == [(1,)]


def test_invalid_capture_arguments_are_refused(tmp_path: Path) -> None:
    """The call gives neither files nor a kind, or it gives an unknown kind."""
    with pytest.raises(InputError, match="expected files to capture, or the kind of a live source"):
        capture([], tmp_path / "x.tape")
    with pytest.raises(InputError, match="'tarot': expected one of packets"):
        capture("x", tmp_path / "x.tape", kind="tarot")
