# SPDX-License-Identifier: Apache-2.0
"""CSV files and the mapping from their columns to event columns."""

import random
import subprocess
from pathlib import Path

import pytest
from querytape.capture import Settings, capture
from querytape.common.errors import InputError, OptionError
from querytape.common.zones import read_zone
from querytape.servers.sandbox import Server

from tests.helpers.duck import query
from tests.helpers.reading import tape_of


def test_csv_is_read_by_column_mapping(tmp_path: Path) -> None:
    """The mapping gives columns by name. Times are in milliseconds or in text form. A row without a time is a problem."""
    path = tmp_path / "sql.csv"
    path.write_text(
        'ts,conn,sql_text,latency,who\n1718000000500,5,"SELECT ""x"", 1",1500,app\nnever,5,SELECT 2,1,app\n'
        "1718000000400,5,SELECT 0,10,app\n"
    )
    columns = ["time=ts", "thread_id=conn", "statement=sql_text", "duration=latency", "user=who"]
    units = {"time_unit": "ms", "duration_unit": "us"}
    found, info = tape_of("csv", path, tmp_path, column=columns, **units)
    assert [row[1:5] for row in found] == [
        (b"SELECT 0", 5, 1718000000400000000, 10_000),
        (b'SELECT "x", 1', 5, 1718000000500000000, 1_500_000),
    ]
    assert info["problems"] == {"not_understood": 1}
    text = tmp_path / "text.csv"
    text.write_text("ts,q\n10/06/2024 06:13:20,SELECT 1\n")
    found, _ = tape_of("csv", text, tmp_path, column=["time=ts", "statement=q"], time_format="%d/%m/%Y %H:%M:%S")
    assert found[0][3] == 1718000000000000000


@pytest.mark.parametrize(
    ("columns", "unit", "said"),
    [
        (["time=ts"], "s", "no column for statement"),
        (["time=ts", "statement=nope"], "s", r"no column 'nope'\. Its columns are ts, q"),
        (["wrong=ts"], "s", "one of the fields time, duration"),
        (["time=ts", "statement=q"], "days", "--time-unit: expected one of s, ms, us, ns, found 'days'"),
    ],
)
def test_wrong_column_mapping_is_refused(tmp_path: Path, columns: list[str], unit: str, said: str) -> None:
    """The message lists the available columns, fields or units."""
    path = tmp_path / "a.csv"
    path.write_text("ts,q\n1,SELECT 1\n")
    with pytest.raises(InputError, match=said):
        tape_of("csv", path, tmp_path, column=columns, time_unit=unit)
    assert not (tmp_path / "a.csv.tape").exists()


def test_output_of_the_mysql_client_is_read(tmp_path: Path) -> None:
    """The input is the output of `mysql -B` for mysql.slow_log. It has TIME values, escapes, NULL, accounts and a
    statement that begins with a quote.
    """
    path = tmp_path / "slow.tsv"
    path.write_bytes(
        b"start_time\tuser_host\tquery_time\tsql_text\tdb\n"
        b"2026-11-25 03:16:12.6\troot[app] @ web1 [10.0.0.5]\t00:00:00.050290\tSELECT 1,\\n  'a\\tb \\\\\\\\ \\0'\tNULL\n"
        b"2026-11-25 03:16:13\troot[app] @  [10.0.0.5]\t100:00:01\tSELECT \"x\", 'it''s'\tshop\n"
    )
    columns = ["time=start_time", "user=user_host", "duration=query_time", "statement=sql_text", "db=db"]
    found, info = tape_of("csv", path, tmp_path, column=columns)
    assert [(row[1], *row[4:8]) for row in found] == [
        (b"SELECT 1,\n  'a\tb \\\\ \0'", 50_290_000, "app", "web1", None),
        (b"SELECT \"x\", 'it''s'", 360_001_000_000_000, "app", "10.0.0.5", "shop"),
    ]
    assert info["problems"] == {}


