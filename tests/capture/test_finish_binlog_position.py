# SPDX-License-Identifier: Apache-2.0
"""A tape uses a binary log position only if the position was read before the tape's first event or at its time."""

from typing import Any

import pytest
from querytape.capture.finish import position_sentence, without_late_position

FIRST_NS = 1_795_331_908_872_836_000  # 2026-11-22 07:18:28.872836 UTC
POSITION = {"binlog": {"file": "b.000002", "position": 157}, "gtid": "a:1-7"}


@pytest.mark.parametrize(
    ("at", "usable"),
    [
        ("2026-11-22T07:18:28.872836+00:00", True),
        ("2026-11-22T07:18:28.872837+00:00", False),
        ("2026-11-22T07:18:28+00:00", True),
        ("2026-11-22T08:18:28+01:00", True),
        ("2026-11-22T07:18:29+00:00", False),
        ("2026-11-22T07:18:28", False),
        ("some day", False),
        (None, False),
    ],
)
def test_late_binlog_position_is_not_used(at: str | None, usable: bool) -> None:
    """Times are compared with a resolution of one microsecond. A position with an invalid time, or with a time without
    a zone, is not used.
    """
    server = {"identity": "A", "at": at, **POSITION}
    kept = without_late_position(server, FIRST_NS)
    assert kept is not None
    if usable:
        assert kept == server
        assert position_sentence(kept, FIRST_NS) is None
    else:
        assert (kept["binlog"], kept["gtid"], kept["identity"]) == (None, None, "A")
        assert kept["unusable_position"] == {**POSITION, "at": at}
        said = position_sentence(kept, FIRST_NS)
        assert said is not None
        assert "--stop-datetime='2026-11-22 07:18:28'" in said


@pytest.mark.parametrize("server", [None, {}, {"identity": "A", "binlog": None, "gtid": None, "at": None}])
def test_missing_binlog_position_gives_no_message(server: dict[str, Any] | None) -> None:
    assert without_late_position(server, FIRST_NS) == server
    assert position_sentence(server, FIRST_NS) is None
