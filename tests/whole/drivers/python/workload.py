# SPDX-License-Identifier: Apache-2.0
"""The common workload of the driver tests in Python: `workload.py LIBRARY`. LIBRARY is pymysql, connector_pure,
mysqlclient or asyncmy.
"""

import asyncio
import datetime
import decimal
import os
import sys
import tempfile
from typing import Any

HOST, PORT = os.environ["QT_HOST"], int(os.environ["QT_PORT"])
USER, PASSWORD, DB = os.environ["QT_USER"], os.environ.get("QT_PASSWORD", ""), os.environ["QT_DB"]
LARGE = int(os.environ.get("QT_LARGE", "200000"))
INSERT = (
    "INSERT INTO items (name, qty, price, made, day, raw, note, big, ratio) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
ROW = (
    "caf\u00e9 \u4e2d 'it''s' \\",
    -7,
    decimal.Decimal("12345.67"),
    datetime.datetime(2026, 2, 28, 23, 59, 59, 123456),
    datetime.date(1999, 12, 31),
    bytes(range(256)),
    None,
    2**64 - 1,
    0.1,
)


def connect(library: str) -> Any:
    """Open a connection without TLS through the given library."""
    if library == "pymysql":
        import pymysql

        multi = pymysql.constants.CLIENT.MULTI_STATEMENTS
        return pymysql.connect(
            host=HOST,
            port=PORT,
            user=USER,
            password=PASSWORD,
            database=DB,
            ssl_disabled=True,
            local_infile=True,
            charset="utf8mb4",
            client_flag=multi,
        )
    if library.startswith("connector"):
        import mysql.connector

        return mysql.connector.connect(
            host=HOST,
            port=PORT,
            user=USER,
            password=PASSWORD,
            database=DB,
            ssl_disabled=True,
            use_pure=True,
            allow_local_infile=True,
            charset="utf8mb4",
        )
    import MySQLdb

    return MySQLdb.connect(
        host=HOST,
        port=PORT,
        user=USER,
        password=PASSWORD,
        database=DB,
        ssl_mode="DISABLED",
        local_infile=1,
        charset="utf8mb4",
    )


def fails(cursor: Any, statement: str, args: Any = None) -> None:
    """Run a statement that must fail."""
    try:
        cursor.execute(statement, args)
        cursor.fetchall()
    except Exception:
        return
    raise SystemExit(f"no error: {statement}")


def text(con: Any, cursor: Any) -> None:
    """Use the text protocol, with comments before and after statements."""
    cursor.execute("INSERT INTO steps (what) VALUES ('text')")
    cursor.execute("/* app:shop */ SELECT COUNT(*) FROM steps -- behind")
    cursor.fetchall()
    fails(cursor, "SELECT nothing FROM nowhere")
    cursor.execute(INSERT, ROW)
    cursor.execute("UPDATE items SET qty = qty + 1 WHERE name LIKE %s", ("caf%",))
    con.commit()


def prepared(con: Any) -> None:
    """Use the binary protocol if the library supports it."""
    cursor = con.cursor(prepared=True)
    for n in range(5):
        cursor.execute(INSERT, (f"p{n}", n, *ROW[2:]))
    for n in range(3):
        cursor.execute("SELECT id, name FROM items WHERE qty = %s", (n,))
        cursor.fetchall()
    fails(cursor, "INSERT INTO large (id, body) VALUES (%s, %s), (%s, %s)", (1, "a", 1, "b"))
    cursor.close()
    con.commit()


def transactions(con: Any, cursor: Any) -> None:
    """Commit a transaction, roll another one back, and use a savepoint."""
    for n, end in enumerate((con.commit, con.rollback, con.commit)):
        cursor.execute("INSERT INTO steps (what) VALUES (%s)", (f"transaction {n}",))
        cursor.execute("SAVEPOINT here")
        cursor.execute("DELETE FROM items WHERE qty = %s", (n,))
        if n == 2:
            cursor.execute("ROLLBACK TO SAVEPOINT here")
        end()


def the_rest(library: str, con: Any, cursor: Any) -> None:
    """Run a batch, a large value, a multi-statement, a procedure, another schema and LOAD DATA LOCAL."""
    cursor.executemany("INSERT INTO steps (what) VALUES (%s)", [(f"batch {n}",) for n in range(20)])
    cursor.execute("REPLACE INTO large VALUES (1, %s)", ("x'\n" * (LARGE // 3),))
    con.commit()
    if library in ("pymysql", "mysqlclient"):
        cursor.execute("INSERT INTO steps (what) VALUES ('one'); INSERT INTO steps (what) VALUES ('two'); SELECT 3")
        while cursor.nextset():
            cursor.fetchall()
    cursor.callproc("add_item", ("from python",))
    if library.startswith("connector"):
        for result in cursor.stored_results():
            result.fetchall()
    else:
        cursor.fetchall()
        while cursor.nextset():
            pass
    con.commit()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(f"{n}\tline {n}\n" for n in range(500)))
        file.flush()
        cursor.execute(f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE loaded")
    con.commit()


async def asynchronous() -> None:
    """Run the same workload through asyncmy."""
    import asyncmy

    con = await asyncmy.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, db=DB, charset="utf8mb4")
    async with con.cursor() as cursor:
        await cursor.execute("INSERT INTO steps (what) VALUES ('text')")
        await cursor.execute("/* app:shop */ SELECT COUNT(*) FROM steps")
        await cursor.fetchall()
        await cursor.execute(INSERT, ROW)
        await con.commit()
        await cursor.execute("DELETE FROM items WHERE qty = 1")
        await con.rollback()
        await cursor.executemany("INSERT INTO steps (what) VALUES (%s)", [(f"batch {n}",) for n in range(20)])
        await cursor.execute("REPLACE INTO large VALUES (1, %s)", ("x" * LARGE,))
        await con.commit()
        await cursor.callproc("add_item", ("from asyncmy",))
        await con.commit()
    con.close()


def main() -> None:
    """Run the whole workload through one library."""
    library = sys.argv[1]
    if library == "asyncmy":
        asyncio.run(asynchronous())
        return
    for round_ in range(2):
        con = connect(library)
        con.ping()
        cursor = con.cursor()
        text(con, cursor)
        if library.startswith("connector"):
            prepared(con)
        transactions(con, cursor)
        if round_ == 0:
            the_rest(library, con, cursor)
            if library.startswith("connector"):
                cursor.close()
                con.cmd_reset_connection()
                con.database = DB
                cursor = con.cursor()
                text(con, cursor)
        cursor.close()
        con.close()


main()
