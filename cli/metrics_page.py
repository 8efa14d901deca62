# SPDX-License-Identifier: Apache-2.0
"""Declares `--metrics`, and opens its page; the client library is loaded where the option is given."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from .option_sections import OptionSpec, option
from .param_types import Address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..metrics.collector import Labels, Source, Value
    from ..replay import LiveRun

METRICS: OptionSpec = option(
    "--metrics",
    type=Address(),
    metavar="HOST:PORT",
    help="Serve counters and histograms at this address while it goes on, for Prometheus; :PORT is for this machine"
    " alone, port 0 takes a free one.",
)


class MetricsPage:
    """What sources say, at the address that was asked for; nothing where none was."""

    def __init__(self, address: tuple[str, int] | None, stack: ExitStack) -> None:
        """Serve until the stack ends. Raises InputError where the address can't be had."""
        self._sources = None
        if address is None:
            return
        from ..metrics.collector import Sources
        from ..metrics.page import Page

        self._sources = Sources()
        page = stack.enter_context(Page(*address, self._sources.registry()))
        open_to = "" if page.is_local else " (for whoever reaches this address: it has counts, and no statement)"
        click.echo(f"metrics: {page.url}{open_to}", err=True)

    def put(self, source: "Source", labels: "Labels | None" = None, slot: str = "") -> None:
        """Show a source from now on, in place of the one that is in the same slot."""
        if self._sources is not None:
            self._sources.put(source, labels, slot)


def values_of(live: "LiveRun") -> "Iterable[Value]":
    """Return what a run says of itself now."""
    from ..metrics.replay_values import run_values

    return run_values(live)
