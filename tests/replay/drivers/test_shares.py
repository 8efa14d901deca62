# SPDX-License-Identifier: Apache-2.0
"""Tests of shares: each tape of a set belongs to one driver, and a driver's share is read as one tape."""

from fractions import Fraction
from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.replay.drivers.shares import (
    OWN,
    deal,
    differing,
    part_of,
    part_options,
    prints_of,
    refuse_what_needs_all,
    share_id,
    sharing_sentence,
    tapes_of,
)
from querytape.replay.options import ReplayOptions
from querytape.replay.plan.pacing import Pace
from querytape.replay.plan.selection import Selection
from querytape.replay.plan.table_uses import UNKNOWN, TableUse
from querytape.schemas import open_folder, tape_id
from querytape.servers.target import parse_target

from tests.helpers.duck import database
from tests.helpers.primes import EVENTS, PRIMES, prime_set

OPTIONS = ReplayOptions(parse_target("mysql://root@127.0.0.1:1/shop", environ={}), Path("x.run"))
HERE = parse_target("mysql://root@127.0.0.1:1/shop", environ={})
THERE = parse_target("mysql://app@10.0.0.1:1/shop", environ={})
KEY = b"k" * 32


def test_each_tape_belongs_to_one_driver(tmp_path: Path) -> None:
    """The shares have similar numbers of events. More drivers than tapes are refused."""
    whole = open_folder("tape", prime_set(tmp_path, 7))
    shares = deal(whole, 3)
    assert sorted(name for mine in shares for name in mine) == [tape.path.name for tape in tapes_of(whole)]
    events = [int(part_of(whole, mine).info["counts"]["events"]) for mine in shares]
    assert sum(events) == EVENTS
    assert max(events) <= 1.5 * min(events)
    with pytest.raises(
        InputError,
        match=r"8 drivers need at least 8 tapes, found a set of 7 tapes.*querytape tape deal .* 8 -o primes-8.set",
    ):
        deal(whole, 8)
    alone = open_folder("tape", tmp_path / "primes.tape")
    assert deal(alone, 1) == [["primes.tape"]]
    with pytest.raises(InputError, match="2 drivers need at least 2 tapes, found one tape"):
        deal(alone, 2)


def test_each_deal_of_a_tape_has_its_own_id(tmp_path: Path) -> None:
    """The same deal in another folder has the same id."""
    ids = []
    for number, tapes in enumerate((3, 4, 3)):
        (tmp_path / str(number)).mkdir()
        ids.append(share_id(open_folder("tape", prime_set(tmp_path / str(number), tapes))))
    assert ids[0] == ids[2] != ids[1]
    tape = open_folder("tape", tmp_path / "0" / "primes.tape")
    (tmp_path / "0" / "primes.tape").rename(tmp_path / "moved.tape")
    assert share_id(tape) == share_id(open_folder("tape", tmp_path / "moved.tape"))


def test_share_of_a_tape_set_is_read_as_one_tape(tmp_path: Path) -> None:
    """A share has the sessions of its tapes with their original numbers. It has the identity of the whole tape set."""
    whole = open_folder("tape", prime_set(tmp_path, 5))
    seen: list[int] = []
    for mine in deal(whole, 2):
        part = part_of(whole, mine)
        assert tape_id(part.info) == tape_id(whole.info)
        with database() as con:
            sessions = [row[0] for row in con.execute(f"SELECT session FROM {part.source('sessions')}").fetchall()]
            events = con.execute(f"SELECT count(*) FROM {part.source('events')}").fetchall()[0][0]
        assert (events, len(sessions)) == (part.info["counts"]["events"], part.info["counts"]["sessions"])
        assert events == 2 * sum(PRIMES[session - 1] for session in sessions)
        seen += sessions
    assert sorted(seen) == list(range(1, len(PRIMES) + 1))
    with pytest.raises(InputError, match=r"expected the tapes 01\.tape, 99\.tape"):
        part_of(whole, ["01.tape", "99.tape"])
    alone = open_folder("tape", tmp_path / "primes.tape")
    assert part_of(alone, ["called otherwise there.tape"]) is alone


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("max_concurrent_sessions", {"max_concurrent_sessions": 3, "pace": Pace("none")}),
        ("--sessions NUMBER", {"selection": Selection(max_sessions=3)}),
        ("--max-errors", {"max_errors": 0}),
        ("--max-idle", {"pace": Pace(max_idle_ns=0)}),
        ("--allow-statement kill", {"allow_statements": frozenset({"kill"})}),
    ],
)
def test_options_that_need_all_sessions_are_refused(name: str, given: dict[str, object]) -> None:
    """A single driver has all sessions, so it accepts options that need all sessions."""
    options = ReplayOptions(OPTIONS.target, OPTIONS.output, **given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"^{name} cannot be used with several drivers"):
        refuse_what_needs_all(options, 2)
    refuse_what_needs_all(options, 1)
    refuse_what_needs_all(OPTIONS, 9)


def test_only_the_lead_samples_the_target() -> None:
    """The allowed connections per second are divided among the drivers. Only the lead reads counters and query plans of
    the target.
    """
    mine = part_options(OPTIONS, 4, output=Path("part"))
    assert (mine.connect_rate, mine.sample_ns, mine.query_plans, mine.schema_facts) == (125, 0, False, False)
    assert (mine.output, mine.target) == (Path("part"), OPTIONS.target)
    assert part_options(OPTIONS, 1000).connect_rate == 1


def test_different_options_are_named() -> None:
    """Hosts may have a different login and memory limit. The sent events and their times must be equal."""
    lead = ReplayOptions(HERE, Path("a"), queue_bytes=5, sample_ns=0, init=("SET @secret = 1",))
    same = ReplayOptions(THERE, Path("b"), queue_bytes=9, start_at_ns=7, init=("SET @secret = 1",))
    assert differing(prints_of(lead, KEY), prints_of(same, KEY)) == []
    other = ReplayOptions(THERE, Path("b"), pace=Pace(speed=Fraction(2)), init=("SET @secret = 2",), reads_to=HERE)
    assert differing(prints_of(lead, KEY), prints_of(other, KEY)) == ["init", "reads_to", "speed"]
    assert differing(prints_of(lead, KEY), {}) == sorted(prints_of(lead, KEY))
    assert prints_of(lead, KEY).keys() & OWN == {"reads_to"}


def test_fingerprints_hide_the_values() -> None:
    """A different key of `--join-key` changes the fingerprint of every option value. A precomputed table of
    fingerprints is therefore useless.
    """
    given = ReplayOptions(HERE, Path("a"), init=("SET @secret = 1",))
    mine = prints_of(given, KEY)
    assert "secret" not in str(mine)
    assert all(mine[name] != theirs for name, theirs in prints_of(given, b"j" * 32).items())


def test_sentence_about_shared_tables_names_them_or_the_unknown_statements() -> None:
    """Drivers that share nothing do not wait for each other."""
    a, b = TableUse("s", "a", locks=True), TableUse("s", "b", locks=True)
    assert sharing_sentence([[a], [b], []]) is None
    assert str(sharing_sentence([[a, b], [b, a]])).endswith("one of them writes or locks: s.a, s.b")
    assert "the tables of some statements are unknown" in str(
        sharing_sentence([[TableUse(None, UNKNOWN, locks=True)], [b]])
    )
