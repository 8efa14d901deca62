# SPDX-License-Identifier: Apache-2.0
"""Group names that are joined in pairs (union-find)."""

from collections.abc import Iterable


def join_pairs(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Group names that are joined in pairs. Return a map from each name to the first name of its group."""
    head: dict[str, str] = {}

    def find(name: str) -> str:
        while head.setdefault(name, name) != name:
            head[name] = head[head[name]]  # shortens the way of later calls
            name = head[name]
        return name

    for a, b in pairs:
        low, high = sorted((find(a), find(b)))
        head[high] = low
    return {name: find(name) for name in list(head)}
