# SPDX-License-Identifier: Apache-2.0
"""Traffic on each available server, captured at the same time from packets, slow log and general log. The three tapes
are equal.
"""

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pymysql
import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.servers.sandbox import Server

from tests.helpers.relay import Relay
from tests.helpers.tiers import mostly_long

KINDS = ("mariadb", "mariadb-11.8", "mysql-5.7", "mysql-8.0", "mysql-9")
CONNECTIONS = 4
UNPARSED = "SELEC nothing"
# Statements that a server omits from its own logs. MySQL does not log statements that it cannot parse.
UNLOGGED: dict[tuple[str, str], tuple[str, ...]] = {
    ("mysql-5.7", "general"): (UNPARSED,),
    ("mysql-8.0", "slowlog"): (UNPARSED,),
    ("mysql-8.0", "general"): (UNPARSED,),
    ("mysql-9", "slowlog"): (UNPARSED,),
    ("mysql-9", "general"): (UNPARSED,),
}
# In MySQL's slow log, a connection without a schema appears with the schema of the previous entry.
SCHEMALESS = {(kind, "slowlog", b"SET NAMES utf8mb4") for kind in KINDS if kind.startswith("mysql")}


def talk(port: int, number: int) -> None:
    """Run the statements of one connection. They include a schema change, a transaction, failures, unusual bytes and a
    long pause.
    """
    con: Any = pymysql.connect(host="127.0.0.1", port=port, user="root", ssl_disabled=True, autocommit=True)
    statements = [
        "USE shop",
        f"SELECT {number} AS who",
        "SELECT * FROM nowhere",
        "START TRANSACTION",
        f"INSERT INTO t VALUES ({number}, 'it''s \n# Time: 240610  8:13:20\n# Query_time: 1')",
        f"INSERT INTO t VALUES ({number}, 'again')",
        "COMMIT",
        "SELECT COUNT(*), MAX(b) FROM t WHERE a IN (1, 2, 3)",
        "/* a comment */ SELECT 'caf\u00e9', \"\u4e2d\" -- and another",
        "SET @x = 5",
        "SELECT @x + 1",
        UNPARSED,
        "UPDATE t SET b = 'x' WHERE a = 99",
        "SELECT SLEEP(0.01)",
    ]
    with con.cursor() as cursor:
        for statement in statements:
            with suppress(pymysql.MySQLError):
                cursor.execute(statement)
                cursor.fetchall()
    con.close()


def recorded(server: Server, tmp_path: Path) -> dict[str, list[str]]:
    """Run the connections while all three sources record. Return the files by kind of source."""
    server.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
    server.execute("CREATE TABLE shop.t (a INT PRIMARY KEY, b TEXT)")
    logs = {"slowlog": "slow.log", "general": "general.log"}
    server.execute(f"SET GLOBAL slow_query_log_file = '{server.datadir / logs['slowlog']}'")
    server.execute(f"SET GLOBAL general_log_file = '{server.datadir / logs['general']}'")
    server.execute("SET GLOBAL log_output = 'FILE', GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON")
    server.execute("SET GLOBAL general_log = ON")
    with Relay(server.port) as relay:
        for number in range(CONNECTIONS):
            talk(relay.port, number)
    server.execute("SET GLOBAL general_log = OFF, GLOBAL slow_query_log = OFF")
    files = {}
    for kind, name in logs.items():
        (tmp_path / name).write_bytes((server.datadir / name).read_bytes())
        files[kind] = [str(tmp_path / name)]
    files["packets"] = [str(relay.write(tmp_path / "talk.pcap"))]
    return files


def executed(tape: Path) -> dict[int, list[tuple[str, bytes, str | None]]]:
    """Return (digest, statement, schema) of each connection's statements, in order."""
    found: dict[int, list[tuple[str, bytes, str | None]]] = defaultdict(list)
    with duckdb.connect() as con:
        for thread, digest, statement, db in con.execute(
            f"SELECT thread_id, digest, statement, db FROM '{tape}/events/*.parquet'"
            " WHERE command = 'query' AND statement IS NOT NULL ORDER BY session, seq"
        ).fetchall():
            found[thread].append((digest, bytes(statement), db))
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", mostly_long(KINDS, "mysql-8.0"))
def test_three_live_sources_give_equal_tapes(server_factory: Callable[..., Server], tmp_path: Path, kind: str) -> None:
    """The statements are equal byte for byte, in the same order, with the same connections and schemas."""
    files = recorded(server_factory(kind), tmp_path)
    found = {}
    for source, names in files.items():
        capture_source(SOURCES[source], names, tmp_path / f"{source}.tape", Settings())
        found[source] = executed(tmp_path / f"{source}.tape")
    packets = found["packets"]
    assert len(packets) == CONNECTIONS
    for thread, said in packets.items():
        for source in ("slowlog", "general"):
            theirs = [(digest, text) for digest, text, _ in found[source][thread]]
            missing = UNLOGGED.get((kind, source), ())
            assert theirs == [(digest, text) for digest, text, _ in said if text.decode() not in missing], (
                source,
                thread,
            )
            schemas = {text: db for _, text, db in said if not text.startswith(b"USE")}
            known = [row[1:] for row in found[source][thread] if row[2] is not None and row[1] in schemas]
            differ = {(kind, source, text) for text, db in known if db != schemas[text]}
            assert differ <= SCHEMALESS, (source, thread)
