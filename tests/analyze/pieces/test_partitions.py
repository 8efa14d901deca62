# SPDX-License-Identifier: Apache-2.0
"""Number of partitions of a report. It depends on the number of events, the memory and the processes."""

import pytest
from querytape.analyze.pieces.partitions import EVENT_BYTES, WHOLE_BYTES, Cut, cut_for

MB = 1_000_000
MANY = 100 * MB // EVENT_BYTES


@pytest.mark.parametrize(
    ("rows", "partitions", "processes", "wanted"),
    [
        (MANY * EVENT_BYTES // WHOLE_BYTES, None, 1, None),
        (MANY * EVENT_BYTES // WHOLE_BYTES + 1, None, 1, Cut(3, f"{100 * MB}B", None, 3)),
        (7 * MANY, None, 1, Cut(7, f"{100 * MB}B", None, 7)),
        (7 * MANY, None, 2, Cut(14, f"{50 * MB}B", 1, 14)),
        (2 * MANY, None, 4, Cut(8, f"{25 * MB}B", 1, 8)),
        (10, 64, 1, Cut(64, f"{100 * MB}B")),
        (10, 64, 3, Cut(64, f"{100 * MB // 3}B", 1, 3)),
        (2 * MANY, 64, 1, Cut(64, f"{100 * MB}B", None, 2)),
        (10 * MANY, 1, 1, None),
        (0, 5, 1, None),
    ],
)
def test_number_of_partitions_and_jobs(rows: int, partitions: int | None, processes: int, wanted: Cut | None) -> None:
    """Data that fits into memory is not partitioned. Each process gets its share of the memory and of the jobs. The
    number of jobs that read the files is as small as memory allows.
    """
    assert cut_for(rows, 100 * MB, partitions, processes) == wanted
