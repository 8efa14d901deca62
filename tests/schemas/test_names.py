# SPDX-License-Identifier: Apache-2.0
"""Names of the tape format and their numbers, which never overlap."""

from querytape.schemas import CLASSES, COMMANDS, DANGERS, FLAGS
from querytape.schemas.names import SHIFT_DANGER


def test_flags_are_single_bits_below_the_danger_code() -> None:
    """No flag uses a bit of the danger code."""
    assert len(set(FLAGS.values())) == len(FLAGS)
    assert all(bit.bit_count() == 1 and bit < 1 << SHIFT_DANGER for bit in FLAGS.values())


def test_danger_codes_fit_into_one_byte() -> None:
    """Danger codes are unique numbers from 0 to 255. The code 0 means no danger."""
    assert DANGERS["none"] == 0
    assert sorted(set(DANGERS.values())) == sorted(DANGERS.values())
    assert max(DANGERS.values()) < 256


def test_numbers_of_commands_and_classes_are_unique() -> None:
    assert sorted(COMMANDS.values()) == list(range(1, len(COMMANDS) + 1))
    assert len(set(CLASSES)) == len(CLASSES)
