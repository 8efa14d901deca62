# SPDX-License-Identifier: Apache-2.0
"""Tests of foreign data folders: unsuitable folders, safe copies, and a private server on a copy."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.servers.data_folder import check_data, copy_data
from querytape.servers.programs import server_account
from querytape.servers.sandbox import Server, private_folder, start_server

LOCKER = "import fcntl, sys, time; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); time.sleep(60)"


def contents(folder: Path) -> dict[str, str]:
    """Return the checksum, owner and mode of each file in a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        str(
            path.relative_to(folder)
        ): f"{sha256(path.read_bytes()).hexdigest()} {path.stat().st_uid} {path.stat().st_mode}"
        for path in files
    }


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("a.pid", "7", "a server is probably using the folder"),
        ("xtrabackup_checkpoints", "backup_type = full-backuped\n", "not prepared. Run xtrabackup --prepare"),
        ("mariadb_backup_checkpoints", "backup_type = full-backuped\n", "not prepared. Run mariadb-backup --prepare"),
        (
            "xtrabackup_checkpoints",
            "backup_type = incremental\nfrom_lsn = 7\n",
            "an incremental backup.*xtrabackup --prep",
        ),
        ("mariadb_backup_checkpoints", "backup_type=incremental\n", "an incremental backup .*mariadb-backup --prep"),
        ("xtrabackup_checkpoints", "backup_type = log-applied\n", "not prepared. Run xtrabackup --prepare"),
        ("shop/t.isl", "/data2/shop/t.ibd", "the table of shop/t.isl is outside the folder"),
        ("ts.isl", "/data2/ts.ibd", "the table of ts.isl is outside the folder"),
    ],
)
def test_unsuitable_data_folder_is_refused(tmp_path: Path, file: str, text: str, message: str) -> None:
    """The check refuses the folder of a running server, an unprepared backup and a table outside the folder. No copy is
    made.
    """
    with pytest.raises(InputError, match="expected the data folder of a stopped server"):
        check_data(tmp_path)
    (tmp_path / "ibdata1").write_bytes(b"")
    check_data(tmp_path)
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text)
    with pytest.raises(InputError, match=message):
        check_data(tmp_path)


@pytest.mark.parametrize("prefix", ["xtrabackup", "mariadb_backup"])
def test_prepared_mariadb_backup_is_accepted(tmp_path: Path, prefix: str) -> None:
    """mariadb-backup marks a prepared backup as `log-applied`. The error for an unprepared backup names mariadb-backup."""
    (tmp_path / "ibdata1").write_bytes(b"")
    (tmp_path / f"{prefix}_info").write_text("tool_name = mariadb-backup\nserver_version = 10.11.19-MariaDB-log\n")
    checkpoints = tmp_path / f"{prefix}_checkpoints"
    checkpoints.write_text("backup_type = log-applied\nfrom_lsn = 0\nto_lsn = 44848\n")
    check_data(tmp_path)
    checkpoints.write_text("backup_type = full-backuped\nfrom_lsn = 0\nto_lsn = 44848\n")
    with pytest.raises(InputError, match=r"not prepared\. Run mariadb-backup --prepare"):
        check_data(tmp_path)
    checkpoints.write_text("backup_type = incremental\nfrom_lsn = 7\nto_lsn = 44848\n")
    with pytest.raises(InputError, match=r"incremental .*\(mariadb-backup --prepare --incremental-dir"):
        check_data(tmp_path)


@pytest.mark.parametrize("before", [b"\0\0\0\1", b"\0h", b"\0&", b"\0.", b"\0'", b"\0tables in a/b.ibd "])
def test_tablespace_outside_the_folder_is_refused(tmp_path: Path, before: bytes) -> None:
    """The data dictionary of MySQL has absolute file names. A private server would write to such a file."""
    data, other = tmp_path / "data", tmp_path / "other folder" / "t.ibd"
    data.mkdir()
    (data / "ibdata1").write_bytes(b"")
    named = before + os.fsencode(other) + b"\x80\0id=7;"
    manual = b"x_from_file_name('" + os.fsencode(tmp_path / "manual.ibd")
    (tmp_path / "manual.ibd").write_bytes(b"")
    (data / "mysql.ibd").write_bytes(bytes(16384) + b"\0\1./shop/t.ibd\0" + manual + bytes(99) + named + bytes(16384))
    check_data(data)  # the file does not exist yet
    other.parent.mkdir()
    other.write_bytes(b"rows")
    with pytest.raises(InputError, match=f"the data dictionary refers to the file {other}, which exists here"):
        check_data(data)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["mysql-8.0", "mysql-9", "mysql-5.7", "mariadb"])
def test_tables_outside_the_folder_are_refused(
    server_factory: Callable[..., Server], tmp_path: Path, kind: str
) -> None:
    """The table has a DATA DIRECTORY or a tablespace. A private server must not write to the original files."""
    places = [private_folder("qt-elsewhere-") for _ in range(2)]
    try:
        modern = kind in ("mysql-8.0", "mysql-9")
        first = server_factory(kind, {"loose-innodb-directories": ";".join(map(str, places))} if modern else {})
        first.execute("CREATE DATABASE shop")
        if kind == "mariadb" or modern:
            first.execute(f"CREATE TABLE shop.t (a INT PRIMARY KEY) ENGINE=InnoDB DATA DIRECTORY='{places[0]}'")
        else:
            first.execute(f"CREATE TABLESPACE ts ADD DATAFILE '{places[1]}/ts.ibd'")
        first.stop()
        with pytest.raises(
            InputError, match=r"is outside the folder|the data dictionary refers to the file /tmp/qt-elsewhere"
        ):
            start_server(first.kind, data=first.datadir)
        if modern:
            again = server_factory(kind, {"loose-innodb-directories": ";".join(map(str, places))})
            again.execute(f"CREATE TABLESPACE ts ADD DATAFILE '{places[1]}/ts.ibd'")
            again.stop()
            with pytest.raises(InputError, match=r"the data dictionary refers to the file /tmp/qt-elsewhere-.*/ts.ibd"):
                start_server(again.kind, data=again.datadir)
    finally:
        for place in places:
            shutil.rmtree(place)


