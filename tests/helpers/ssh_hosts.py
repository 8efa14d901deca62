# SPDX-License-Identifier: Apache-2.0
"""Hosts that the system's ssh program can reach: one SSH server on the loopback address, and a folder for each host.

The name of a host is also the account's name. The home of the account is the folder of the host.
"""

import asyncio
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh


@dataclass
class SshServer:
    """The server. `environment`: the variables of a program that ssh starts. `commands`: what ssh was asked to run."""

    folder: Path
    environment: dict[str, str]
    commands: list[str] = field(default_factory=list)
    programs: list["asyncio.subprocess.Process"] = field(default_factory=list)
    connections: list["asyncssh.connection.SSHConnection"] = field(default_factory=list)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def home(self, host: str) -> Path:
        """Return the folder of a host."""
        return self.folder / host

    async def run(self, process: "asyncssh.SSHServerProcess[bytes]") -> None:
        """Run a command in the home of its host. The command goes on if the connection ends, as with a real server."""
        command = process.command or ""
        self.commands.append(command)
        peer, own = process.get_extra_info("peername"), process.get_extra_info("sockname")
        home = self.home(process.get_extra_info("username"))
        connection = f"{peer[0]} {peer[1]} {own[0]} {own[1]}"
        self.connections.append(process.channel.get_connection())
        program = await asyncio.create_subprocess_shell(
            command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            cwd=home,
            env={**self.environment, "HOME": str(home), "SSH_CONNECTION": connection},
            start_new_session=True,
        )
        self.programs.append(program)
        _, said = await program.communicate(await process.stdin.readline())
        with suppress(OSError):  # the connection has ended
            process.stderr.write(said)
            process.exit(program.returncode or 0)

    def cut(self) -> None:
        """End all connections. The programs go on."""
        for connection in self.connections:
            self.loop.call_soon_threadsafe(connection.abort)


@contextmanager
def ssh_hosts(folder: Path, hosts: Sequence[str], environment: Mapping[str, str] = os.environ) -> Iterator[SshServer]:
    """Run the server and yield it. `folder/bin` has an `ssh` program that knows only these hosts."""
    server = SshServer(folder, dict(environment))
    for host in hosts:
        server.home(host).mkdir(parents=True)
    keys = {name: asyncssh.generate_private_key("ssh-ed25519") for name in ("server", "client")}
    keys["client"].write_private_key(folder / "client")
    (folder / "client").chmod(0o600)
    loop, ready = server.loop, threading.Event()
    found: list[Any] = []

    async def listen() -> None:
        client = asyncssh.import_authorized_keys(keys["client"].export_public_key().decode())
        found.append(
            await asyncssh.listen(
                "127.0.0.1",
                0,
                server_host_keys=[keys["server"]],
                authorized_client_keys=client,
                process_factory=server.run,
                encoding=None,
            )
        )
        ready.set()

    def serve() -> None:
        asyncio.set_event_loop(loop)
        loop.create_task(listen())
        loop.run_forever()

    thread = threading.Thread(target=serve, name="ssh server", daemon=True)
    thread.start()
    assert ready.wait(30)
    port = found[0].get_port()
    known = keys["server"].export_public_key().decode().strip()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {known}\n")
    login = f" IdentityFile {folder}/client\n IdentitiesOnly yes\n UserKnownHostsFile {folder}/known_hosts\n"
    one = " HostName 127.0.0.1\n Port {port}\n User {host}\n"
    (folder / "config").write_text("".join(f"Host {host}\n{one.format(port=port, host=host)}{login}" for host in hosts))
    _wrap_ssh(folder)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(_close(found[0]), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)


async def _close(listener: "asyncssh.SSHAcceptor") -> None:
    listener.close()
    await listener.wait_closed()


def _wrap_ssh(folder: Path) -> None:
    program = folder / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/config "$@"\n')
    program.chmod(0o755)


def path_with_ssh(folder: Path) -> dict[str, str]:
    """Return this environment with the `ssh` program of the folder, and with the `querytape` of these tests."""
    parts = [str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {**os.environ, "PATH": os.pathsep.join(parts)}
