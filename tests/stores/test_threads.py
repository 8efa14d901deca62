# SPDX-License-Identifier: Apache-2.0
"""Work in threads that never keep the program from ending."""

import subprocess
import sys
import threading

import pytest
from querytape.stores.threads import THREADS, in_threads


@pytest.mark.parametrize("number", [0, 1, THREADS, 100])
def test_each_item_is_done_once(number: int) -> None:
    done: list[int] = []
    in_threads(done.append, list(range(number)))
    assert sorted(done) == list(range(number))


def test_first_error_ends_the_work() -> None:
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        if item == 3:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        in_threads(work, list(range(10_000)))
    assert len(begun) < 10_000


def test_several_items_are_worked_on_at_the_same_time() -> None:
    together = threading.Barrier(THREADS)
    in_threads(lambda item: together.wait(20), list(range(THREADS)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "send",
    [
        "os.kill(os.getpid(), signal.SIGINT)",
        "signal.pthread_kill(threading.get_ident(), signal.SIGINT)",  # does not interrupt the wait of the main thread
    ],
)
def test_program_ends_although_a_request_hangs(send: str) -> None:
    code = (
        "import os, signal, threading, time\n"
        "from querytape.stores.threads import in_threads\n"
        f"threading.Timer(0.3, lambda: {send}).start()\n"
        "try: in_threads(lambda item: time.sleep(600), [1, 2])\n"
        "except KeyboardInterrupt: print('stopped')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("stopped\n", 0), done.stderr
