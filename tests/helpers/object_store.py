# SPDX-License-Identifier: Apache-2.0
"""A real S3 server (versitygw) that keeps its objects as files in a folder. `make servers` builds the program."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PROGRAM = "versitygw"
KEY, SECRET = "tester", "not-a-secret"
BUCKET = "tapes"
WAIT_S = 20.0


@dataclass
class ObjectStore:
    """The server. `folder`: its objects. `port`: stays the same after `stop` and `start`."""

    program: str
    folder: Path
    port: int
    process: "subprocess.Popen[bytes] | None" = None
    environment: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }

    def address(self, name: str) -> str:
        """Return the address of a folder in the store."""
        return f"s3://{BUCKET}/{name}"

    def local(self, name: str) -> Path:
        """Return the folder with the objects of an address."""
        return self.folder / "objects" / BUCKET / name

    def names(self, name: str) -> set[str]:
        """Return the names of the objects of an address, relative to the address."""
        root = self.local(name)
        return {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        self.local("").mkdir(parents=True, exist_ok=True)
        keys = {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
        command = [self.program, "--port", f"127.0.0.1:{self.port}", "posix", str(self.folder / "objects")]
        self.process = subprocess.Popen(
            command, env={**os.environ, **keys}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.02)
        raise AssertionError("the object store does not answer")

    def stop(self) -> None:
        """End the server. Its objects stay."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(WAIT_S)
            self.process = None


def find_store() -> str | None:
    """Return the program of the object store, or None."""
    built = Path(sys.executable).parent / PROGRAM
    return str(built) if built.exists() else shutil.which(PROGRAM)


@contextmanager
def running_store(folder: Path) -> Iterator[ObjectStore]:
    """Start an object store with an empty bucket, and end it. Skips the test if the program is missing."""
    program = find_store()
    if program is None:
        pytest.skip(f"not tested: {PROGRAM} is missing (make servers)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    store = ObjectStore(program, folder, port)
    store.start()
    try:
        yield store
    finally:
        store.stop()
