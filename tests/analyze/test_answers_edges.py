# SPDX-License-Identifier: Apache-2.0
"""Single analyses at the values where a rule begins: order of rows, warm-up, rare quantiles, stalls, pairs, rounds."""

import math
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import Settings, build

from tests.helpers.reports import D1, D2
from tests.helpers.runs import make_run
from tests.helpers.simulated import write_digests
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow


def test_the_most_frequent_comes_first(tmp_path: Path) -> None:
    """Errors and other results by how often they are; equal ones by number and digest; A before B."""
    numbers = [1064] * 2 + [1146] * 3 + [1054] * 3 + [0] * 6
    digests = [D1] * 8 + [D1] * 2 + [D2] * 4
    events = [{"statement": b"SELECT 1", "digest": digest, "errno": 0} for digest in digests]
    tape = make_tape(tmp_path / "t.tape", events, known_columns=["errno"])
    write_digests(tape, {D1: "select a", D2: "select b"})
    sides = []
    for side in range(2):
        outcomes = [
            {"errno": n, "rows_sent": None if n else 1 + side * (i % 2 or i > 11)} for i, n in enumerate(numbers)
        ]
        for row in outcomes[:1] if side == 0 else []:
            row.update(errno=0, rows_sent=1)
        sides.append(make_run(tmp_path / f"{side}.run", tape, outcomes))
    answers = build(tape, sides[:1], sides[1:]).answers
    counts = [(row["run"], row["errno"], row["events"]) for row in answers["error_counts"]]
    assert counts == [("a", 1054, 3), ("a", 1146, 3), ("a", 1064, 1), ("b", 1054, 3), ("b", 1146, 3), ("b", 1064, 2)]
    assert [(row["digest"], row["events"], row["more_sent"]) for row in answers["results"]] == [(D2, 3, 3), (D1, 1, 1)]
    assert [(row["what"], row["events"]) for row in answers["errors"]] == [
        ("new", 1),
        ("both", 3),
        ("both", 3),
        ("both", 1),
    ]
    assert answers["failed_everywhere"][0]["succeeded_errno"] == 1054  # of equally frequent ones the smaller number


def test_what_has_no_text_is_compared(tmp_path: Path) -> None:
    """A digest whose text is not on the tape, and a statement without a digest, are counted as all others are."""
    digests = [D1, D2, None, None]
    tape = make_tape(tmp_path / "t.tape", [{"statement": b"SELECT 1", "digest": digest} for digest in digests])
    write_digests(tape, {D1: "select a"})
    sides = [
        make_run(tmp_path / f"{side}.run", tape, [{"rows_sent": side, "errno": side * (n == 3)} for n in range(4)])
        for side in range(2)
    ]
    answers = build(tape, sides[:1], sides[1:]).answers
    assert {(row["digest"], row["events"]) for row in answers["results"]} == {(D1, 1), (D2, 1), (None, 1)}
    assert [(row["digest"], row["events"]) for row in answers["errors"]] == [(None, 1)]
    assert {row["digest"] for row in answers["digests"]} == {D1, D2}


