# SPDX-License-Identifier: Apache-2.0
"""Tests whose subject is chance: they are in the long tier, and state how often what they do may come out otherwise."""

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def repeated(times: int, tolerated: int, once: Callable[[int], Result], is_right: Callable[[Result], bool]) -> Result:
    """Do something several times, each with its number; return the first result that is right.

    Fails where more than `tolerated` results are not right. `tolerated` is less than `times`.
    """
    results = [once(number) for number in range(times)]
    right = [result for result in results if is_right(result)]
    assert len(right) >= times - tolerated, (
        f"{len(right)} of {times} are right, at most {tolerated} may not be: {results}"
    )
    return right[0]
