# SPDX-License-Identifier: Apache-2.0
"""The demo as its user sees it. The demo shows the comparison and never leaves a server running."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from querytape.demo.shop import ORDERS
from querytape.servers.sandbox import Server, start_server

pytestmark = pytest.mark.slow

DEMO = (sys.executable, "-u", "-m", "querytape", "demo", "--seconds", "4", "--keep")


def servers_of(parent: int) -> dict[int, str]:
    """Return {pid: data folder} of the servers that a process started."""
    found = {}
    for children in Path(f"/proc/{parent}/task").glob("*/children"):
        for pid in map(int, children.read_text().split()):
            data = re.search(r"--datadir=([^\0]+)", Path(f"/proc/{pid}/cmdline").read_text())
            if data:
                found[pid] = data[1]
    return found


def has_ended(pid: int) -> bool:
    """Return whether a process has ended or is a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_demo_ends_with_the_report(mariadb: Server, tmp_path: Path) -> None:
    """The demo describes each step, shows the commands, and keeps the tape and both runs. The path of the report comes
    last. A password that was set for other servers does not affect the demo.
    """
    environ = {**os.environ, "QUERYTAPE_PASSWORD": "of another server", "MYSQL_PWD": "of another server"}
    done = subprocess.run([*DEMO, str(tmp_path / "d")], capture_output=True, text=True, timeout=300, env=environ)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "$ querytape replay shop.tape" in done.stdout
    assert done.stdout.rstrip().endswith(f"{tmp_path / 'd' / 'report.html'}")
    assert {"slow.log", "shop.tape", "copy.run", "candidate.run", "report.html"} <= {
        path.name for path in (tmp_path / "d").iterdir()
    }
    assert "<html" in (tmp_path / "d" / "report.html").read_text(encoding="utf-8")
    assert "customer_id" in done.stdout, "the statements that miss their index are not in the comparison"


@pytest.mark.long
def test_record_only_option_keeps_log_and_initial_data(mariadb: Server, tmp_path: Path) -> None:
    """`--record-only` keeps the complete slow log and the data from before the traffic. The server is stopped. A folder
    that already contains data is refused.
    """
    command = [*DEMO, str(tmp_path / "d"), "--record-only"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert {path.name for path in (tmp_path / "d").iterdir()} == {"slow.log", "data"}
    assert "INSERT INTO orders VALUES" in (tmp_path / "d" / "slow.log").read_text(encoding="utf-8")
    with start_server("mariadb", template=tmp_path / "d" / "data") as server:
        assert server.execute("SELECT MAX(id), COUNT(*) FROM orders", "shop") == ((ORDERS, ORDERS),)
    again = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert again.returncode == 1
    assert "already exists" in again.stderr


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_demo_that_is_stopped_leaves_no_server(mariadb: Server, tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C, SIGTERM and kill -9 during the workload end the server. Ctrl-C and SIGTERM also clean up."""
    with subprocess.Popen(
        [*DEMO, str(tmp_path / "d")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "connections browse" in line:
                break
        time.sleep(0.5)
        servers = servers_of(demo.pid)
        demo.send_signal(number)
        demo.stdout.read()
        demo.wait(30)
    assert len(servers) == 1
    deadline = time.monotonic() + 10
    while not all(map(has_ended, servers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert all(map(has_ended, servers))
    folders = {Path(data).parent.parent for data in servers.values()}
    if number is signal.SIGKILL:
        subprocess.run(["rm", "-rf", *map(str, folders)], check=True)
    else:
        assert demo.returncode == 130
        assert not any(folder.exists() for folder in folders)


def test_interrupted_demo_waits_for_its_command(tmp_path: Path) -> None:
    """The demo asks the running command to end and gives it time to clean up."""
    child = (
        "import signal, sys, time\n"
        "def end(number, frame):\n"
        "    time.sleep(1)\n"
        "    open('ended', 'w').close()\n"
        "    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "open('begun', 'w').close()\n"
        "time.sleep(60)\n"
    )
    program = (
        "import sys\nfrom pathlib import Path\nfrom querytape.demo.run import run_to_its_end\n"
        "run_to_its_end([sys.executable, '-c', sys.argv[1]], Path(sys.argv[2]))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, child, str(tmp_path)], stderr=subprocess.PIPE) as demo:
        while not (tmp_path / "begun").exists():
            time.sleep(0.02)
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=60)
    assert (tmp_path / "ended").exists()
