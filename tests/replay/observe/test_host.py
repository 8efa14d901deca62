# SPDX-License-Identifier: Apache-2.0
"""Counters of this machine, and of another through ssh."""

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


def test_what_this_machine_has(tmp_path: Path) -> None:
    """Counters of /proc, from a made one; what is missing is not there."""
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


def test_who_takes_the_processors(tmp_path: Path) -> None:
    """Pressure stall information and the target's process; another program of that number is not the target."""
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
    """An `ssh` that notes its arguments and runs the command here; it goes when `gone` is there."""
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
def test_another_machine_is_seen_through_ssh(shop: Server, tmp_path: Path, fake_ssh: Path) -> None:
    """The same counters as of this machine, by one ssh that ends with the run."""
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


def test_ssh_that_gets_nowhere(fake_ssh: Path) -> None:
    """What ssh says is told; a URL that is none is refused."""
    (fake_ssh / "refuse").touch()
    with pytest.raises(TargetError, match="Permission denied"):
        SshHost("ssh://db1")
    for wrong in ("db1", "ssh://", "ssh://dba:secret@db1", "ssh://db1/path", "ssh://db1:99999", "ssh://[::1"):
        with pytest.raises(InputError, match="--host-metrics"):
            ssh_command(wrong)


def test_ssh_that_is_lost(fake_ssh: Path) -> None:
    """A connection that ends during the run is an error with a sentence, not a hang."""
    host = SshHost("ssh://db1")
    assert {name: value for _, name, value in host.read()}["ctxt"] > 0
    host._process.kill()
    with pytest.raises(TargetError, match="ssh ended"):
        list(host.read())
    host.close()


def test_who_listens(tmp_path: Path) -> None:
    """The kernel says; a file that is no socket, no path, and one that is too long have nobody."""
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


def test_pid_files() -> None:
    """Relative ones are in the data folder."""
    assert pid_file({"pid_file": "db.pid", "datadir": "/var/lib/mysql/"}) == "/var/lib/mysql/db.pid"
    assert pid_file({"pid_file": "/run/db.pid"}) == "/run/db.pid"
    assert pid_file({}) == ""


@pytest.mark.server
def test_a_real_server(shop: Server) -> None:
    """By its socket, and by its port."""
    assert listener(str(shop.socket)) == shop.pid
