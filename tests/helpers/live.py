# SPDX-License-Identifier: Apache-2.0
"""Packets of the loopback, recorded by the command line while a block runs."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ..conftest import skip_loudly


def may_capture(request: pytest.FixtureRequest) -> None:
    """Skip where this user may not listen on an interface."""
    code = "from querytape.native.bindings.parsers import open_packets; open_packets([], interface='lo').close()"
    if subprocess.run([sys.executable, "-c", code], capture_output=True).returncode:
        skip_loudly(request, "no permission to capture on lo: live capture is not tested")


@contextmanager
def recording(port: int, tape: Path) -> Iterator[None]:
    """Record what goes through a port of the loopback on a tape."""
    command = [sys.executable, "-m", "querytape", "capture", "packets", "--interface", "lo", "--port", str(port)]
    process = subprocess.Popen([*command, "-o", str(tape)], stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(1.5)
        yield
        time.sleep(0.5)
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