def test_general_log_commands_are_read_from_csv(tmp_path: Path) -> None:
    """The rows are from mysql.general_log. Rows of Execute contain the values. Connect and Init DB rows name a schema.
    A quote at the start of a value does not mean that the file uses quoting.
    """
    path = tmp_path / "general.tsv"
    rows = [
        ("Connect", "app@web1 on shop using TCP/IP"),
        ("Query", "SELECT 1,\\n 2"),
        ("Query", '"SELECT" x'),
        ("Execute", "SELECT 3"),
        ("Prepare", "SELECT ?"),
        ("Init DB", "other"),
        ("Query", "\\N"),
        ("Quit", ""),
    ]
    lines = [f"2026-11-25 03:16:1{n}\t[app] @ web1 []\t41\t{name}\t{text}" for n, (name, text) in enumerate(rows)]
    path.write_text("\n".join(["event_time\tuser_host\tthread_id\tcommand_type\targument", *lines, ""]))
    columns = ["time=event_time", "user=user_host", "thread_id=thread_id", "command=command_type", "statement=argument"]
    found, _ = tape_of("csv", path, tmp_path, column=columns)
    assert [(row[0], row[1], row[7]) for row in found] == [
        ("connect", None, "shop"),
        ("query", b"SELECT 1,\n 2", None),
        ("query", b'"SELECT" x', None),
        ("query", b"SELECT 3", None),
        ("prepare", b"SELECT ?", None),
        ("init_db", None, "other"),
        ("query", None, None),
        ("quit", None, None),
    ]


def test_row_without_a_command_is_a_query(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("ts,cmd,sql\n2026-11-25 03:16:12,,SELECT 1\n2026-11-25 03:16:13,query,SELECT 2\n")
    found, _ = tape_of("csv", path, tmp_path, column=["time=ts", "statement=sql", "command=cmd"])
    assert [row[:2] for row in found] == [("query", b"SELECT 1"), ("query", b"SELECT 2")]


def test_unreadable_csv_values_are_counted_by_column(tmp_path: Path) -> None:
    """Each unreadable value is a problem with its file and line. The problem shows the text of an unreadable time."""
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    paths[0].write_text("ts,q,took,n\n1,SELECT 1,fast,1\n2,SELECT 2,0.5,none\n")
    paths[1].write_text("ts,q,took,n\n3,SELECT 3,slow,\nnever,SELECT 4,1,1\n")
    columns = ["time=ts", "statement=q", "duration=took", "rows_sent=n"]
    tape = capture([str(path) for path in paths], tmp_path / "t.tape", "csv", Settings(extra={"column": columns}))
    assert tape.info["problems"] == {"not_understood": 1, "unread_duration": 2, "unread_rows_sent": 1}
    found = query(f"SELECT file, line, detail FROM '{tmp_path}/t.tape/problems.parquet'")
    expected = "a duration (a number or HH:MM:SS.ffffff) in column took"
    assert found == [
        (0, 2, f'expected {expected}, found "fast"'),
        (0, 3, 'expected a number in column n, found "none"'),
        (1, 2, f'expected {expected}, found "slow"'),
        (1, 3, 'expected a row with a time, found "never"'),
    ]


@pytest.mark.slow
def test_local_times_that_go_back_are_ambiguous(tmp_path: Path) -> None:
    """Local times are ambiguous if they go back in a file that is in order everywhere else. UTC times, numbers and
    unordered files are never ambiguous.
    """
    at = [f"2025-10-26 0{time}" for time in ("2:59:58", "2:59:59", "2:00:00", "2:30:00", "3:00:00")]
    texts = {
        "jump": (at, {"ambiguous_time": 1}),
        "utc": ([f"{text}Z" for text in at], {}),
        "numbers": (["5000", "6000", "3000", "4000", "5000"], {}),
        "turned": (sorted(at, reverse=True), {}),
    }
    for name, (times, problems) in texts.items():
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["ts,q", *(f"{time},SELECT {n}" for n, time in enumerate(times))]))
        _, info = tape_of("csv", path, tmp_path, column=["time=ts", "statement=q"])
        assert info["problems"] == problems, name
    assert query(f"SELECT line FROM '{tmp_path}/jump.csv.tape/problems.parquet'") == [(4,)]
    settings = Settings(read_zone("Europe/Berlin"), extra={"column": ["time=ts", "statement=q"]})
    with pytest.raises(OptionError, match="expected an offset"):
        capture([str(tmp_path / "jump.csv")], tmp_path / "t.tape", "csv", settings)


