# SPDX-License-Identifier: Apache-2.0
"""Records small logs and packets of each installed server for tests/samples/. `make samples` runs this script.

Private servers run one after another. Three connections send STATEMENTS. Their texts have parts that logs quote, escape
or break over lines. The script keeps the slow log, the general log and the loopback packets of each server. Only the
program folder in the first line of a log is replaced. samples.json has each server's version and port. The files are
committed, and tests compare them with STATEMENTS. A clone therefore needs no further recordings.
"""

import argparse
import json
import os
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pymysql
from querytape.servers.programs import find_program, missing_sentence
from querytape.servers.sandbox import Server, start_server

SERVERS = ("mariadb", "mariadb-11.8", "mysql-5.7", "mysql-8.0", "mysql-9")
SESSIONS = 3
ALL_PACKETS, OUTGOING, ETHERNET = 3, 4, 1
BUFFER_OPTION, BUFFER = 33, 64 << 20  # the option SO_RCVBUFFORCE, and a size for busy machines
PACKET_LEVEL, STATISTICS = 263, 6  # constants of packet(7)
# Each statement begins with a comment that contains its number. {s} is the session. Statements in FAILING fail on every
# server.
STATEMENTS = (
    "/* s{s}.00 */ SELECT 1",
    "/* s{s}.01 */ INSERT INTO t (id, v) VALUES ({s}00, 'it''s \\\\ \\'quoted\\', \"too\"'), ({s}01, 'µ € 日本')",
    "/* s{s}.02 */ SELECT id,\n       v\n  FROM t\n\n WHERE id = {s}00 -- the rest; of the line\n",
    "/* s{s}.03 */ SELECT ';', '# Time: 2026-01-01T00:00:00Z', '# User@Host: nobody[nobody] @  []'",
    "/* s{s}.04 */ BEGIN",
    "/* s{s}.05 */ UPDATE t SET v = NULL WHERE id = {s}01",
    "/* s{s}.06 */ COMMIT",
    "/* s{s}.07 */ SELECT v FROM nothing_of_this_name",
    "/* s{s}.08 */ PREPARE p FROM 'SELECT id FROM t WHERE id = ?'",
    "/* s{s}.09 */ SET @id = {s}00, NAMES utf8mb4",
    "/* s{s}.10 */ EXECUTE p USING @id",
    "/* s{s}.11 */ DEALLOCATE PREPARE p",
    "/* s{s}.12 */ SELECT '" + "x" * 900 + "', 0x00ff0a27, -1.5e10, _latin1'a'",
    "/* s{s}.13 */ DELETE FROM t WHERE id = {s}00",
    "/* s{s}.14 */ ROLLBACK",
)
FAILING = frozenset({7})


def statements(session: int) -> list[str]:
    """Return the statements of a session."""
    return [text.format(s=session) for text in STATEMENTS]


def ask(server: Server, session: int) -> None:
    """Run a session: connect over TCP, send all statements, disconnect."""
    options: dict[str, Any] = {"ssl_disabled": True, "charset": "utf8mb4", "autocommit": None}
    with closing(pymysql.connect(host="127.0.0.1", port=server.port, user="app", database="shop", **options)) as con:
        for text in statements(session):
            with con.cursor() as cursor, suppress(pymysql.err.MySQLError):
                cursor.execute(text)
                cursor.fetchall()
            time.sleep(0.01)
        con.ping()


@contextmanager
def recorded(port: int, path: Path) -> Iterator[None]:
    """Write the packets of a loopback port into a capture file (pcap, microseconds) during the block."""
    done, until = threading.Event(), [0.0]
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PACKETS)) as listener,
        path.open("wb") as out,
    ):
        listener.bind(("lo", 0))
        listener.settimeout(0.5)
        listener.setsockopt(socket.SOL_SOCKET, BUFFER_OPTION, BUFFER)
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, ETHERNET))

        def write() -> None:
            while not done.is_set() or time.monotonic() < until[0]:
                try:
                    frame, address = listener.recvfrom(262144)
                except TimeoutError:
                    continue
                if address[2] != OUTGOING and port in ports_of(frame):
                    seconds, micros = divmod(time.time_ns() // 1000, 1_000_000)
                    out.write(struct.pack("<IIII", seconds, micros, len(frame), len(frame)) + frame)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield
        finally:
            until[0] = time.monotonic() + 3
            done.set()
            thread.join()
        if lost := struct.unpack("II", listener.getsockopt(PACKET_LEVEL, STATISTICS, 8))[1]:
            raise SystemExit(f"{path.name}: {lost} packets were lost: run it again")


def ports_of(frame: bytes) -> tuple[int, ...]:
    """Return both ports of a frame with TCP over IPv4. Returns nothing for other frames."""
    if frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return ()
    begin = 14 + (frame[14] & 15) * 4
    return struct.unpack(">HH", frame[begin : begin + 4])


def record(kind: str, folder: Path) -> dict[str, Any]:
    """Record one server. Return its entry for samples.json."""
    options = {"general-log-file": "/dev/null", "log-output": "FILE", "long-query-time": "0"}
    with start_server(kind, config=options) as server:
        server.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
        server.execute("CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(100))")
        server.execute("CREATE USER app@'127.0.0.1'")
        server.execute("CREATE USER app@localhost")
        for host in ("'127.0.0.1'", "localhost"):
            server.execute(f"GRANT ALL ON shop.* TO app@{host}")
        general = server.slow_log.with_name("general.log")
        server.execute(f"SET GLOBAL general_log_file = '{general}'")
        server.execute("SET GLOBAL general_log = ON, GLOBAL slow_query_log = ON")
        with recorded(server.port, folder / f"{kind}.pcap"):
            threads = [threading.Thread(target=ask, args=(server, 1 + number)) for number in range(SESSIONS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        server.execute("SET GLOBAL general_log = OFF, GLOBAL slow_query_log = OFF")
        for name, log in (("slow", server.slow_log), ("general", general)):
            text = re.sub(rb"^/\S+/(?=mysqld|mariadbd)", b"/usr/sbin/", log.read_bytes(), flags=re.M)
            (folder / f"{kind}.{name}.log").write_bytes(text)
        return {"server": f"{kind.partition('-')[0]} {server.version}", "port": server.port}


def main() -> None:
    """Record all installed servers, and print the names of missing servers."""
    parser = argparse.ArgumentParser(prog="make samples")
    parser.add_argument("--outdir", type=Path, default=Path(__file__).resolve().parent.parent / "tests" / "samples")
    parser.add_argument("--only", action="append", choices=SERVERS)
    given = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("make samples needs root: it records packets of the loopback")
    given.outdir.mkdir(parents=True, exist_ok=True)
    file = given.outdir / "samples.json"
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for kind in given.only or SERVERS:
        if find_program(kind) is None:
            raise SystemExit(missing_sentence(kind))
        known[kind] = record(kind, given.outdir)
        print(f"{kind}: {known[kind]['server']}")
    file.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
