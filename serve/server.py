# SPDX-License-Identifier: Apache-2.0
"""Listens at an address until a signal ends the server.

Runs the application in uvicorn with limits for all resources.
"""

import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn

from ..common.errors import InputError
from ..common.signals import stop_on_signals
from ..common.units import address_text
from .access import Access, new_token, read_token
from .app import application
from .own_pages import Site
from .page_cache import Limits, PageCache
from .shelf import Shelf
from .viewed_runs import Watched

CONNECTIONS, IDLE_S, LEAVE_S = 64, 20, 3
MAX_HEAD = 16 << 10
LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Options:
    """The options of `querytape serve`. `names`: names, besides the address, that browsers may use for the server."""

    address: tuple[str, int]
    token_file: Path | None = None
    names: tuple[str, ...] = ()
    token_to_read: bool = False
    certificate: Path | None = None
    key: Path | None = None
    limits: Limits = field(default_factory=Limits)


def run_server(folder: Path, options: Options, say: Callable[[str], None]) -> None:
    """Serve a folder until a signal ends the server. Raises InputError or FolderError if the server cannot start.

    `say` gets the lines for the user at the start: the address and the token.
    """
    shelf = Shelf(folder)
    token = new_token() if options.token_file is None else read_token(options.token_file)
    with bound(*options.address) as listening:
        host, port = listening.getsockname()[:2]
        local = ipaddress.ip_address(host.partition("%")[0]).is_loopback
        access = Access(token, reads_need_token=not local or options.token_to_read)
        names = names_of(host, options)
        site = Site(shelf, access, PageCache(options.limits), Watched())
        for line in greeting(shelf, access, host, port, options):
            say(line)
        config = uvicorn.Config(
            application(site, names),
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="on",
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=IDLE_S,
            timeout_graceful_shutdown=LEAVE_S,
            h11_max_incomplete_event_size=MAX_HEAD,
            ssl_certfile=options.certificate,
            ssl_keyfile=options.key,
        )
        until_asked(uvicorn.Server(config), listening)


def until_asked(server: uvicorn.Server, listening: socket.socket) -> None:
    """Run until a signal requests the end. Then raise KeyboardInterrupt, as every command does."""
    asked = False

    def stop() -> None:
        nonlocal asked
        asked = server.should_exit = True

    with stop_on_signals(stop):  # uvicorn also handles two of these signals, and raises them again when it ends
        server.run([listening])
    if asked:
        raise KeyboardInterrupt


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens at this address. Raises InputError with the reason."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(CONNECTIONS)  # queues clients that connect before the server is ready
        except OSError:
            listening.close()
            raise
        return listening
    except (OSError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"--address {address_text(host, port)}: {reason}; use port 0 for a free port") from error


def names_of(host: str, options: Options) -> list[str]:
    """Return the names that browsers may use for the server. Raises InputError if no name is known."""
    address = ipaddress.ip_address(host.partition("%")[0])
    if address.is_loopback:
        return named(*LOCAL_NAMES, host, *options.names)
    if address.is_unspecified and not options.names:
        raise InputError(
            f"--address {host} listens on every address of this machine: use --name to set the host names that"
            " browsers may use"
        )
    given = () if address.is_unspecified else (host, options.address[0])
    return named(*given, *options.names)


def named(*names: str) -> list[str]:
    """Return names in the format of requests: an IPv6 address in brackets."""
    return sorted({f"[{name}]" if ":" in name and not name.startswith("[") else name for name in names})


def greeting(shelf: Shelf, access: Access, host: str, port: int, options: Options) -> list[str]:
    """Return the lines that the server prints at its start: the address, and the token if the server generated it."""
    scheme = "https" if options.certificate else "http"
    name = options.names[0] if options.names else host
    lines = [f"{shelf.root}: {scheme}://{address_text(name, port)}/"]
    if options.token_file is None:
        lines.append(f"token: {access.token}")
    if access.reads_need_token:
        lines.append("the token is required to read the pages, and to pause, stop or change the speed of a replay")
    else:
        lines.append("every account on this machine can read the pages (--token-to-read requires the token)")
        lines.append("the token is required to pause, stop or change the speed of a replay")
    if not ipaddress.ip_address(host.partition("%")[0]).is_loopback and options.certificate is None:
        lines.append(
            "WARNING: without --certificate, anyone who can read the network traffic sees the pages and the token"
        )
    return lines