@pytest.mark.parametrize("at", [3, 30_000])
@pytest.mark.parametrize(("row", "separator"), [("9,SELECT 1, 2", ","), ("9\tSELECT 1\t2", "\t")])
def test_row_with_too_many_values_is_refused(at: int, row: str, separator: str, tmp_path: Path) -> None:
    """An unquoted separator would silently cut the statement. The message contains the number of the row, wherever the
    row is in the file.
    """
    rows = [f"{n}{separator}SELECT {n}" for n in range(1, at + 2)]
    rows[at - 1] = row
    (tmp_path / "t.csv").write_text("\n".join([f"ts{separator}sql", *rows, ""]))
    with pytest.raises(InputError, match=f"(row {at} has|line {at + 1}: expected 2 values, found 3).*Quote"):
        tape_of("csv", tmp_path / "t.csv", tmp_path, column=["time=ts", "statement=sql"])


def test_trailing_separators_are_accepted(tmp_path: Path) -> None:
    """If each line ends with a separator, the last column has no name."""
    (tmp_path / "t.csv").write_text("ts,sql,\n1,SELECT 1,\n2,SELECT 2,\n")
    found, _ = tape_of("csv", tmp_path / "t.csv", tmp_path, column=["time=ts", "statement=sql"])
    assert [row[1] for row in found] == [b"SELECT 1", b"SELECT 2"]


T = "2026-01-05 10:00:00"
COLUMNS = "ts DATETIME(6), n INT, q LONGTEXT, db VARCHAR(64)"
PARTS = [
    "a",
    "SELECT ",
    '"',
    '""',
    "'",
    "\\",
    "\\\\",
    "\n",
    "\r\n",
    "\t",
    ",",
    ";",
    "\0",
    "\b",
    "\x1a",
    "\\N",
    "NULL",
    "é",
    " ",
]
# Options of SELECT ... INTO OUTFILE.
OUTFILES = [
    "",
    "FIELDS TERMINATED BY ',' ENCLOSED BY '\"'",
    "FIELDS TERMINATED BY ';' OPTIONALLY ENCLOSED BY '\"'",
]


def random_texts(seed: int) -> list[str]:
    """Return statements with separators, quotes and backslashes. Some are longer than the reader's block size."""
    chance = random.Random(seed)
    texts = ["SELECT " + "".join(chance.choices(PARTS, k=chance.randrange(20))) for _ in range(60)]
    return [
        *texts,
        *("SELECT " + "".join(chance.choices(PARTS, k=9000)) for _ in range(5)),
        'SELECT "x\\"", 1',
        "SELECT 2",
    ]


def insert(server: Server, texts: list[str], columns: str, value: str, engine: str = "InnoDB") -> None:
    """Create csvs.t with one row per statement. `value` is the SQL expression for the column db."""
    server.execute("DROP DATABASE IF EXISTS csvs")
    server.execute("CREATE DATABASE csvs CHARACTER SET utf8mb4")
    server.execute(f"CREATE TABLE csvs.t ({columns}) ENGINE={engine}")
    rows = (f"('{T}', {n}, CONVERT(X'{text.encode().hex()}' USING utf8mb4), {value})" for n, text in enumerate(texts))
    server.execute(f"INSERT INTO csvs.t VALUES {', '.join(rows)}")


def read_back(path: Path, folder: Path) -> list[tuple[int, bytes | None, str | None]]:
    """Return the rows of a file with the columns ts, q and db."""
    found, info = tape_of("csv", path, folder, column=["time=ts", "statement=q", "db=db", "thread_id=n"])
    assert info["problems"] == {}
    return [(row[2], row[1], row[7]) for row in sorted(found, key=lambda row: row[2])]


