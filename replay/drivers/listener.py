# SPDX-License-Identifier: Apache-2.0
"""Accept drivers from other hosts. Each driver must prove that it knows the key of --join-key.

The tape and options of the driver must be the same as those of the lead process. A refused driver gets the reason only
if it has proved that it knows the key. A refusal does not affect the run.
"""

import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from ...common.errors import InputError, QuerytapeError
from ...common.text import printable
from .channel import Channel, ChannelClosed
from .member import Beginning, Member
from .secured import admit, server_context
from .shares import differing

MAX_WAITING = 64  # maximum number of connections that have not proved the key yet
PAUSE_S = 0.1  # pause after a connection that could not be accepted


@dataclass(frozen=True)
class Expected:
    """Values that must be equal on every driver: the id of its tapes (shares.share_id) and the hashes of the options.

    `run` is the id of the run.
    """

    share_id: str
    prints: dict[str, str]
    run: str


class Listener:
    """Assigns joining drivers to the members during its `with` block.

    - `address`: where it listens. No host in the given address means all addresses of this machine.
    - `join`: the address for drivers. It has no host if the lead process listens on all addresses.
    - `refused`: messages about refused drivers.
    """

    def __init__(
        self,
        address: tuple[str, int],
        key: bytes,
        members: Sequence[Member],
        expected: Expected,
        begins: Callable[[Member], Beginning | None] = lambda member: None,
    ) -> None:
        """Listen.

        - `members`: the places. More may be added while it listens.
        - `begins`: returns where a member begins. None means at the start of the run.
        """
        self._key, self._members, self._expected, self._begins = key, members, expected, begins
        self._count = len(members)
        self._context, self._certificate = server_context()
        self._unproved: deque[socket.socket] = deque()  # the oldest first
        self._taken: set[int] = set()
        self._closed = False
        self._lock = threading.Lock()
        self.refused: deque[str] = deque(maxlen=MAX_WAITING)
        try:
            anywhere = address[0] in ("", "0.0.0.0", "::")
            both = not address[0] and socket.has_dualstack_ipv6()
            family = socket.AF_INET6 if both or ":" in address[0] else socket.AF_INET
            self._socket = socket.create_server(address, family=family, dualstack_ipv6=both)
        except OSError as error:
            raise InputError(f"--listen {address[0]}:{address[1]}: {error.strerror or error}") from error
        host, port = self._socket.getsockname()[:2]
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.join = f":{port}" if anywhere else self.address

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="listener", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Accept no more drivers."""
        with self._lock:
            self._closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                sock, _ = self._socket.accept()
            except OSError:  # the listener was closed, the connection has ended, or there are too many open files
                time.sleep(PAUSE_S)
                continue
            threading.Thread(target=self._admit, args=(sock,), name="join", daemon=True).start()

    def _admit(self, sock: socket.socket) -> None:
        try:
            with self._without_proof(sock):
                channel, hello = admit(sock, self._context, self._certificate, self._key)
            self._take(channel, hello)
        except (QuerytapeError, OSError, ValueError, TypeError) as error:
            sock.close()
            self._note(str(error))

    @contextmanager
    def _without_proof(self, sock: socket.socket) -> Iterator[None]:
        """Count a connection as unproved during the block. End the oldest such connection if there are too many."""
        with sock.dup() as own:  # a TLS socket takes the descriptor of `sock`
            with self._lock:
                self._unproved.append(own)
                if len(self._unproved) > MAX_WAITING:
                    with suppress(OSError):
                        self._unproved.popleft().shutdown(socket.SHUT_RDWR)
            try:
                yield
            finally:
                with self._lock, suppress(ValueError):  # another connection has ended this one
                    self._unproved.remove(own)

    def _note(self, why: str) -> None:
        self.refused.append(printable(why, 300))

    def _take(self, channel: Channel, hello: dict[str, Any]) -> None:
        """Accept a connection as the next driver, or refuse it.

        Both the lead process and the driver get the reason for a refusal.
        """
        host = str(hello.get("host"))[:80]
        why = self._objection(hello)
        with self._lock:
            member = None if why is not None or self._closed else self._place_for(str(hello.get("part")))
            if member is not None:
                self._taken.add(member.number)
        if member is None:
            why = why or "all drivers have already joined"
            self._note(f"{host}: refused a driver: {why}")  # noted before the driver gets the reason
            with suppress(ChannelClosed):
                channel.send("refused", text=why)
            channel.close()
            return
        begins = self._begins(member)
        with suppress(ChannelClosed):
            channel.send(
                "welcome",
                number=member.number,
                count=self._count,
                names=member.names,
                run=self._expected.run,
                begins=None if begins is None else [begins.due_ns, begins.tape_ns],
            )
        with member.news:
            own = {"pid": hello.get("pid"), "cores": int(hello.get("cores") or 1), "part": hello.get("part")}
            member.hello = {"host": host, **own}
            member.news.notify_all()
        member.connect(channel)

    def _place_for(self, part: str) -> Member | None:
        """Return the first member without a driver. A member may expect a driver with a certain part."""
        for member in self._members:
            if member.number not in self._taken and not member.over and member.expected_part in (None, part):
                return member
        return None

    def _objection(self, hello: dict[str, Any]) -> str | None:
        if hello.get("tape") != self._expected.share_id:
            return "the driver's tape differs from the tape of the lead process, or was dealt differently"
        prints = hello.get("prints")
        if other := differing(self._expected.prints, prints if isinstance(prints, dict) else {}):
            return (
                f"the driver's options differ from the options of the lead process: {', '.join(other)} (parameter"
                " names in run.json)"
            )
        return None