def test_index_of_foreign_logs_is_not_copied(tmp_path: Path) -> None:
    """A server would purge or truncate the original logs that the index file names. An index file is copied only if its
    logs are inside the data folder.
    """
    source = tmp_path / "source"
    source.mkdir()
    (source / "ibdata1").write_bytes(b"")
    (source / "binlog.index").write_text("./binlog.000001\n/var/log/mysql/binlog.000002\n")
    (source / "relay.index").write_text("../relay.000001\n")
    (source / "own.index").write_text("./own.000001\nown.000002\n")
    copy_data(source, tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").glob("*.index")] == ["own.index"]
    assert len(list(source.glob("*.index"))) == 3


def test_locked_data_folder_is_refused(tmp_path: Path) -> None:
    """Servers lock ibdata1, even if their pid file is outside the data folder. The error names the process."""
    (tmp_path / "ibdata1").write_bytes(b"x")
    with subprocess.Popen([sys.executable, "-c", LOCKER, str(tmp_path / "ibdata1")], stdout=subprocess.PIPE) as locker:
        assert locker.stdout is not None
        locker.stdout.readline()
        with pytest.raises(InputError, match=f"process {locker.pid} has locked ibdata1"):
            check_data(tmp_path)
        locker.kill()
    check_data(tmp_path)


def test_copy_has_no_links_to_the_original(tmp_path: Path) -> None:
    """Symbolic links are followed, including a link to the folder itself. The copy belongs to the server account and
    has no UUID.
    """
    real, other = tmp_path / "real", tmp_path / "other"
    for folder in (real, other):
        folder.mkdir()
    (real / "ibdata1").write_bytes(b"x")
    (real / "auto.cnf").write_text("[auto]\n")
    (other / "t.ibd").write_bytes(b"rows")
    (real / "shop").symlink_to(other)
    (tmp_path / "link").symlink_to(real)
    copy_data(tmp_path / "link", tmp_path / "copy")
    assert not (tmp_path / "copy").is_symlink()
    assert not (tmp_path / "copy" / "shop").is_symlink()
    (tmp_path / "copy" / "shop" / "t.ibd").write_bytes(b"changed")
    assert (other / "t.ibd").read_bytes() == b"rows"
    assert not (tmp_path / "copy" / "auto.cnf").exists()
    account = server_account()
    if account is not None:
        assert {path.stat().st_uid for path in (tmp_path / "copy").rglob("*")} == {account.pw_uid}


def test_failed_copy_is_reported(tmp_path: Path) -> None:
    """The message contains the folder and the error of the operating system."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "gone").symlink_to(tmp_path / "nothing")
    with pytest.raises(InputError, match="the data folder cannot be copied"):
        copy_data(tmp_path / "real", tmp_path / "copy")


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["mariadb", "mysql80"])
def test_private_server_runs_on_a_foreign_data_folder(
    server_factory: Callable[..., Server], tmp_path: Path, kind: str
) -> None:
    """The folder has unknown passwords, private files, replication settings, a read-only setting and events.

    The copy does not replicate, runs no events and accepts writes. The original folder stays unchanged.
    """
    config = {"event-scheduler": "ON", "server-id": "7", "loose-log-slave-updates": "OFF"}
    first = server_factory(kind, config)
    first.execute("CREATE DATABASE shop")
    first.execute("CREATE TABLE shop.t (a INT PRIMARY KEY)")
    first.execute("INSERT INTO shop.t VALUES (7)")
    first.execute("CREATE EVENT shop.e ON SCHEDULE EVERY 1 SECOND DO INSERT IGNORE INTO shop.t VALUES (23)")
    first.execute("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='r', MASTER_PASSWORD='r'")
    if first.program.family == "mysql":
        first.execute("SET PERSIST_ONLY super_read_only = ON")
    first.execute("DELETE FROM shop.t WHERE a = 23")
    first.execute("ALTER USER root@localhost IDENTIFIED BY 'Nobody-Tells-1'")
    first.kill()
    data = tmp_path / "restored"
    subprocess.run(["cp", "-a", str(first.datadir), str(data)], check=True)
    for pid in data.glob("*.pid"):
        pid.unlink()
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "root:root", str(data)], check=True)
        subprocess.run(["chmod", "-R", "go=", str(data)], check=True)
    before = contents(data)
    with start_server(first.kind, data=data) as server:
        server.execute("INSERT INTO shop.t VALUES (41)")
        assert {7, 41} <= {row[0] for row in server.execute("SELECT a FROM shop.t")}
        threads = server.execute("SELECT COMMAND, INFO, USER FROM information_schema.PROCESSLIST")
        assert not {"event_scheduler", "system user"} & {row[2] for row in threads}, threads
        assert server.execute("SELECT @@event_scheduler") == (("OFF",),)
    assert contents(data) == before
