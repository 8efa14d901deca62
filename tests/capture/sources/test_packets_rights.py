# SPDX-License-Identifier: Apache-2.0
"""Capturing on an interface needs only the privilege CAP_NET_RAW. Without CAP_NET_RAW, the message lists four ways to
capture.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from querytape.capture.sources.packets import four_ways
from querytape.servers.sandbox import Server

from tests.helpers.duck import database

from ...conftest import skip_loudly
from ...helpers.live import may_capture, wait_until_it_listens

CAPTURE = (sys.executable, "-m", "querytape", "capture", "packets", "--interface", "lo")
UNIT = "docs/systemd/querytape-packets.service"
# Runs the command from this environment in another Python. Other users cannot start a Python that is in root's home
# folder.
MAIN = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r}); from querytape.__main__ import main; main()"


def run_by(words: list[str]) -> bool:
    """Return whether a command of the given user succeeds."""
    return subprocess.run(words, cwd="/", capture_output=True, timeout=60).returncode == 0


def without_rights(request: pytest.FixtureRequest) -> list[str]:
    """Return a command prefix that removes CAP_NET_RAW. The prefix is empty if the user lacks CAP_NET_RAW."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        skip_loudly(request, "no setpriv: a capture without rights is not tested as root")
    return ["setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw"]


def test_missing_capability_message_lists_four_ways(
    request: pytest.FixtureRequest, checkout: Path, tmp_path: Path
) -> None:
    """The four ways are a pipe from tcpdump, sudo, a systemd unit and a container. The suggested commands use the given
    interface and ports. No tape is written.
    """
    tape = tmp_path / "x.tape"
    command = [*without_rights(request), *CAPTURE, "--port", "3306", "--port", "3307", "-o", str(tape)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("querytape: lo: no permission to capture. Packet capture requires"), done.stderr
    ways = re.findall(r"^  (a pipe|sudo|a unit|a container) +\S", done.stderr, re.M)
    assert ways == ["a pipe", "sudo", "a unit", "a container"]
    assert (
        "tcpdump -i lo -s 0 -U -w - 'tcp port 3306 or tcp port 3307' | querytape capture packets - --port 3307"
        in done.stderr
    )
    assert "sudo querytape capture packets --interface lo --port 3307" in done.stderr
    assert "--cap-add NET_RAW" in done.stderr
    assert "AmbientCapabilities=CAP_NET_RAW" in (checkout / UNIT).read_text()
    assert UNIT in done.stderr
    assert not tape.exists()


def test_suggested_commands_omit_the_default_port() -> None:
    text = four_ways("any", [3306])
    assert "'tcp port 3306' | querytape capture packets - -o x.tape" in text
    assert "--interface any -o x.tape" in text


def test_missing_interface_does_not_mention_privileges(request: pytest.FixtureRequest) -> None:
    may_capture(request)
    done = subprocess.run(
        [*CAPTURE[:-1], "qt-none", "-o", "/nowhere/x.tape"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "CAP_NET_RAW" not in done.stderr


@pytest.mark.long  # other users must be able to read the checkout and Python
def test_cap_net_raw_is_sufficient_to_capture(request: pytest.FixtureRequest, mariadb: Server, tmp_path: Path) -> None:
    """A non-root user captures with CAP_NET_RAW as the only capability, like the suggested systemd unit."""
    may_capture(request)
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        skip_loudly(request, "not root, or no setpriv: a capture with CAP_NET_RAW alone is not tested")
    place = tmp_path / "nobody"
    place.mkdir()
    os.chown(place, 65534, 65534)
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):  # parallel pytest workers have one more folder each
        folder.chmod(0o755)
    rights = ["--bounding-set", "-all,+net_raw", "--inh-caps", "-all,+net_raw", "--ambient-caps", "-all,+net_raw"]
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *rights, "env", f"HOME={place}"]
    pythons = (sys.executable, f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}")
    fitting = [
        python for python in pythons if Path(python).exists() and run_by([*user, python, "-c", MAIN, "--version"])
    ]
    if not fitting:
        skip_loudly(request, "nobody cannot run this Python: a capture with CAP_NET_RAW alone is not tested")
    command = [*user, fitting[0], "-c", MAIN, *CAPTURE[3:], "--port", str(mariadb.port), "-o", str(place / "x.tape")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=place)
    try:
        wait_until_it_listens(process)
        connection = mariadb.connect(ssl_disabled=True)
        with connection.cursor() as cursor:
            for number in range(5):
                cursor.execute(f"SELECT /* alone */ {number}")
        connection.close()
        held = Path(f"/proc/{process.pid}/status").read_text()
        assert re.search(r"^CapEff:\s+0000000000002000$", held, re.M), held
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
    with database() as con:
        found = con.execute(
            f"SELECT count(*) FROM '{place}/x.tape/events/*.parquet' WHERE contains(statement::VARCHAR, '* alone *')"
        ).fetchone()
    assert found == (5,)
