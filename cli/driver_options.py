# SPDX-License-Identifier: Apache-2.0
"""Declares the options of a replay by several drivers: their number, their hosts, and the handling of a lost driver."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..common.units import NS_PER_SECOND
from .option_sections import Section, option
from .param_types import Duration, Parsed

if TYPE_CHECKING:
    from ..replay.drivers.shares import Drivers

KINDS = ("local", "join")
MAX_DRIVERS = 99


class Place(Parsed[tuple[str, int]]):
    """HOST:PORT. An IPv6 address is in brackets."""

    name = "host:port"

    def _parse(self, text: str) -> tuple[str, int]:
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"expected HOST:PORT, found {text!r}")
        return host.removeprefix("[").removesuffix("]"), int(port)


class HowMany(Parsed[tuple[str, int]]):
    """The number and kind of drivers: `local:N` or `join:N`."""

    name = "kind:number"

    def _parse(self, text: str) -> tuple[str, int]:
        kind, _, number = text.partition(":")
        if kind == "ray":
            raise ValueError(
                "ray: this release cannot start drivers with Ray. Start `querytape driver --join` on each host, and"
                " use join:N"
            )
        if kind not in KINDS or not number.isdigit() or not 1 <= int(number) <= MAX_DRIVERS:
            raise ValueError(f"expected local:N or join:N with N from 1 to {MAX_DRIVERS}, found {text!r}")
        return kind, int(number)


JOIN_KEY = option(
    "--join-key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File with the secret key that the lead process and its drivers share. Default: the key in"
    " QUERYTAPE_JOIN_KEY.",
)
DRIVERS = Section(
    "Several drivers (docs/scaling.md)",
    (
        option(
            "--drivers",
            type=HowMany(),
            metavar="KIND:N",
            help="Replay a set of tapes with N synchronized processes. local:N starts the processes on this host."
            " join:N waits for `querytape driver` on other hosts.",
        ),
        option(
            "--on-driver-lost",
            type=click.Choice(["go-on", "stop"]),
            default="go-on",
            show_default=True,
            help="Action of the other drivers when a driver is lost: continue (go-on) or stop.",
        ),
        option(
            "--listen",
            type=Place(),
            metavar="HOST:PORT",
            help="Address on which to wait for drivers (join:N). Port 0 selects a free port and shows it.",
        ),
        JOIN_KEY,
        option(
            "--gather",
            type=Duration(),
            default="120s",
            show_default=True,
            help="Maximum time to wait until all drivers have joined.",
        ),
    ),
)


def drivers_of(options: dict[str, Any]) -> "Drivers | None":
    """Return the driver settings of the command line, or None without drivers. Raises click.UsageError."""
    how, listen = options["drivers"], options["listen"]
    joined = how is not None and how[0] == "join"
    if listen is not None and not joined:
        raise click.UsageError("--listen requires --drivers join:N")
    if options["join_key"] is not None and not joined:
        raise click.UsageError("--join-key requires --drivers join:N")
    if how is None:
        return None
    if joined and listen is None:
        raise click.UsageError("--drivers join:N requires --listen HOST:PORT")
    for name in ("follow", "metrics"):
        if options[name]:
            raise click.UsageError(f"--{name} cannot be combined with --drivers")
    from ..replay.drivers.shares import Drivers

    return Drivers(
        how[1],
        joined,
        listen=listen or ("127.0.0.1", 0),
        join_key=options["join_key"],
        gather_s=options["gather"] / NS_PER_SECOND,
        on_lost=options["on_driver_lost"],
    )
