# SPDX-License-Identifier: Apache-2.0
"""Numbers with units. The output is short. Parsing is exact, and an invalid input is refused with a message."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from querytape.common import units

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0, "0.00µs"),
        (84_120, "84.1µs"),
        (1_230_000, "1.23ms"),
        (-1_230_000, "-1.23ms"),
        (12 * SECOND, "12.0s"),
        (1_234 * SECOND, "1,234s"),
    ],
)
def test_duration_is_shown_with_three_significant_digits(ns: int | None, text: str) -> None:
    assert units.duration(ns) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (85_000, "85µs"),
        (1_240_000, "1.2ms"),
        (340_000_000, "340ms"),
        (12 * SECOND, "12s"),
        (2 * SECOND, "2.0s"),
        (3 * 3600 * SECOND + 24 * 60 * SECOND, "3.4h"),
    ],
)
def test_short_duration_has_at_most_five_characters(ns: int | None, text: str) -> None:
    assert units.short_duration(ns) == text


def test_elapsed_time_is_shown_as_a_clock() -> None:
    """The clock has minutes and seconds. It has hours only if needed."""
    assert [units.clock(s * SECOND) for s in (-1, 0, 12, 754, 3723)] == ["0:00", "0:00", "0:12", "12:34", "1:02:03"]


def test_epoch_time_becomes_a_utc_date() -> None:
    """The date has milliseconds. A time beyond the calendar is shown as a number."""
    assert units.utc_time(1_718_000_000_123_999_999) == "2024-06-10 06:13:20.123"
    assert units.utc_time(2**62 * 100) == f"{2**62 * 100} ns"


def test_noun_after_the_number_1_has_no_plural_s() -> None:
    assert [units.plural(n, "event") for n in (0, 1, 2, 4340)] == ["0 events", "1 event", "2 events", "4,340 events"]


def test_counts_have_thousands_separators() -> None:
    """Counts also have a short form with a unit."""
    assert [units.count(value) for value in (None, 0, 1234567)] == ["-", "0", "1,234,567"]
    shorts = [units.short_count(value) for value in (0, 9_999, 12_345, 99_950, 1_200_000, 10**20)]
    assert shorts == ["0", "9999", "12.3k", "100k", "1.2M", "many"]


def test_sizes_seconds_ratios_and_percentages_have_units() -> None:
    assert units.megabytes(1_234_500_000) == "1,234 MB"
    assert units.megabytes(1_550_000, 1) == "1.6 MB"
    assert units.seconds(1_204_480_000_000) == "1,204.5 s"
    assert [units.ratio(value) for value in (None, 1.234, 1234.5)] == ["-", "x1.23", "x1,234"]
    assert [units.percent(1, 8), units.percent(1, 0)] == ["12.5%", "-"]


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.parse_duration, "500ms", SECOND // 2),
        (units.parse_duration, " 60 ".strip(), 60 * SECOND),
        (units.parse_duration, "0.1us", 100),
        (units.parse_duration, "0.1µs", 100),
        (units.parse_duration, "0.1\u03bcs", 100),
        (units.parse_duration, "1.5h", 5400 * SECOND),
        (units.parse_size, "256M", 256 << 20),
        (units.parse_size, "1GiB", 1 << 30),
        (units.parse_size, "17", 17),
        (units.parse_share, "10%", Fraction(1, 10)),
        (units.parse_share, "0.1", Fraction(1, 10)),
        (units.parse_share, "150%", Fraction(3, 2)),
        (units.parse_rate, "5/s", 5.0),
        (units.parse_rate, "30/m", 0.5),
        (units.parse_rate, "2", 2.0),
        (units.parse_zone, "+02:00", 7200 * SECOND),
        (units.parse_zone, "-0330", -12600 * SECOND),
        (units.parse_zone, "utc", 0),
        (units.parse_time, "1970-01-01 00:00:01", SECOND),
        (units.parse_time, "1970-01-01T02:00:00.000001+02:00", 1000),
        (units.parse_time, "1969-12-31 23:59:59.5", -SECOND // 2),
    ],
)
def test_command_line_values_are_parsed_exactly(parse: Callable[[str], Any], text: str, value: Any) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "wrong"),
    [
        (units.parse_duration, ("", "5 parsecs", "-1s", "1e3", "ms")),
        (units.parse_size, ("", "0", "0M", "1.5G", "many", "1T")),
        (units.parse_share, ("", "-10%", "ten", "1/0", "nan")),
        (units.parse_rate, ("", "0", "0/s", "-1/s", "5/d", "x", "1e9/s")),
        (units.parse_zone, ("", "02:00", "+2", "+16:00", "+02:60", "+02:00x", "Europe/Berlin")),
        (units.parse_time, ("", "yesterday", "2026-13-01")),
    ],
)
def test_refusal_of_an_invalid_value_shows_an_example(parse: Callable[[str], Any], wrong: tuple[str, ...]) -> None:
    """The message also contains the invalid text."""
    for text in wrong:
        with pytest.raises(ValueError, match="expected") as refused:
            parse(text)
        assert repr(text) in str(refused.value)


def test_displayed_percentages_add_up_to_100() -> None:
    """After rounding, the percentages are adjusted so that their sum is 100. If the total is 0, each percentage is
    shown as "-".
    """
    for parts in ([1, 1, 1], [2, 1, 0], [1, 999_999], [7], [1] * 7, [3, 3, 1], [10**18, 1, 1]):
        shown = units.whole_percents(parts)
        assert sum(int(text[:-1].replace(".", "")) for text in shown) == 1000, shown
        assert all(
            abs(float(text[:-1]) - 100 * part / sum(parts)) < 0.1 for text, part in zip(shown, parts, strict=True)
        )
    assert units.whole_percents([0, 0]) == ["-", "-"]
    assert units.whole_percents([]) == []


def test_unknown_or_small_average_is_not_shown_as_zero() -> None:
    assert [units.average(value, 2) for value in (None, 0, 0.004, 0.006, 1.256, 12345)] == [
        "unknown", "0.00", "less than 0.01", "0.01", "1.26", "12,345.00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "address", "again"),
    [
        (":9464", ("127.0.0.1", 9464), "127.0.0.1:9464"),
        ("9464", ("127.0.0.1", 9464), "127.0.0.1:9464"),
        ("0.0.0.0:0", ("0.0.0.0", 0), "0.0.0.0:0"),
        ("here.example:65535", ("here.example", 65535), "here.example:65535"),
        ("[::1]:80", ("::1", 80), "[::1]:80"),
    ],
)
def test_host_and_port_addresses_are_parsed(text: str, address: tuple[str, int], again: str) -> None:
    """An address without a host means 127.0.0.1. An IPv6 address is in brackets."""
    assert units.parse_address(text) == address
    assert units.parse_address(units.address_text(*address)) == address
    assert units.address_text(*address) == again


@pytest.mark.parametrize(
    "text", ["", ":", "host", "host:", "host:65536", "host:-1", "host:x", "::1:80", "host:\u0663", "[::1]"]
)
def test_address_without_a_valid_port_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        units.parse_address(text)


@pytest.mark.parametrize(
    ("shown", "read"),
    [
        ("50.0µs, 5 µs.", "50.0us, 5 us."),
        ("took 250µs -> 120ms", "took 250us -> 120ms"),
        ("select 5µsec from µs", "select 5µsec from µs"),
    ],
)
def test_micro_sign_after_a_number_becomes_u(shown: str, read: str) -> None:
    """Only the micro sign of a unit is replaced. Names keep their micro signs."""
    assert units.plain_micro(shown) == read