def test_a_warm_up_ends_with_its_last_moment(tmp_path: Path) -> None:
    """What is sent when the warm-up is over is measured; what came before is counted, and not measured."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": b"SELECT 1", "digest": D1} for _ in range(6)])
    write_digests(tape, {D1: "select a"})
    run = make_run(tmp_path / "a.run", tape, [{"rows_sent": 1, "done_ns": n * MS + (n + 1) * 1000} for n in range(6)])
    total = build(tape, [run], settings=Settings(skip_ns=3 * MS)).answers["totals"][0]
    assert (total["executed"], total["service_ns"], total["service_max_ns"]) == (6, 4000 + 5000 + 6000, 6000)
    whole = build(tape, [run]).answers["totals"][0]
    assert whole["service_ns"] == 21_000


@pytest.mark.sampled
@pytest.mark.parametrize("n", [9_999, 10_000])
def test_a_rare_quantile_needs_events(tmp_path: Path, n: int) -> None:
    """p99.9 is shown where ten events are beyond it, of the run and of a digest."""
    columns = "1 AS session, range + 1 AS seq, 'query' AS command, 1000 AS precision_ns, 0 AS file, 0 AS flags"
    tape = make_tape(
        tmp_path / "t.tape",
        f"SELECT {columns}, {T0} + range * 1000 AS start_ns, range AS \"offset\", 'SELECT 1'::BLOB AS statement,"
        f" 'read' AS class, '{D1}' AS digest FROM range({n})",
    )
    write_digests(tape, {D1: "select a"})
    run = make_run(
        tmp_path / "a.run",
        tape,
        "SELECT 1 AS session, range + 1 AS seq, 0 AS clone, range * 1000 AS due_ns, due_ns AS sent_ns,"
        f" due_ns + range + 1 AS done_ns, 'executed' AS status, 0 AS errno FROM range({n})",
    )
    answers = build(tape, [run]).answers
    found = (answers["totals"][0]["service_p999_ns"], answers["digests"][0]["p999_ns"])
    assert found == ((9990, 9990) if n == 10_000 else (None, None))
    assert answers["totals"][0]["service_p99_ns"] == math.ceil(0.99 * n)


def stalls(tmp_path: Path, slow: list[tuple[int, int]], every: int = 5, answered: range = range(0)) -> list[Any]:
    """Return (at, long) in tenths of a second of the stalls of a run that answers every few ms but from 4 to 5 s.

    `slow`: (sent, answered) in ms of other statements; `answered`: when some are answered in that second all the same.
    """
    calm = [ms for ms in range(0, 9000, every) if not 4000 <= ms < 5000 or ms in answered]
    rows = sorted([(ms, ms + 1, D1) for ms in calm] + [(*pair, D2) for pair in slow])
    events = [{"statement": b"SELECT 1", "digest": digest, "start_ns": T0 + ms * MS} for ms, _, digest in rows]
    outcomes = [{"due_ns": sent * MS, "sent_ns": sent * MS, "done_ns": done * MS} for sent, done, _ in rows]
    tape = make_tape(tmp_path / "t.tape", events)
    found = build(tape, [make_run(tmp_path / "a.run", tape, outcomes)]).answers["stalls"]
    return [(row["at_ns"] // (100 * MS), row["long_ns"] // (100 * MS)) for row in found]


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("slow", "every", "answered", "wanted"),
    [
        ([], 5, range(0), []),  # nobody waited: the traffic paused
        ([(3990, 4995)], 5, range(0), [(40, 10)]),  # one that waited is enough where nothing is answered
        ([(3990, 4995)], 5, range(4000, 5000, 10), []),  # half as many are answered: no stall
        ([(3990, 4995)], 5, range(4000, 5000, 20), [(40, 10)]),  # a quarter as many
        ([(3990, 4995)], 40, range(0), []),  # two or three in a tenth of a second are too few to tell
        ([(4005, 4095)], 5, range(0), []),  # shorter than a tenth of a second
        ([(6010, 6150)] * 3, 5, range(4000, 5000, 5), [(61, 1)]),  # three that took long beside others
        ([(6010, 6150)] * 2, 5, range(4000, 5000, 5), []),
    ],
)
def test_what_a_stall_is(
    tmp_path: Path, slow: list[tuple[int, int]], every: int, answered: range, wanted: list[tuple[int, int]]
) -> None:
    """Few answers while statements wait, or three that take ten times as long; a pause of the traffic is none."""
    assert stalls(tmp_path, slow, every, answered) == wanted


@pytest.mark.sampled
@pytest.mark.parametrize(("paired", "flag"), [(5, True), (4, False)])
def test_half_of_the_events_make_pairs(tmp_path: Path, paired: int, flag: bool) -> None:
    """Where fewer than half of the smaller side's events have a partner, the sides are compared as a whole."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": b"SELECT 1", "digest": D1} for _ in range(30)])
    write_digests(tape, {D1: "select a"})
    failed = {"errno": 1146, "rows_sent": None}
    a = [{} if n < 10 else failed for n in range(30)]
    b = [{"done_ns": n * MS + MS} if 10 - paired <= n < 20 - paired + 10 else failed for n in range(30)]
    runs = [make_run(tmp_path / f"{name}.run", tape, outcomes) for name, outcomes in (("a", a), ("b", b))]
    report = build(tape, runs[:1], runs[1:])
    assert report.answers["pairs"][0]["n"] == paired
    assert (shift := report.digests[0]["shift"])
    assert shift["paired"] is flag


