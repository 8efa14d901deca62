# SPDX-License-Identifier: Apache-2.0
"""Columns of an analysis as NumPy arrays: split them by digest, and compute the position of each row in time."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Columns = dict[str, NDArray[np.generic]]
BLOCKS = 64  # positions per round; only 40 of them contain blocks


def places_of(columns: Columns, width: int = 1) -> NDArray[np.int64]:
    """Return each row's position in time: the block number, counted through all rounds.

    `width`: number of positions per row.
    """
    return columns["round"].astype(np.int64) * BLOCKS + columns["block"].astype(np.int64) * width


def by_digest(columns: Columns) -> Iterator[tuple[str, Columns]]:
    """Yield each digest with its rows. The columns must be ordered by digest."""
    digests = columns["digest"]
    if len(digests) == 0:
        return
    edges = np.flatnonzero(digests[1:] != digests[:-1]) + 1
    starts, ends = [0, *edges.tolist()], [*edges.tolist(), len(digests)]
    for start, end in zip(starts, ends, strict=True):
        yield str(digests[start]), {name: values[start:end] for name, values in columns.items()}
