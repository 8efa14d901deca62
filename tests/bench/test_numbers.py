# SPDX-License-Identifier: Apache-2.0
"""The page of benchmark numbers. Stored results with commands and intervals are inserted between the marks of the page."""

import pytest
from querytape.bench.numbers import (
    BEGIN,
    END,
    bench_text,
    between,
    cost_table,
    growth_points,
    not_linear,
    plain,
    spread,
)

BENCH = {
    "name": "capture_cost",
    "at": "2026-11-22T10:00:00",
    "version": "0.1.0 abc",
    "machine": {"cpu": "a processor", "cores": 2, "kernel": "6.1.0", "load": 0.25},
    "rounds": 2,
    "pairs": [
        {
            "title": "Something",
            "note": "It is said.",
            "ours": {
                "name": "ours",
                "command": "querytape x",
                "rounds": [{"s": 1.0, "MB": 5.0}, {"s": 3.0, "MB": 5.0}],
            },
            "peer": {"name": "theirs", "command": "other x", "rounds": [{"s": 2.0}, {"s": 2.0}]},
            "medians": {"ours": {"s": 2.0, "MB": 5.0}, "peer": {"s": 2.0}, "ratio": {"s": 1.0}},
        }
    ],
}


def test_benchmark_is_shown_with_commands_and_intervals() -> None:
    """The text shows the machine, the version and both commands. It shows the median with the lowest and highest round.
    It also shows the ratio of each round.
    """
    text = bench_text(BENCH)
    assert text.startswith("### `make bench only=capture-cost`\n")
    assert "2026-11-22; querytape 0.1.0 abc, a processor, 2 cores, Linux 6.1.0, load 0.2 before; 2 rounds." in text
    assert "- ours: `querytape x`\n- theirs: `other x`" in text
    assert "| figure | ours | theirs | ratio |" in text
    assert "| s | 2 (1 - 3) | 2 | 1 (0.5 - 1.5) |" in text
    assert "| MB | 5 |  |  |" in text
    assert text.rstrip().endswith("It is said.")


def test_capture_overhead_is_one_table() -> None:
    """Each row is a capture method, a load and a server. It shows the ratios, their spread, and the p99 of both sides.
    An unknown title is refused.
    """
    ours = [
        {"queries/s": 90.0, "p99 ms": 3.0, "CPU us/query": 11.0},
        {"queries/s": 80.0, "p99 ms": 5.0, "CPU us/query": 11.0},
    ]
    theirs = [{"queries/s": 100.0, "p99 ms": 2.0, "CPU us/query": 10.0}] * 2
    pair = {
        "title": "slow log: point selects on mysql-8.0 8.0.31, 8 connections",
        "ours": {"rounds": ours},
        "peer": {"rounds": theirs},
    }
    table = cost_table({**BENCH, "pairs": [pair]})
    assert "| slow log | point selects | mysql-8.0 8.0.31 | 0.85 (0.8 - 0.9) | 4 / 2 | 1.1 |" in table
    assert "; 2 rounds." in table
    with pytest.raises(ValueError, match="none of its own"):
        cost_table(BENCH)


def test_text_is_inserted_between_its_marks() -> None:
    """The text around the marks stays, and the old text between them is replaced. A page without marks is refused."""
    assert between(f"a {BEGIN} old {END} b", "new") == f"a {BEGIN}\n\nnew\n{END} b"
    with pytest.raises(ValueError, match="lacks"):
        between("a page", "new")
    assert between("<a>x<b>", "new", "<a>", "<b>") == "<a>\n\nnew\n<b>"


def test_shown_command_omits_folder_and_port_of_the_benchmark_run() -> None:
    assert plain("tcpdump -w /tmp/qt-bench-x1/live.pcap") == "tcpdump -w live.pcap"
    assert plain("--target mysql://null@127.0.0.1:4711 -o x.run") == "--target mysql://null@127.0.0.1:PORT -o x.run"


def test_numbers_keep_three_digits() -> None:
    """The interval of a number is shown only if the rounds differ."""
    assert spread([0.12345]) == "0.123"
    assert spread([1234.5, 1000.0]) == "1,117 (1,000 - 1,234)"
    assert spread([]) == ""


def test_cost_that_grows_with_size_is_named() -> None:
    """A cost is named if it grows by more than 10 % from the middle size to the largest."""
    figures = {"us at 20,000": 20.0, "us at 200,000": 5.0, "us at 2,000,000": 6.0, "x100 over x10": 1.2}
    pair = {
        "title": "Cost of an event as the work grows: report",
        "ours": {"name": "report"},
        "medians": {"ours": figures},
    }
    points = growth_points({"pairs": [pair]})
    assert [point["events"] for point in points] == [20_000, 200_000, 2_000_000]
    assert not_linear(points) == ["report"]
    assert not_linear([{**point, "us": 5.0} for point in points]) == []