def test_rounds_are_measured_against_the_first(tmp_path: Path) -> None:
    """A round's level is that of its digests over those of A's first round, weighted by events; each round is its own."""
    texts = {D1: "select a", D2: "select b"}
    events = [{"statement": b"SELECT 1", "digest": D1 if n % 4 else D2} for n in range(40)]
    tape = make_tape(tmp_path / "t.tape", events)
    write_digests(tape, texts)
    factors = {("a", 1): (1, 1), ("a", 2): (2, 1), ("b", 1): (4, 2), ("b", 2): (1, 8)}
    runs = {}
    for (side, number), pair in factors.items():
        rows = [{"done_ns": n * MS + 1000 * (pair[0] if n % 4 else 10 * pair[1])} for n in range(40)]
        if (side, number) == ("b", 2):
            rows[39].update(errno=1146)
        runs[side, number] = make_run(tmp_path / f"{side}{number}.run", tape, rows)
    answers = build(tape, [runs["a", 1], runs["a", 2]], [runs["b", 1], runs["b", 2]]).answers
    found = {(row["run"], row["round"]): row for row in answers["rounds"]}
    assert list(found) == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert found["a", 1]["relative_latency"] == pytest.approx(1)
    assert found["a", 2]["relative_latency"] == pytest.approx(2**0.75)
    assert found["b", 1]["relative_latency"] == pytest.approx(4**0.75 * 2**0.25)
    assert found["b", 2]["relative_latency"] == pytest.approx(8 ** (10 / 39))
    assert (found["b", 2]["executed"], found["b", 2]["errors"], found["b", 1]["errors"]) == (40, 1, 0)
    span = (39 * MS + 1000 * 4) / 1e9
    assert found["b", 1]["per_second"] == pytest.approx(40 / span)
    assert (found["a", 1]["p50_ns"], found["a", 1]["p95_ns"], found["a", 2]["p50_ns"]) == (1000, 10_000, 2000)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("between_ns", "pairs"), [(20 * MS, 1), (100 * MS, 2), (1000 * MS, 10)], ids=["0.2 s", "1 s", "10 s"]
)
def test_pairs_of_one_half_second_are_one(tmp_path: Path, between_ns: int, pairs: int) -> None:
    """Ten pairs of a run of half a second share what the machine did: they are not ten witnesses, however short the
    blocks of its time are. Of two rounds the moments are apart."""
    events = [{"statement": b"SELECT 1", "digest": D1, "start_ns": T0 + n * MS} for n in range(10)]
    tape = make_tape(tmp_path / "t.tape", events)
    write_digests(tape, {D1: "select a"})
    runs: dict[str, list[Path]] = {}
    for side, took in (("a", MS), ("b", 9 * MS)):
        rows = [{"sent_ns": n * between_ns, "done_ns": n * between_ns + took} for n in range(10)]
        runs[side] = [make_run(tmp_path / f"{side}{number}.run", tape, rows) for number in (1, 2)]
    words = [
        build(tape, runs["a"][:rounds], runs["b"][:rounds], Settings(undisturbed=True)).digests[0] for rounds in (1, 2)
    ]
    assert [entry["verdict"] for entry in words] == (["slower"] * 2 if pairs == 10 else ["cannot tell"] * 2)
    compared = {1: "compared once", 2: "compared 2 times", 10: "compared 10 times"}[pairs]
    assert compared in words[0]["why"]
    assert f"compared {2 * pairs} times" in words[1]["why"]
