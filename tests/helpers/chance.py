# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests with random outcomes. Such tests run in the long tier and state how many failures they tolerate."""

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def repeated(times: int, tolerated: int, once: Callable[[int], Result], is_right: Callable[[Result], bool]) -> Result:
    """Call `once` with the attempt numbers 0, 1, 2 and so on, and return the first correct result.

    Fails if more than `tolerated` results are wrong. `tolerated` must be less than `times`.
    """
    results = [once(number) for number in range(times)]
    right = [result for result in results if is_right(result)]
    assert len(right) >= times - tolerated, (
        f"{len(right)} of {times} are right, at most {tolerated} may not be: {results}"
    )
    return right[0]
