# SPDX-License-Identifier: Apache-2.0
"""The page of numbers: what the benches kept, with commands and intervals, between its marks."""

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


def test_a_bench_is_shown_with_commands_and_intervals() -> None:
    """Machine and version, both commands, the median with the lowest and highest round, the ratio round by round."""
    text = bench_text(BENCH)
    assert text.startswith("### `make bench only=capture-cost`\n")
    assert "2026-11-22; querytape 0.1.0 abc, a processor, 2 cores, Linux 6.1.0, load 0.2 before; 2 rounds." in text
    assert "- ours: `querytape x`\n- theirs: `other x`" in text
    assert "| figure | ours | theirs | ratio |" in text
    assert "| s | 2 (1 - 3) | 2 | 1 (0.5 - 1.5) |" in text
    assert "| MB | 5 |  |  |" in text
    assert text.rstrip().endswith("It is said.")


def test_what_capturing_costs_is_one_table() -> None:
    """A row for each way, load and server: ratios with their spread, p99 of both sides; another title is refused."""
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


def test_the_text_goes_between_its_marks() -> None:
    """What stands around it stays, what was there goes; a page without marks is refused."""
    assert between(f"a {BEGIN} old {END} b", "new") == f"a {BEGIN}\n\nnew\n{END} b"
    with pytest.raises(ValueError, match="lacks"):
        between("a page", "new")
    assert between("<a>x<b>", "new", "<a>", "<b>") == "<a>\n\nnew\n<b>"


def test_a_command_names_no_folder_or_port_of_its_run() -> None:
    """They differ from run to run."""
    assert plain("tcpdump -w /tmp/qt-bench-x1/live.pcap") == "tcpdump -w live.pcap"
    assert plain("--target mysql://null@127.0.0.1:4711 -o x.run") == "--target mysql://null@127.0.0.1:PORT -o x.run"


def test_numbers_keep_three_digits() -> None:
    """And an interval only where the rounds differ."""
    assert spread([0.12345]) == "0.123"
    assert spread([1234.5, 1000.0]) == "1,117 (1,000 - 1,234)"
    assert spread([]) == ""


def test_a_cost_that_grows_is_named() -> None:
    """From the middle size to the largest, by over a tenth."""
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
