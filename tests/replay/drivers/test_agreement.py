# SPDX-License-Identifier: Apache-2.0
"""Options that differ are named, and no value is told."""

from fractions import Fraction
from pathlib import Path

from querytape.replay.drivers.agreement import OWN, differing, prints_of
from querytape.replay.options import ReplayOptions
from querytape.replay.plan.pacing import Pace
from querytape.servers.target import parse_target

HERE = parse_target("mysql://root@127.0.0.1:1/shop", environ={})
THERE = parse_target("mysql://app@10.0.0.1:1/shop", environ={})
KEY = b"k" * 32


def test_what_differs_is_named() -> None:
    """Each host's own login and memory may differ, what is sent and when may not."""
    lead = ReplayOptions(HERE, Path("a"), queue_bytes=5, sample_ns=0, init=("SET @secret = 1",))
    same = ReplayOptions(THERE, Path("b"), queue_bytes=9, start_at_ns=7, init=("SET @secret = 1",))
    assert differing(prints_of(lead, KEY), prints_of(same, KEY)) == []
    other = ReplayOptions(THERE, Path("b"), pace=Pace(speed=Fraction(2)), init=("SET @secret = 2",), reads_to=HERE)
    assert differing(prints_of(lead, KEY), prints_of(other, KEY)) == ["init", "reads_to", "speed"]
    assert differing(prints_of(lead, KEY), {}) == sorted(prints_of(lead, KEY))
    assert prints_of(lead, KEY).keys() & OWN == {"reads_to"}


def test_no_value_is_told() -> None:
    """With another key all are others: a value can't be looked up in a table."""
    given = ReplayOptions(HERE, Path("a"), init=("SET @secret = 1",))
    mine = prints_of(given, KEY)
    assert "secret" not in str(mine)
    assert all(mine[name] != theirs for name, theirs in prints_of(given, b"j" * 32).items())
