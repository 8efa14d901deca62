# SPDX-License-Identifier: Apache-2.0
"""Declares the options of a replay by several drivers: their number, their hosts, and the handling of a lost driver."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..common.units import NS_PER_SECOND
from ..servers.sandbox_url import Sandbox
from .option_sections import WORDS, Section, option
from .param_types import Duration, Parsed

if TYPE_CHECKING:
    from ..replay.drivers.launch import Launcher
    from ..replay.drivers.shares import Drivers

MAX_DRIVERS = 500
# Options of `querytape replay` that only the lead process uses, or that have another value for each driver.
OF_LEAD = frozenset(
    {"output", "live", "start_at_ns", "host_metrics", "summaries", "target_slowlog", "follow", "metrics"}
)


class Place(Parsed[tuple[str, int]]):
    """HOST:PORT. An IPv6 address is in brackets."""

    name = "host:port"

    def _parse(self, text: str) -> tuple[str, int]:
        host, colon, port = text.rpartition(":")
        if not colon or not host or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"expected HOST:PORT, found {text!r}")
        return host.removeprefix("[").removesuffix("]"), int(port)


@dataclass(frozen=True)
class Places:
    """The value of `--drivers`: a kind, and the number of drivers (local, join), or their hosts (ssh, ray).

    The only host of Ray is the head of its cluster.
    """

    kind: str
    count: int = 0
    hosts: tuple[str, ...] = ()


class DriverPlaces(Parsed[Places]):
    """`local:N`, `join:N`, `ssh:HOST,HOST` or `ray[:ADDRESS]`."""

    name = "places"

    def _parse(self, text: str) -> Places:
        kind, _, rest = text.partition(":")
        if kind == "ray":
            return Places(kind, hosts=(rest or "auto",))
        if kind == "ssh":
            hosts = tuple(rest.split(","))
            if not all(hosts) or any(host.startswith("-") or host.split() != [host] for host in hosts):
                raise ValueError(f"expected ssh:HOST,HOST, found {text!r}")
            if len(hosts) > MAX_DRIVERS:
                raise ValueError(f"expected at most {MAX_DRIVERS} hosts, found {len(hosts)}")
            return Places(kind, hosts=hosts)
        if kind not in ("local", "join") or not rest.isdigit() or not 1 <= int(rest) <= MAX_DRIVERS:
            raise ValueError(
                f"expected local:N or join:N with N from 1 to {MAX_DRIVERS}, ssh:HOST,HOST or ray[:ADDRESS], found"
                f" {text!r}"
            )
        return Places(kind, int(rest))


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
            type=DriverPlaces(),
            metavar="KIND:WHERE",
            help="Replay a set of tapes with several synchronized processes. local:N starts N processes on this host."
            " ssh:HOST,HOST starts one on each host. ray[:ADDRESS] starts one on each node of a Ray cluster."
            " join:N waits for N `querytape driver` on other hosts.",
        ),
        option(
            "--on-driver-lost",
            type=click.Choice(["continue", "resume", "stop"]),
            default="continue",
            show_default=True,
            help="Action when a driver is lost. continue: the other drivers continue. resume: a new driver also sends"
            " the later events of the lost driver. stop: the run stops. If drivers wait for each other's commits"
            " (--order commit), the run always stops.",
        ),
        option(
            "--listen",
            type=Place(),
            metavar="HOST:PORT",
            help="Address on which to wait for drivers on other hosts. Port 0 selects a free port and shows it."
            " Default with ssh and ray: all addresses of this host, and a free port.",
        ),
        JOIN_KEY,
        option(
            "--gather",
            type=Duration(),
            default="120s",
            show_default=True,
            help="Maximum time to wait until all drivers have joined.",
        ),
        option(
            "--insecure-cluster",
            is_flag=True,
            help="Use a Ray cluster without authentication. Anyone who reaches such a cluster can run programs in it.",
        ),
    ),
)


def drivers_of(options: dict[str, Any]) -> "Drivers | None":
    """Return the driver settings of the command line, or None without drivers. Raises click.UsageError."""
    places: Places | None = options["drivers"]
    joined = places is not None and places.kind != "local"
    for name in ("listen", "join_key"):
        if options[name] is not None and not joined:
            raise click.UsageError(f"--{name.replace('_', '-')} requires --drivers join:N, ssh or ray")
    if options["insecure_cluster"] and (places is None or places.kind != "ray"):
        raise click.UsageError("--insecure-cluster requires --drivers ray")
    if places is None:
        return None
    if places.kind == "join" and options["listen"] is None:
        raise click.UsageError("--drivers join:N requires --listen HOST:PORT")
    for name in ("follow", "metrics"):
        if options[name]:
            raise click.UsageError(f"--{name} cannot be combined with --drivers")
    from ..replay.drivers.shares import Drivers

    return Drivers(
        places.count,
        joined,
        _launcher(places, options),
        listen=options["listen"] or ("", 0),
        join_key=options["join_key"],
        gather_s=options["gather"] / NS_PER_SECOND,
        on_lost=options["on_driver_lost"],
    )


def _launcher(places: Places, options: dict[str, Any]) -> "Launcher | None":
    if not places.hosts:
        return None
    kind = f"--drivers {places.kind}"
    if options["ask_password"]:
        raise click.UsageError(f"{kind} with --ask-password: give each host its own option file (--defaults-file)")
    if isinstance(options["target"], Sandbox):
        raise click.UsageError(f"{kind}: --target must be a server that the hosts can reach, not a sandbox")
    if len(options["tapes"]) > 1:
        raise click.UsageError(f"{kind}: give one set of tapes, which all hosts have at the same path")
    from ..replay.drivers.launch import DriverCommand
    from ..replay.drivers.ray_nodes import RayNodes
    from ..replay.drivers.ssh import SshHosts

    words = driver_words(click.get_current_context(), OF_LEAD)
    stem = options["output"].name.removesuffix(".run")
    if places.kind == "ssh":
        return SshHosts(places.hosts, DriverCommand(words, stem))
    if options["init"]:
        raise click.UsageError(f"{kind} with --init: all users of the cluster could read the statements")
    if options["join_key"] is not None:
        words = (*words, f"--join-key={options['join_key']}")
    return RayNodes(places.hosts[0], DriverCommand(words, stem), options["insecure_cluster"])


def driver_words(ctx: click.Context, left_out: Collection[str]) -> tuple[str, ...]:
    """Return the tapes and the options of this command as `querytape driver` needs them, as the user wrote them.

    The options of DRIVERS and `left_out` are left out.
    """
    command = ctx.command
    values, _, _ = command.make_parser(ctx).parse_args(list(ctx.meta[WORDS]))
    of_drivers = {names[0].removeprefix("--").replace("-", "_") for names, _ in DRIVERS.options}
    words: list[str] = []
    for param in command.get_params(ctx):
        name, value = str(param.name), values.get(str(param.name))
        if value is None or name in left_out or name in of_drivers:
            continue
        if isinstance(param, click.Argument):
            words[:0] = [f"./{text}" if text.startswith("-") else text for text in value]
        elif isinstance(value, bool):
            words.append(param.opts[-1] if value else param.secondary_opts[-1])
        else:
            given = value if isinstance(value, list) else [value]
            words += [f"{param.opts[-1]}={one}" for one in given]
    return tuple(words)
