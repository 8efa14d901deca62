# SPDX-License-Identifier: Apache-2.0
"""Names of the tape: their numbers never overlap."""

from querytape.schemas import CLASSES, COMMANDS, DANGERS, FLAGS
from querytape.schemas.names import SHIFT_DANGER


def test_flags_are_single_bits_below_the_dangers() -> None:
    """Each flag is a bit of its own, and none reaches the bits of the danger code."""
    assert len(set(FLAGS.values())) == len(FLAGS)
    assert all(bit.bit_count() == 1 and bit < 1 << SHIFT_DANGER for bit in FLAGS.values())


def test_dangers_fit_into_their_byte() -> None:
    """Danger codes are 0 to 255, each its own; 0 is none."""
    assert DANGERS["none"] == 0
    assert sorted(set(DANGERS.values())) == sorted(DANGERS.values())
    assert max(DANGERS.values()) < 256


def test_commands_and_classes_have_no_number_twice() -> None:
    """Names and numbers of commands, and names of classes, are unique."""
    assert sorted(COMMANDS.values()) == list(range(1, len(COMMANDS) + 1))
    assert len(set(CLASSES)) == len(CLASSES)