@pytest.mark.parametrize("form", OUTFILES)
def test_outfile_of_a_server_is_read_correctly(form: str, server: Server, tmp_path: Path) -> None:
    """SELECT ... INTO OUTFILE writes values with arbitrary bytes, and the reader returns the same values."""
    texts = random_texts(OUTFILES.index(form))
    insert(server, texts, COLUMNS, "NULL")
    name = server.folder / "data" / "csvs.txt"
    name.unlink(missing_ok=True)
    query = "SELECT 'ts', 'n', 'q', 'db' UNION ALL (SELECT ts, n, q, db FROM csvs.t)"
    server.execute(f"{query} INTO OUTFILE '{name}' CHARACTER SET utf8mb4 {form}")
    server.execute("DROP DATABASE csvs")
    assert read_back(name, tmp_path) == [(n, text.encode(), None) for n, text in enumerate(texts)]


def test_csv_engine_table_is_read(mariadb: Server, tmp_path: Path) -> None:
    """The test adds a header line to the table's data file. Servers write mysql.slow_log in this format."""
    texts = random_texts(7)
    insert(mariadb, texts, COLUMNS.replace(",", " NOT NULL,") + " NOT NULL", "'shop'", "CSV")
    mariadb.execute("FLUSH TABLES csvs.t")
    rows = (mariadb.folder / "data" / "csvs" / "t.CSV").read_bytes()
    mariadb.execute("DROP DATABASE csvs")
    (tmp_path / "t.csv").write_bytes(b"ts,n,q,db\n" + rows)
    assert read_back(tmp_path / "t.csv", tmp_path) == [(n, text.encode(), "shop") for n, text in enumerate(texts)]


def test_mysql_client_output_is_read_correctly(mariadb: Server, tmp_path: Path) -> None:
    """`mysql -B` prints arbitrary statements, and the reader returns them unchanged."""
    texts = random_texts(8)
    insert(mariadb, texts, COLUMNS, "NULL")
    command = ["mariadb", "-uroot", f"-S{mariadb.socket}", "--default-character-set=utf8mb4", "-B"]
    printed = subprocess.run([*command, "-e", "SELECT * FROM csvs.t"], check=True, capture_output=True).stdout
    (tmp_path / "t.tsv").write_bytes(printed)
    mariadb.execute("DROP DATABASE csvs")
    assert read_back(tmp_path / "t.tsv", tmp_path) == [(n, text.encode(), None) for n, text in enumerate(texts)]


def test_backslash_that_escapes_nothing_is_kept(tmp_path: Path) -> None:
    """One file uses tabs and was not written by a MySQL program. Another file escapes its quotes with backslashes."""
    text = r"SELECT 'it\'s', 'a\b\x\Z\%', '\r'"
    (tmp_path / "t.tsv").write_text(f"ts\tq\n{T}\t{text}\n")
    (tmp_path / "t.csv").write_text(f'ts,q\n"{T}","{text[:-7]} \\"x\\""\n')
    found = [
        tape_of("csv", tmp_path / name, tmp_path, column=["time=ts", "statement=q"])[0] for name in ("t.tsv", "t.csv")
    ]
    assert [rows[0][1] for rows in found] == [text.encode(), f'{text[:-7]} "x"'.encode()]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (f'"{T}","SELECT \\"b', "line 22004: the closing quote of a value is missing"),
        (f'"{T}","SELECT" 1"', "line 22003: text follows the closing quote of a value"),
    ],
)
def test_damaged_escape_is_refused_with_its_line(row: str, said: str, tmp_path: Path) -> None:
    """The damaged row is after the rows from which the reader detects the file's format."""
    rows = ["ts,q", *(f'"{T}","SELECT \\"a\\", {n}"' for n in range(22_001)), row, ""]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    with pytest.raises(InputError, match=said):
        tape_of("csv", tmp_path / "t.csv", tmp_path, column=["time=ts", "statement=q"])
