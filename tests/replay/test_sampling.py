# SPDX-License-Identifier: Apache-2.0
"""What went on meanwhile: counters of the target and of this machine, beside the run."""

import os
import shutil
import time
from pathlib import Path

import pytest
from querytape.errors import InputError, TargetError
from querytape.replay import ReplayOptions, parse_target, replay
from querytape.replay.hosts import Host, SshHost, ssh_command
from querytape.replay.sampling import Sampler
from querytape.replay.sandbox import Server

from tests.replay.whole import books, options, query
from tests.tapes import MS, T0, make_tape

from ..conftest import ServerFactory, skip_loudly


@pytest.mark.mariadb
@pytest.mark.mysql
def test_counters_are_kept(any_shop: Server, tmp_path: Path) -> None:
    """Ticks on whole tenths of the wall clock; Com_select rises by what was sent; only what changed is kept again."""
    events = [{"statement": "SELECT COUNT(*) FROM log", "db": "shop", "start_ns": T0 + n * 10 * MS} for n in range(200)]
    tape = make_tape(tmp_path / "t.tape", events)
    summary = replay(tape, options(any_shop, tmp_path / "a.run", sample_ns=100 * MS))
    assert books(summary)[0] == 200
    assert summary.info["sampling_problem"] is None
    samples = f"read_parquet('{summary.path}/samples/*.parquet')"
    ticks = [row[0] for row in query(f"SELECT DISTINCT real_ns FROM {samples} ORDER BY 1")]
    assert len(ticks) > 10
    assert (
        sorted(at % (100 * MS) for at in ticks)[len(ticks) // 2] < 60 * MS
    )  # a busy machine may wake late now and then
    (first, last) = query(
        f"SELECT min(value), max(value) FROM {samples} WHERE source = 'status' AND name = 'Com_select'"
    )[0]
    assert last - first > 100
    repeated = query(
        f"SELECT count(*) FROM (SELECT value = lag(value) OVER (PARTITION BY source, name ORDER BY real_ns) AS same"
        f" FROM {samples}) WHERE same"
    )
    assert repeated == [(0,)]
    sources = {row[0] for row in query(f"SELECT DISTINCT source FROM {samples}")}
    assert sources == {"status", "processlist", "host", "sampler"}
    texts = query(f"SELECT name, text FROM read_parquet('{summary.path}/texts/*.parquet')")
    assert texts[0][0] == "innodb_status"
    assert "INNODB MONITOR OUTPUT" in texts[0][1]


def test_what_this_machine_has(tmp_path: Path) -> None:
    """Counters of /proc, from a made one; what is missing is left out."""
    (tmp_path / "net").mkdir()
    (tmp_path / "stat").write_text("cpu  10 0 5 100 7 1 2 3\ncpu0 1 2 3 4\nintr 99 1 2\nctxt 77\nprocs_running 4\n")
    (tmp_path / "diskstats").write_text("8 0 sda 1 2 30 4 5 6 70 8 9 10 11\n7 0 loop0 1 1 1 1 1 1 1 1 1 1 1\n")
    (tmp_path / "net" / "dev").write_text(
        "Inter-| Receive\n face |bytes\n  eth0: 100 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n"
    )
    found = {name: value for _, name, value in Host(tmp_path).read()}
    assert found["cpu user"] == 10
    assert found["cpu iowait"] == 7
    assert (found["ctxt"], found["interrupts"], found["procs_running"]) == (77, 99, 4)
    assert (found["disk sda read_bytes"], found["disk sda written_bytes"]) == (30 * 512, 70 * 512)
    assert not any("loop0" in name for name in found)
    assert (found["net eth0 received_bytes"], found["net eth0 sent_bytes"]) == (100, 200)
    assert list(Host(tmp_path / "nowhere").read()) == []


@pytest.mark.mariadb
def test_a_lost_connection_is_told(shop: Server, tmp_path: Path) -> None:
    """Where the sampler's own connection is lost, the run says so."""
    sampler = Sampler(tmp_path, parse_target(shop.url(), environ={}), 50 * MS, None)
    before = {row[0] for row in shop.execute("SHOW PROCESSLIST")}
    sampler.start()
    until = time.monotonic() + 20
    while sampler.problem is None and time.monotonic() < until:
        time.sleep(0.2)
        for number, _, _, _, command, *_ in shop.execute("SHOW PROCESSLIST"):
            if number not in before and command == "Sleep":
                shop.execute(f"KILL {number}")
    sampler.stop()
    assert sampler.problem is not None
    assert sampler.problem.startswith("ended after")


@pytest.mark.mariadb
def test_it_can_be_left_out(shop: Server, tmp_path: Path) -> None:
    """Nothing is sampled, and no second connection is made, where it is not wanted."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    summary = replay(tape, options(shop, tmp_path / "a.run", sample_ns=0))
    assert not (summary.path / "samples").exists()
    assert summary.info["sampling_problem"] is None


@pytest.mark.mariadb
def test_changes_and_summaries_are_kept(
    mariadb_factory: ServerFactory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A variable that changed meanwhile is named with both values; Percona Toolkit's words are in the run."""
    if not all(shutil.which(name) for name in ("pt-mysql-summary", "pt-config-diff", "mysqldump")):
        skip_loudly(request, "no Percona Toolkit, or no mysqldump for it: summaries are not tested")
    server = mariadb_factory()
    server.execute("CREATE USER app IDENTIFIED BY 'a \"b'")
    server.execute("GRANT ALL ON *.* TO app")
    source = {"identity": "elsewhere", "variables": {"sort_buffer_size": "4711", "version": server.version}}
    events = [{"statement": "SET GLOBAL table_open_cache = 777", "class": "admin"}]
    tape = make_tape(tmp_path / "t.tape", events, server=source)
    target = parse_target(f"mysql://app@127.0.0.1:{server.port}", environ={"QUERYTAPE_PASSWORD": 'a "b'})
    given = ReplayOptions(target, tmp_path / "a.run", allow_writes=True, target_is_disposable=True, summaries=True)
    summary = replay(tape, given)
    assert summary.info["variables_changed"]["table_open_cache"][1] == "777"
    assert "pt-mysql-summary" in summary.info["summaries"]
    text = (summary.path / "toolkit" / "pt-mysql-summary.txt").read_text()
    assert server.version in text
    assert 'a "b' not in text
    assert summary.info["summaries"][-1] == "pt-config-diff-source"
    different = (summary.path / "toolkit" / "pt-config-diff-source.txt").read_text()
    assert [line.split()[:2] for line in different.splitlines() if "4711" in line] == [["sort_buffer_size", "4711"]]


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


@pytest.mark.mariadb
def test_another_machine_is_seen_through_ssh(shop: Server, tmp_path: Path, fake_ssh: Path) -> None:
    """The same counters as of this machine, by one ssh that ends with the run."""
    events = [{"statement": "SELECT 1", "start_ns": T0 + n * 20 * MS} for n in range(60)]
    tape = make_tape(tmp_path / "t.tape", events)
    given = options(shop, tmp_path / "a.run", sample_ns=100 * MS, host_metrics="ssh://dba@db1:2222")
    summary = replay(tape, given)
    assert summary.info["sampling_problem"] is None
    assert "-p 2222 -l dba -- db1" in (fake_ssh / "arguments").read_text()
    samples = f"read_parquet('{summary.path}/samples/*.parquet')"
    found = query(f"SELECT DISTINCT name FROM {samples} WHERE source = 'host'")
    assert {"cpu user", "ctxt", "interrupts"} <= {row[0] for row in found}
    assert [True for (name,) in found if name.startswith("net ")]
    assert summary.info["parameters"]["host_metrics"] == "ssh://dba@db1:2222"


def test_ssh_that_gets_nowhere(fake_ssh: Path) -> None:
    """What ssh says is told; a URL that is none is refused."""
    (fake_ssh / "refuse").touch()
    with pytest.raises(TargetError, match="Permission denied"):
        SshHost("ssh://db1")
    for wrong in ("db1", "ssh://", "ssh://dba:secret@db1", "ssh://db1/path", "ssh://db1:99999"):
        with pytest.raises(InputError, match="--host-metrics"):
            ssh_command(wrong)


def test_ssh_that_is_lost(fake_ssh: Path) -> None:
    """A connection that ends meanwhile is an error with a sentence, not a hang."""
    host = SshHost("ssh://db1")
    assert {name: value for _, name, value in host.read()}["ctxt"] > 0
    host._process.kill()
    with pytest.raises(TargetError, match="ssh ended"):
        list(host.read())
    host.close()
