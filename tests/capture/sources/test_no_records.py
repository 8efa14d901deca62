# SPDX-License-Identifier: Apache-2.0
"""What is no record of a log may be a part of a statement: problems show no literal of it, in any kind of log."""

from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.common.errors import QuerytapeError

from tests.helpers.duck import database

pytestmark = pytest.mark.slow

SECRET = "zqkvbnmw"
STRAY = (
    f" '{SECRET}'",
    f'x = "{SECRET}", y',
    f"SET PASSWORD FOR u {SECRET}",
    f'2024-06-1 ALTER USER u ATTRIBUTE \'{{"pin": "{SECRET}"}}\'',
    f"20240610 06:13:36,srv,u,h,2 BY '{SECRET}'",
)
GOOD = {
    "slowlog": "# User@Host: a[a] @ h []  Id: 5\n# Query_time: 0.1  Lock_time: 0 Rows_sent: 0  Rows_examined: 0\n"
    "SET timestamp=1718000000;\nSELECT 1;\n",
    "general": "/usr/sbin/mysqld, Version: 8.0.31 (x). started with:\nTcp port: 3306  Unix socket: /x\n"
    "Time                 Id Command    Argument\n2024-06-10T06:13:20.000100Z\t    2 Quit\t\n",
    "audit": "20240610 06:13:36,srv,u,h,2,217,QUERY,db,'SELECT 1',0\n",
    "proxysql": "",
}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", list(GOOD))
@pytest.mark.parametrize("stray", STRAY, ids=range(len(STRAY)))
@pytest.mark.parametrize("first", [False, True])
def test_no_record(kind: str, stray: str, first: bool, tmp_path: Path) -> None:
    """Before the first record, and behind one."""
    log, tape = tmp_path / "x.log", tmp_path / "x.tape"
    log.write_text((f"{stray}\n" if first else f"{GOOD[kind]}{stray}\n{stray}\n") + GOOD[kind])
    said = ""
    try:
        said = str(capture_source(SOURCES[kind], [str(log)], tape, Settings()))
    except QuerytapeError as error:
        said = str(error)
    with database() as con:
        for file in tape.rglob("*.parquet"):
            if "problems" in str(file):
                said += str(con.execute(f"FROM '{file}'").fetchall())
    assert SECRET not in said
