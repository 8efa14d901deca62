# SPDX-License-Identifier: Apache-2.0
"""Tests of the grouping of names that are joined in pairs."""

from querytape.common.groups import join_pairs


def test_pairs_in_any_order_make_one_group() -> None:
    groups = join_pairs([("d", "c"), ("a", "b"), ("c", "b"), ("x", "y")])
    assert len({groups[name] for name in "abcd"}) == 1
    assert groups["x"] == groups["y"] != groups["a"]
