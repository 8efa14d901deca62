# SPDX-License-Identifier: Apache-2.0
"""A tape's summary as JSON."""

import json
from pathlib import Path

from querytape.analyze import compare_tapes, summarise_tape, tape_difference_json, tape_summary_json


def test_only_lists_that_grow_with_the_tape_are_cut(small_paths: tuple[Path, Path, Path]) -> None:
    shown = json.loads(tape_summary_json(summarise_tape(small_paths[0]), 1))
    assert shown["path"] == str(small_paths[0])
    assert shown["measuring_point"] == "server"
    assert (len(shown["digests"]), len(shown["accounts"]), len(shown["classes"])) == (1, 1, 3)


def test_two_tapes_have_both_paths_both_totals_and_the_digests(small_paths: tuple[Path, Path, Path]) -> None:
    shown = json.loads(tape_difference_json(compare_tapes(small_paths[0], small_paths[0]), 2))
    assert shown["tapes"] == [str(small_paths[0])] * 2
    assert (len(shown["totals"]), len(shown["digests"])) == (2, 2)
