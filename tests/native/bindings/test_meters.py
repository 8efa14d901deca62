# SPDX-License-Identifier: Apache-2.0
"""Meters as Python has them."""

from querytape.native._querytape import lib
from querytape.native.bindings.engine import Engine, EngineOptions
from querytape.native.bindings.meters import BOUNDS_NS, CAUSES, KINDS


def test_names_have_the_order_of_c() -> None:
    """Kinds and causes are those of the enums, in their order."""
    for prefix, names, end in (("QT_KIND", KINDS, lib.QT_KINDS), ("QT_CAUSE", CAUSES, lib.QT_CAUSES)):
        assert [getattr(lib, f"{prefix}_{name.upper()}") for name in names] == list(range(end))


def test_of_a_run_that_has_not_begun() -> None:
    """Before the first event all is there, and is nothing."""
    with_nothing = Engine(EngineOptions(host="127.0.0.1"))
    try:
        meters = with_nothing.meters()
        assert meters.errors == {}
        assert meters.errors_elsewhere == 0
        for meter in (meters.late, *meters.service.values(), *meters.delay.values()):
            assert meter.below == (0,) * len(BOUNDS_NS)
            assert meter.count == meter.sum_ns == 0
        assert with_nothing.peek().executed == 0
    finally:
        with_nothing.close()
