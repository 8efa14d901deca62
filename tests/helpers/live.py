# SPDX-License-Identifier: Apache-2.0
"""Record loopback packets with the command line while a block runs."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ..conftest import skip_loudly


def may_capture(request: pytest.FixtureRequest) -> None:
    """Skip the test if this user may not capture packets."""
    code = "from querytape.native.bindings.parsers import open_packets; open_packets([], interface='lo').close()"
    if subprocess.run([sys.executable, "-c", code], capture_output=True).returncode:
        skip_loudly(request, "no permission to capture on lo: live capture is not tested")


def wait_until_it_listens(process: "subprocess.Popen[str]", interface: str = "lo") -> None:
    """Wait until the process listens on a packet socket. Earlier packets are not recorded."""
    bound = interface != "any"
    for _ in range(600):
        rows = [line.split() for line in Path("/proc/net/packet").read_text().splitlines()[1:]]
        sockets = {row[-1] for row in rows if (row[4] != "0") == bound and row[5] == "1"}  # open packet sockets
        with suppress(FileNotFoundError):
            if sockets and _holds(process.pid, sockets):
                time.sleep(0.5)  # the capture needs time to install its filter
                return
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.1)
    raise AssertionError("the capture does not listen after a minute")


def _holds(pid: int, sockets: set[str]) -> bool:
    """Return whether the process owns one of the sockets. Return True if its descriptors cannot be listed."""
    try:
        return any(str(fd.readlink())[8:-1] in sockets for fd in Path(f"/proc/{pid}/fd").iterdir())
    except PermissionError:
        return True


@contextmanager
def recording(port: int, tape: Path, interface: str = "lo", code: int = 0) -> Iterator[None]:
    """Record the traffic of a port on an interface to a tape. `code`: the expected exit code of the capture."""
    command = [sys.executable, "-m", "querytape", "capture", "packets", "--interface", interface, "--port", str(port)]
    process = subprocess.Popen([*command, "-o", str(tape)], stderr=subprocess.PIPE, text=True)
    try:
        wait_until_it_listens(process, interface)
        yield
        time.sleep(1.0)
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == code, said
