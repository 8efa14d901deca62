# SPDX-License-Identifier: Apache-2.0
"""Tests of option types: accepted values and error messages."""

from fractions import Fraction
from typing import Any

import click
import pytest
from querytape.cli.param_types import Address, Duration, Levels, Moment, Pair, Part, Share, Size, Speed, TimeZone

DAY = 1_763_596_800_000_000_000  # 2025-11-20


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (Address(), ":9464", ("127.0.0.1", 9464)),
        (Address(), "0", ("127.0.0.1", 0)),
        (Address(), "[::1]:80", ("::1", 80)),
        (Duration(), "500ms", 500_000_000),
        (Duration(), "2", 2_000_000_000),
        (Share(), "10%", Fraction(1, 10)),
        (Part(), "10%", Fraction(1, 10)),
        (Part(), "1.0", Fraction(1)),
        (Part(), "1", 1),
        (Size(), "256M", 256 << 20),
        (TimeZone(), "-03:30", -12_600_000_000_000),
        (Moment(), "2025-11-20", DAY),
        (Moment(relative=True), "2025-11-20", (False, DAY)),
        (Moment(relative=True), "+10m", (True, 600_000_000_000)),
        (Speed(), "3/2", Fraction(3, 2)),
        (Pair(), "a=b", ("a", "b")),
        (Levels(), "1,2,4,...,16", (1, 2, 4, 8, 16)),
        (Levels(growing=False), "64,1", (64, 1)),
    ],
)
def test_option_type_converts_text_and_keeps_values(type_: click.ParamType[Any], text: str, value: object) -> None:
    """click converts default values twice, so a converted value must stay unchanged."""
    assert type_.convert(text, None, None) == value
    assert type_.convert(value, None, None) == value


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        (Address(), "localhost", "expected HOST:PORT or :PORT, such as :9464"),
        (Duration(), "soon", "expected a duration such as 500ms, 60s or 2m"),
        (Share(), "some", "expected a share such as 10% or 0.1"),
        (Part(), "0", "expected a share such as 10% or 0.1, or a number of at least 1"),
        (Part(), "110%", "expected a share such as 10% or 0.1, or a number of at least 1"),
        (Part(), "some", "expected a share such as 10% or 0.1"),
        (Size(), "0", "expected a size such as 256M or 1G"),
        (TimeZone(), "+25:00", "expected an offset such as +02:00, UTC, or a time zone name"),
        (Moment(), "+10m", "expected a time such as"),
        (Moment(relative=True), "+soon", "expected a duration such as"),
        (Speed(), "fast", "expected a number such as"),
        (Pair(), "a", "expected two names, such as a=b"),
        (Levels(), "4,2", "expected increasing numbers such as 1,2,4,...,64"),
        (Levels(growing=False), "0", "expected numbers such as 1,8,64"),
    ],
)
def test_invalid_option_text_error_shows_a_valid_form(type_: click.ParamType[Any], text: str, expected: str) -> None:
    with pytest.raises(click.BadParameter, match=r"expected") as caught:
        type_.convert(text, None, None)
    assert expected in caught.value.message
