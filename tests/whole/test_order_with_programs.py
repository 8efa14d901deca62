# SPDX-License-Identifier: Apache-2.0
"""The order of commits while programs of other projects work next to sysbench: Percona Toolkit, mysqldump, mysqlslap."""

import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from querytape.servers.sandbox import Server

from tests.helpers.live import may_capture, recording

from ..conftest import ServerFactory, skip_loudly
from .test_commit_order import copy_tables, errors_of, run, sysbench

# MariaDB 10.11 sometimes does not find the table of a new trigger when it executes an older prepared statement.
TEXT = "--db-ps-mode=disable"
LOAD = (TEXT, "--threads=6", "--events=0", "--time=5", "--rate=120", "--mysql-ignore-errors=all", "run")
SCHEMAS = "('sbtest', 'made', 'mysqlslap')"  # the last two are created by the programs


def programs(port: int) -> dict[str, list[str]]:
    """Return the command lines of the programs."""
    server = ["-h127.0.0.1", f"-P{port}", "-uroot", "--skip-ssl"]
    tables, quiet = f"h=127.0.0.1,P={port},u=root,D=sbtest,t=", "--no-version-check"
    return {
        "change a table": [
            *("pt-online-schema-change", "--alter", "ADD COLUMN more INT NOT NULL DEFAULT 5, ADD KEY by_c (c)"),
            *("--execute", "--no-check-plan", "--recursion-method", "none", "--chunk-size", "200", quiet),
            f"{tables}sbtest1",
        ],
        "archive rows": [
            *(
                "pt-archiver",
                "--source",
                f"{tables}sbtest2",
                "--dest",
                f"{tables}sbtest2,D=made",
                "--where",
                "id % 7=3",
            ),
            *("--limit", "40", "--txn-size", "40", "--no-check-charset", quiet),
        ],
        "dump": ["mysqldump", *server, "--single-transaction", "sbtest"],
        "dump with locks": ["mysqldump", *server, "--lock-tables", "sbtest"],
        "use a new schema": [
            *("mysqlslap", *server, "--auto-generate-sql", "--auto-generate-sql-load-type=mixed"),
            *("--concurrency=3", "--number-of-queries=200", "--no-drop"),
        ],
    }


def contents(server: Server) -> dict[str, int]:
    """Return the checksum of each table."""
    names = server.execute(
        "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables"
        f" WHERE table_schema IN {SCHEMAS} AND table_type = 'BASE TABLE'"
    )
    return {name: server.execute(f"CHECKSUM TABLE {name}")[0][1] for (name,) in names}


def restore(server: Server) -> None:
    """Create the tables as they were before the programs ran."""
    server.execute("DROP DATABASE IF EXISTS mysqlslap")
    copy_tables(server, "kept", "sbtest")
    copy_tables(server, "kept", "made")
    server.execute("DELETE FROM made.sbtest2")


@pytest.mark.parametrize("kind", ["mariadb", "mysql-8.0"])
def test_tables_are_equal_after_programs_of_other_projects(
    kind: str, server_factory: ServerFactory, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The tape has triggers, renames, dynamic chunks, table locks, snapshots, and a schema of its own."""
    may_capture(request)
    missing = {words[0] for words in programs(0).values() if shutil.which(words[0]) is None}
    if missing or shutil.which("sysbench") is None:
        skip_loudly(request, f"no {', '.join(sorted(missing)) or 'sysbench'}: its work is not replayed")
    server = server_factory(kind)
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE DATABASE sbtest")
    sysbench(server, "oltp_read_write", "prepare")
    copy_tables(server, "sbtest", "kept")
    assert record_and_replay(server, tmp_path) == {}


def record_and_replay(server: Server, folder: Path) -> dict[str, tuple[int | None, int | None]]:
    """Record all programs and replay the tape. Return the checksums of the tables that differ."""
    restore(server)
    with recording(server.port, folder / "p.tape"):
        load = threading.Thread(target=sysbench, args=(server, "oltp_read_write", *LOAD))
        load.start()
        with ThreadPoolExecutor() as pool:
            ended = [pool.submit(work, words) for words in programs(server.port).values()]
        load.join()
        for each in ended:
            each.result()
    original = contents(server)
    assert "mysqlslap.t1" in original
    restore(server)
    summary = run(server, folder / "p.tape", folder / "p.run", commit_order=True)
    assert set(summary.errors) <= errors_of(folder / "p.tape")
    assert summary.info["accounting"]["order_broken"] == 0
    replayed = contents(server)
    names = {name for name in original.keys() | replayed.keys() if original.get(name) != replayed.get(name)}
    return {name: (original.get(name), replayed.get(name)) for name in names}


def work(words: list[str]) -> None:
    """Run a program and check that it succeeds."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
