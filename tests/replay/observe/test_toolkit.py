# SPDX-License-Identifier: Apache-2.0
"""Tests of the Percona Toolkit output that a run keeps."""

import shutil
from pathlib import Path

import pytest
from querytape.replay import ReplayOptions, Target, parse_target, replay
from querytape.replay.observe.toolkit import keep_summaries, option_file

from tests.helpers.tapes import make_tape

from ...conftest import ServerFactory, skip_loudly


@pytest.mark.long
@pytest.mark.server
def test_changed_variables_and_summaries_are_kept(
    mariadb_factory: ServerFactory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A variable that changed during the run is stored with its old and new value."""
    if not all(shutil.which(name) for name in ("pt-mysql-summary", "pt-config-diff", "mysqldump")):
        skip_loudly(request, "no Percona Toolkit, or no mysqldump for it: summaries are not tested")
    server = mariadb_factory()
    server.execute("CREATE USER app IDENTIFIED BY 'a \"b'")
    server.execute("GRANT ALL ON *.* TO app")
    source = {"identity": "elsewhere", "variables": {"sort_buffer_size": "4711", "version": server.version}}
    events = [{"statement": "SET GLOBAL table_open_cache = 777", "class": "admin"}]
    tape = make_tape(tmp_path / "t.tape", events, server=source)
    target = parse_target(f"mysql://app@127.0.0.1:{server.port}", environ={"QUERYTAPE_PASSWORD": 'a "b'})
    settings = ReplayOptions(
        target,
        tmp_path / "a.run",
        allow_writes=True,
        allow_statements=frozenset({"set_global"}),
        target_is_disposable=True,
        summaries=True,
    )
    summary = replay(tape, settings)
    assert summary.info["variables_changed"]["table_open_cache"][1] == "777"
    assert "pt-mysql-summary" in summary.info["summaries"]
    text = (summary.path / "toolkit" / "pt-mysql-summary.txt").read_text()
    assert server.version in text
    assert 'a "b' not in text
    assert summary.info["summaries"][-1] == "pt-config-diff-source"
    different = (summary.path / "toolkit" / "pt-config-diff-source.txt").read_text()
    assert [line.split()[:2] for line in different.splitlines() if "4711" in line] == [["sort_buffer_size", "4711"]]


def test_option_file_escapes_the_password() -> None:
    """The file names a socket if the target has one."""
    assert option_file(Target("app", socket="/s", password='a"\\b')).splitlines() == [
        "[client]",
        "user=app",
        'password="a\\"\\\\b"',
        "socket=/s",
    ]
    assert "host=10.0.0.7\nport=3306" in option_file(Target("app", "db", "10.0.0.7"))


def test_tool_output_is_private_and_follows_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output file has the mode 0600 before its first byte is written. An existing link is replaced. The file with
    the password is removed.
    """
    program = tmp_path / "bin" / "pt-mysql-summary"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nls -l "${1#*=}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    run, other = tmp_path / "a.run", tmp_path / "other"
    for folder in (run, run / "toolkit", run / "spill"):
        folder.mkdir()
    other.write_text("kept")
    (run / "toolkit" / "pt-mysql-summary.txt").symlink_to(other)
    (run / "spill" / "toolkit.cnf").symlink_to(other)
    assert keep_summaries(run, Target("app", socket="/s", password="x"), False, {})[:1] == ["pt-mysql-summary"]
    assert other.read_text() == "kept"
    kept = run / "toolkit" / "pt-mysql-summary.txt"
    assert not kept.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.read_text().startswith("-rw-------")
    assert not list((run / "spill").iterdir())
