# SPDX-License-Identifier: Apache-2.0
"""Declares `--metrics` and opens the metrics page. Imports the client library only if the option is given."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from .option_sections import OptionSpec, option
from .param_types import Address

if TYPE_CHECKING:
    from ..capture.live import LiveCapture
    from ..metrics.collector import Labels, Source

METRICS: OptionSpec = option(
    "--metrics",
    type=Address(),
    metavar="HOST:PORT",
    help="Serve Prometheus metrics at this address while the command runs. :PORT listens only on this machine."
    " Port 0 selects a free port.",
)


class MetricsPage:
    """The metrics page at the requested address. Does nothing without an address."""

    def __init__(self, address: tuple[str, int] | None, stack: ExitStack) -> None:
        """Serve the page until the stack ends. Raises InputError if the address is not available."""
        self._sources = None
        if address is None:
            return
        from ..metrics.collector import Sources
        from ..metrics.page import Page

        self._sources = Sources()
        page = stack.enter_context(Page(*address, self._sources.registry()))
        open_to = "" if page.is_local else " (anyone who reaches this address can read counts, but no statements)"
        click.echo(f"metrics: {page.url}{open_to}", err=True)

    @property
    def is_served(self) -> bool:
        """Whether an address was given, so that the page is served."""
        return self._sources is not None

    def put(self, source: "Source", labels: "Labels | None" = None, slot: str = "") -> None:
        """Show a source from now on. The source replaces the previous source of the same slot."""
        if self._sources is not None:
            self._sources.put(source, labels, slot)


def show_capture(page: MetricsPage, live: "LiveCapture") -> None:
    """Show a capture on the page. Without a page, the metrics are not imported."""
    if page.is_served:
        from ..metrics.names import capture_values

        page.put(lambda: capture_values(live))


def show_coverage(page: MetricsPage, share: float | None) -> None:
    """Show the coverage, if known: the share of the server's executed statements that is in the server's log."""
    if page.is_served and share is not None:
        from ..metrics.names import coverage_value

        page.put(lambda: [coverage_value(share)], slot="coverage")
