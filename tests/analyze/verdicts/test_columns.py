# SPDX-License-Identifier: Apache-2.0
"""Columns grouped by digest, and positions in time."""

import numpy as np
from querytape.analyze.verdicts.columns import by_digest, places_of


def test_rows_are_grouped_by_digest_with_64_positions_per_round() -> None:
    columns = {"digest": np.array(["x", "x", "y"]), "round": np.array([1, 2, 1]), "block": np.array([0, 3, 5])}
    assert [(name, list(rows["block"])) for name, rows in by_digest(columns)] == [("x", [0, 3]), ("y", [5])]
    assert list(places_of(columns)) == [64, 131, 69]
    assert list(places_of(columns, 2)) == [64, 134, 74]
    assert list(by_digest({"digest": np.array([])})) == []
