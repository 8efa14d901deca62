# SPDX-License-Identifier: Apache-2.0
"""The restore file, which holds a capture's changed settings, is always complete. The restore waits for open sessions."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from querytape.capture.server_log import restore
from querytape.capture.server_log.restore import (
    RestoreFile,
    WatchOptions,
    default_restore_file,
    pending_sentence,
    read_restore_file,
    replace_restore_file,
    settle,
    take_back,
    write_restore_file,
)
from querytape.capture.server_log.sessions import Span
from querytape.capture.server_log.settings import HOLD, Change, plan_changes, set_global
from querytape.common.errors import InputError

from tests.helpers.fake_server import FakeServer, FakeTarget

CHANGES = (Change("slow_query_log", "OFF", "ON"), Change("slow_query_log", "ON", "OFF", HOLD))
SAVED = RestoreFile("mysql://app@h:1/", "id", "2026-11-20", CHANGES, "/x.log", "file", 7, 9, (3, 4), 1_795_000_000)
BEFORE = {
    "long_query_time": "10.000000",
    "log_output": "FILE",
    "slow_query_log": "ON",
    "slow_query_log_file": "/var/log/slow.log",
}
SPAN = Span(first=10, last=30)
PATIENT, AT_ONCE = WatchOptions(watch_s=60.0), WatchOptions(watch_s=0.0)


def test_restore_file_is_private_and_written_once(tmp_path: Path) -> None:
    """The restore file is read back unchanged. A second restore file is refused, and the message contains the restore
    command.
    """
    path = tmp_path / "deep" / "restore.json"
    write_restore_file(path, SAVED)
    assert read_restore_file(path) == SAVED
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(
        InputError, match=r"an earlier capture did not restore the settings of this server\. Run .*--restore"
    ):
        write_restore_file(path, SAVED)
    assert [entry.name for entry in path.parent.iterdir()] == ["restore.json"]


def test_concurrent_captures_create_one_restore_file(tmp_path: Path) -> None:
    """One of the captures creates a complete restore file. All other captures are refused."""
    path = tmp_path / "r.json"
    barrier = [RestoreFile(f"mysql://app@h:{n}/", "id", "t", CHANGES, None) for n in range(16)]

    def begin(saved: RestoreFile) -> RestoreFile | None:
        try:
            write_restore_file(path, saved)
            return saved
        except InputError:
            return None

    with ThreadPoolExecutor(16) as pool:
        began = [saved for saved in pool.map(begin, barrier) if saved]
    assert len(began) == 1
    assert read_restore_file(path) == began[0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_restore_file_never_overwrites_a_file_or_symlink(tmp_path: Path) -> None:
    """The restore file is opened with O_EXCL. A dangling symlink is not overwritten either."""
    link, aim = tmp_path / "r.json", tmp_path / "aim"
    link.symlink_to(aim)
    with pytest.raises(InputError, match="did not restore"):
        write_restore_file(link, SAVED)
    assert not aim.exists()
    other = tmp_path / "other.json"
    other.write_text("mine")
    with pytest.raises(InputError, match="--restore"):
        write_restore_file(other, SAVED)
    assert other.read_text() == "mine"


def test_interrupted_write_leaves_no_restore_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is killed before the restore file is on disk. The next capture starts without a restore."""
    path = tmp_path / "r.json"

    def killed(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        write_restore_file(path, SAVED)
    assert not path.exists()
    monkeypatch.undo()
    write_restore_file(path, SAVED)
    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        replace_restore_file(path, RestoreFile("other", "id", "t", (), None))
    assert read_restore_file(path) == SAVED


def test_restore_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_restore_file(path, SAVED)
    replace_restore_file(path, RestoreFile("other", "id", "t", (), None, held=True))
    assert read_restore_file(path).held
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


def test_pending_restore_is_reported_with_its_command(tmp_path: Path) -> None:
    """Without a restore file, no restore is pending. A damaged restore file also counts as a pending restore."""
    assert pending_sentence(tmp_path / "none") is None
    write_restore_file(tmp_path / "r", SAVED)
    assert "`querytape capture server mysql://app@h:1/ --restore`" in (pending_sentence(tmp_path / "r") or "")
    (tmp_path / "x").write_text("{")
    assert "capture server URL --restore" in (pending_sentence(tmp_path / "x") or "")


def test_missing_or_damaged_restore_file_is_reported(tmp_path: Path) -> None:
    """A file that is not a restore file is reported. Variable names from the restore file are never executed as
    statements.
    """
    with pytest.raises(InputError, match="There is nothing to restore"):
        read_restore_file(tmp_path / "none")
    good = asdict(SAVED)
    forged = [
        {**good, "changes": [{"name": "a = 1, GLOBAL b", "before": "1", "wanted": "2"}]},
        {**good, "changes": [{"name": "a", "before": 1, "wanted": "2"}]},
        {**good, "changes": [{"name": "a", "before": "1", "wanted": "2", "role": "x"}]},
        {**good, "first_id": "7"},
        {**good, "already": ["x"]},
        {**good, "identity": 5},
        {**good, "more": 5},
    ]
    for text in ("{", "[]", '{"changes": []}', *map(json.dumps, forged)):
        (tmp_path / "x").write_text(text)
        with pytest.raises(InputError, match="not a restore file"):
            read_restore_file(tmp_path / "x")


def test_each_server_has_its_own_restore_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the restore file is derived from the server's identity. The file is in the user's state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert default_restore_file("a").parent == Path("/state/querytape/restore")
    assert default_restore_file("a") == default_restore_file("a") != default_restore_file("b")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the wait between two checks."""
    monkeypatch.setattr(restore, "POLL_S", 0.0)
    return iter(())


def recording(server: FakeServer, path: Path) -> RestoreFile:
    """Begin a capture of the server. Return its restore file at `path`."""
    changes = plan_changes(server.variables, "file", "/q.log")
    saved = RestoreFile("mysql://app@prod:3306/", "id", "now", changes, "/q.log", first_id=10)
    write_restore_file(path, saved)
    for change in changes:
        if change.role != HOLD:
            set_global(server.connection(), change.name, change.wanted)
    return saved


def is_server_log_flooded(now: dict[str, str], carrying: bool) -> bool:
    """Return whether sessions with the capture's threshold write into the server's own log."""
    everything = carrying or float(now["long_query_time"]) == 0
    return everything and now["slow_query_log"] == "ON" and now["slow_query_log_file"] == "/var/log/slow.log"


def test_own_log_stays_off_until_capture_sessions_end(tmp_path: Path) -> None:
    """Two sessions connected during the capture and keep its threshold. Their statements never reach the server's own
    log.
    """
    server, path = FakeServer(BEFORE, {5: 10.0, 12: 0.0, 13: 0.0}), tmp_path / "r"
    saved, left = take_back(server.connection(), path, recording(server, path))
    assert (left.changed, left.refused) == ((), ())
    assert read_restore_file(path).held
    assert server.variables == BEFORE | {"slow_query_log": "OFF"}

    def leave(looks: int) -> None:
        if looks == 3:
            del server.sessions[12]
        if looks == 5:
            del server.sessions[13]

    back = settle(FakeTarget(server, leave), path, saved, SPAN, PATIENT)
    assert back.done
    assert server.variables == BEFORE
    assert not path.exists()
    assert not any(is_server_log_flooded(now, carrying=True) for now in server.history[1:-1])
    assert "2 sessions still have long_query_time = 0: 12 (app@web1), 13 (app@web1)" in back.lines[0]


def test_own_log_stays_off_if_a_session_outlasts_the_limit(tmp_path: Path) -> None:
    """A session with the capture's threshold stays open. The message names the session and the way to end it.
    `--restore` completes the restore later.
    """
    server, path = FakeServer(BEFORE, {12: 0.0}), tmp_path / "r"
    saved, _ = take_back(server.connection(), path, recording(server, path))
    back = settle(FakeTarget(server), path, saved, SPAN, AT_ONCE)
    assert not back.done
    assert server.variables["slow_query_log"] == "OFF"
    assert "NOT RESTORED: slow_query_log stays 'OFF'" in " ".join(back.lines)
    assert "--restore" in back.lines[-1]
    server.sessions.clear()
    saved, _ = take_back(server.connection(), path, read_restore_file(path))
    assert settle(FakeTarget(server), path, saved, SPAN, AT_ONCE).done
    assert server.variables == BEFORE


def test_options_enable_the_log_or_end_idle_sessions(tmp_path: Path) -> None:
    """`log_again` enables the server's own log at once. `--end-sessions` ends idle sessions outside a transaction, but
    no busy session.
    """
    server, path = FakeServer(BEFORE, {12: 0.0}), tmp_path / "r"
    saved, _ = take_back(server.connection(), path, recording(server, path))
    back = settle(FakeTarget(server), path, saved, SPAN, WatchOptions(0.0, log_again=True))
    assert back.done
    assert server.variables == BEFORE
    assert "WRITES EVERY STATEMENT" in back.lines[-1]

    server, path = FakeServer(BEFORE, {5: 0.5, 12: 0.0, 13: 0.0, 14: 0.0}), tmp_path / "s"
    server.busy = {13}
    server.answers = [("innodb_trx", [(14,)])]
    saved, _ = take_back(server.connection(), path, recording(server, path))
    back = settle(FakeTarget(server), path, saved, SPAN, WatchOptions(0.0, end_sessions=True))
    assert server.killed == [12]
    assert not back.done
    assert "--end-sessions ended 1 idle session: 12" in " ".join(back.lines)


def test_restore_leaves_a_disabled_log_off(tmp_path: Path) -> None:
    """The server's own log was off before the capture. Sessions with the capture's threshold then write nothing to it.
    They are listed, but the restore does not wait for them.
    """
    server, path = FakeServer(BEFORE | {"slow_query_log": "OFF"}, {12: 0.0}), tmp_path / "r"
    saved, _ = take_back(server.connection(), path, recording(server, path))
    back = settle(FakeTarget(server), path, saved, SPAN, PATIENT)
    assert back.done
    assert "write nothing" in back.lines[-1]
    assert server.killed == []
    assert server.variables == BEFORE | {"slow_query_log": "OFF"}


@pytest.mark.parametrize("killed_after", range(12))
def test_restore_works_after_a_kill_at_any_step(tmp_path: Path, killed_after: int) -> None:
    """The restore from the file sets the previous values. The server's own log never receives extra statements."""
    server, path = FakeServer(BEFORE, {12: 0.0}), tmp_path / "r"
    left = [killed_after]
    answer = server.answer

    def dies(sql: str, arguments: Any) -> Any:
        if sql.startswith("SET GLOBAL"):
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
        return answer(sql, arguments)

    server.answer = dies
    try:
        saved, _ = take_back(server.connection(), path, recording(server, path))
        settle(FakeTarget(server), path, saved, SPAN, WatchOptions(0.0, log_again=True))
    except KeyboardInterrupt:
        pass
    server.answer = answer
    if path.exists():
        saved, _ = take_back(server.connection(), path, read_restore_file(path))
        assert not settle(FakeTarget(server), path, saved, SPAN, AT_ONCE).done or server.variables == BEFORE
        assert not is_server_log_flooded(server.variables, carrying=True)
        server.sessions.clear()
        saved, _ = take_back(server.connection(), path, read_restore_file(path))
        assert settle(FakeTarget(server), path, saved, SPAN, AT_ONCE).done
    assert server.variables == BEFORE
    assert not path.exists()


def test_log_disabled_by_another_user_stays_off(tmp_path: Path) -> None:
    """Another user disabled the server's own log during the capture. The message reports that the log stays off."""
    server, path = FakeServer(BEFORE, {12: 0.0}), tmp_path / "r"
    saved = recording(server, path)
    server.variables["slow_query_log"] = "OFF"
    saved, left = take_back(server.connection(), path, saved)
    assert "to 'OFF', so querytape keeps the new value" in left.changed[0]
    assert settle(FakeTarget(server), path, saved, SPAN, PATIENT).done
    assert server.variables == BEFORE | {"slow_query_log": "OFF"}


def test_refused_setting_stays_in_the_restore_file(tmp_path: Path) -> None:
    """A privilege was revoked, so one setting cannot be restored. The other settings are restored, and the message
    names the privilege.
    """
    server, path = FakeServer(BEFORE | {"slow_query_log": "OFF"}), tmp_path / "r"
    saved = recording(server, path)
    server.refused = {"long_query_time"}
    _, left = take_back(server.connection(), path, saved)
    assert len(left.refused) == 1
    assert path.exists()
    assert server.variables == BEFORE | {"slow_query_log": "OFF", "long_query_time": "0.000000"}


def test_log_stays_off_without_the_process_privilege(tmp_path: Path) -> None:
    """Without the PROCESS privilege, the sessions of other users are invisible. The server's own log therefore stays
    off, and the message names the privilege.
    """
    server, path = FakeServer(BEFORE, {12: 0.0}), tmp_path / "r"
    server.shows_values = False
    server.answers = [("SHOW GRANTS", [("GRANT USAGE ON *.* TO a",)]), ("SHOW PROCESSLIST", [])]
    saved, _ = take_back(server.connection(), path, recording(server, path))
    back = settle(FakeTarget(server), path, saved, SPAN, AT_ONCE)
    assert not back.done
    assert "PROCESS" in back.lines[0]
