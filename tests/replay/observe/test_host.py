# SPDX-License-Identifier: Apache-2.0
"""Tests of the counters of this machine, and of another machine through ssh."""

import os
import socket
from pathlib import Path

import pytest
from querytape.common.errors import InputError, TargetError
from querytape.replay import replay
from querytape.replay.observe.host import Host, SshHost, listener, local_process, pid_file, ssh_command
from querytape.servers.facts import Facts
from querytape.servers.sandbox import Server
from querytape.servers.target import Target

from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import options, query


def test_counters_of_this_machine(tmp_path: Path) -> None:
    """The test reads an artificial /proc. If files are missing, there are no counters."""
    (tmp_path / "net").mkdir()
    (tmp_path / "stat").write_text("cpu  10 0 5 100 7 1 2 3\ncpu0 1 2 3 4\nintr 99 1 2\nctxt 77\nprocs_running 4\n")
    (tmp_path / "diskstats").write_text("8 0 sda 1 2 30 4 5 6 70 8 9 10 11\n7 0 loop0 1 1 1 1 1 1 1 1 1 1 1\n")
    (tmp_path / "net" / "dev").write_text(
        "Inter-| Receive\n face |bytes\n  eth0: 100 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n"
    )
    values = {name: value for _, name, value in Host(tmp_path).read()}
    assert values["cpu user"] == 10
    assert values["cpu iowait"] == 7
    assert (values["ctxt"], values["interrupts"], values["procs_running"]) == (77, 99, 4)
    assert (values["disk sda read_bytes"], values["disk sda written_bytes"]) == (30 * 512, 70 * 512)
    assert not any("loop0" in name for name in values)
    assert (values["net eth0 received_bytes"], values["net eth0 sent_bytes"]) == (100, 200)
    assert [name for _, name, _ in Host(tmp_path / "nowhere").read()] == ["own cpu_ns"]


def test_cpu_pressure_and_target_process_are_read(tmp_path: Path) -> None:
    """The pressure is the kernel's pressure stall information (PSI). Another program with the target's process id is
    ignored.
    """
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure" / "cpu").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull total=9\n")
    (tmp_path / "7").mkdir()
    numbers = " ".join(str(n) for n in range(4, 30))
    for name, expected in (("mariadbd", 14 + 15), ("my) sqld", None), ("sh", None), ("mysqld", 14 + 15)):
        (tmp_path / "7" / "stat").write_text(f"7 ({name}) S {numbers}\n")
        values = {name: value for _, name, value in Host(tmp_path, "tool", 7).read()}
        assert values.get("target cpu") == expected
        assert values["pressure cpu some_us"] == 123
        assert values["own cpu_ns"] > 0


@pytest.fixture
def fake_ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install an `ssh` program that records its arguments and runs the command locally. It refuses if the file `refuse`
    exists.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "ssh"
    program.write_text(
        "#!/bin/sh\n"
        f'echo "$*" > {tmp_path}/arguments\n'
        f"[ -e {tmp_path}/refuse ] && {{ echo 'Permission denied (publickey).' >&2; exit 255; }}\n"
        'for last; do :; done; exec /bin/sh -c "$last"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return tmp_path


@pytest.mark.server
def test_counters_of_another_machine_are_read_through_ssh(shop: Server, tmp_path: Path, fake_ssh: Path) -> None:
    """One ssh process reads the same counters as on this machine and ends with the run."""
    events = [{"statement": "SELECT 1", "start_ns": T0 + n * 20 * MS} for n in range(60)]
    tape = make_tape(tmp_path / "t.tape", events)
    settings = options(shop, tmp_path / "a.run", sample_ns=100 * MS, host_metrics="ssh://dba@db1:2222")
    summary = replay(tape, settings)
    assert summary.info["sampling_problem"] is None
    assert "-p 2222 -l dba -- db1" in (fake_ssh / "arguments").read_text()
    samples = f"read_parquet('{summary.path}/samples/*.parquet')"
    values = query(f"SELECT DISTINCT name FROM {samples} WHERE source = 'host'")
    assert {"cpu user", "ctxt", "interrupts"} <= {row[0] for row in values}
    assert [True for (name,) in values if name.startswith("net ")]
    assert summary.info["parameters"]["host_metrics"] == "ssh://dba@db1:2222"


def test_ssh_failure_is_reported(fake_ssh: Path) -> None:
    """The error contains the message of ssh. An invalid URL is refused."""
    (fake_ssh / "refuse").touch()
    with pytest.raises(TargetError, match="Permission denied"):
        SshHost("ssh://db1")
    for wrong in ("db1", "ssh://", "ssh://dba:secret@db1", "ssh://db1/path", "ssh://db1:99999", "ssh://[::1"):
        with pytest.raises(InputError, match="--host-metrics"):
            ssh_command(wrong)


def test_lost_ssh_connection_is_an_error(fake_ssh: Path) -> None:
    """A connection that ends during the run must not block the run."""
    host = SshHost("ssh://db1")
    assert {name: value for _, name, value in host.read()}["ctxt"] > 0
    host._process.kill()
    with pytest.raises(TargetError, match="ssh ended"):
        list(host.read())
    host.close()


def test_process_of_a_socket_is_found(tmp_path: Path) -> None:
    """The kernel reports the process that listens on a socket. For a regular file, a relative path or an overlong path
    no process is found.
    """
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        assert listener(str(path)) == os.getpid()
        here = {"port": "3307", "socket": str(path)}
        target = Target("u", "db", "127.0.0.1", 3307)
        assert local_process(target, Facts("8", hostname=socket.gethostname(), variables=here)) == os.getpid()
        assert local_process(target, Facts("8", hostname="elsewhere", variables=here)) is None
        assert local_process(target, Facts("8", hostname=socket.gethostname(), variables={**here, "port": "1"})) is None
    (tmp_path / "file").touch()
    for wrong in ("", "relative", str(tmp_path / "file"), str(tmp_path / "none"), "/" + "x" * 200, "/a\0b"):
        assert listener(wrong) is None


def test_relative_pid_file_is_in_the_data_folder() -> None:
    assert pid_file({"pid_file": "db.pid", "datadir": "/var/lib/mysql/"}) == "/var/lib/mysql/db.pid"
    assert pid_file({"pid_file": "/run/db.pid"}) == "/run/db.pid"
    assert pid_file({}) == ""


@pytest.mark.server
def test_real_server_is_found_by_its_socket(shop: Server) -> None:
    assert listener(str(shop.socket)) == shop.pid
