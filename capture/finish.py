# SPDX-License-Identifier: Apache-2.0
"""The end of a capture: what follows from the events (sessions, digests, completeness), and a tape's JSON.

The same is done for a tape whose capture was killed, from the parts that were complete.
"""

import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb

from ..errors import InputError
from ..native.statements import Normalizer
from ..schemas import columns, open_folder, publish, select_list, sql_text, write_json
from .recorder import open_storage
from .tools.pt_fingerprint import pt_fingerprint, pt_id

SAMPLE_BYTES = 64 << 10
DIGESTS_AT_ONCE = 1_000
# Percona's expressions take a time that grows with the square of some texts: longer samples get no id.
PT_BYTES = 16 << 10
# What says that an event was recorded by a log with a threshold. Shorter floors are what a slow machine has anyway.
SHORTEST_BELIEVABLE_NS = 5_000_000
FEWEST_EVENTS = 20
# Lookups by key examine a row or two in any log.
FEWEST_EXAMINED = 10

Describe = Callable[[duckdb.DuckDBPyConnection], dict[str, Any]]


def question(name: str) -> str:
    """Return the SQL of one file of this folder."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def finish(path: Path, info: dict[str, Any], extra_warnings: list[dict[str, str]]) -> dict[str, Any]:
    """Complete a tape whose events are written; return its final JSON. Raises InputError where there is no event."""
    with open_storage(path) as con:
        tape = open_folder("tape", path)
        con.execute(f"CREATE VIEW events AS SELECT * FROM {tape.source('events')}")
        _load_facts(con, path)
        _copy(
            con,
            f"SELECT {select_list('tape', 'sessions', _names('sessions'))} FROM ({question('sessions.sql')})",
            path,
            "sessions",
        )
        n_digests = write_digests(con, path)
        _gather_problems(con, path)
        info["counts"] = _counts(con, path, n_digests)
        if not info["counts"]["events"]:
            raise InputError(f"{path}: no event in it")
        info.update(_range(con))
        info["problems"] = dict(
            con.execute(
                f"SELECT kind, count(*) FROM read_parquet({sql_text(path / 'problems.parquet')})"
                " GROUP BY kind ORDER BY kind"
            ).fetchall()
        )
        info["knows"] = _known_columns(con)
        info["warnings"] = [*extra_warnings, *completeness(con)]
    for done in ("spill", "facts"):
        shutil.rmtree(path / done, ignore_errors=True)
    info.pop("stopped", None)
    info["finished"] = True
    write_json(path / "tape.json", info)
    return info


def recover(path: Path) -> dict[str, Any]:
    """Complete a tape that a killed capture left: the parts that were whole become the tape; the loss is noted."""
    tape = open_folder("tape", path)
    info = dict(tape.info)
    for left in (path / "events").glob("*.tmp"):
        left.unlink()
    known = {entry["file"] for entry in info["parts"]}
    with open_storage(path) as con:
        for part in sorted((path / "events").glob("part-*.parquet")):
            name = str(part.relative_to(path))
            if name not in known:
                rows, first, last = con.execute(
                    "SELECT count(*), min(start_ns), max(start_ns + coalesce(duration_ns, 0))"
                    f" FROM read_parquet({sql_text(part)})"
                ).fetchall()[0]
                info["parts"].append(
                    {"file": name, "rows": rows, "bytes": part.stat().st_size, "first_ns": first, "last_ns": last}
                )
    text = "the capture was killed: what it had not written yet is missing from the end of the tape"
    return finish(path, info, [*info.get("warnings", []), {"kind": "killed", "text": text}])


def write_digests(con: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Write digests.parquet: one row a digest, with the normalised text of its sample. Return how many."""
    con.execute(
        f"CREATE TABLE found AS SELECT *, octet_length(sample) AS sample_bytes FROM ({question('digests.sql')})"
    )
    con.execute("CREATE TABLE texts (digest VARCHAR, normalized VARCHAR, pt_id VARCHAR)")
    normalizer = Normalizer()
    cursor = con.cursor()
    cursor.execute("SELECT digest, sample FROM found")
    while rows := cursor.fetchmany(DIGESTS_AT_ONCE):
        names = [digest for digest, _ in rows]
        texts = [normalizer.normalize(bytes(sample)).text for _, sample in rows]
        ids = [pt_id(pt_fingerprint(sample)) if len(sample) <= PT_BYTES else None for _, sample in rows]
        con.execute(
            "INSERT INTO texts SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[])",
            [names, texts, ids],
        )
    cursor.close()
    con.execute(
        "CREATE VIEW joined AS SELECT found.*, texts.normalized, texts.pt_id FROM found JOIN texts USING (digest)"
    )
    have = {row[0] for row in con.execute("DESCRIBE joined").fetchall()}
    _copy(
        con, f"SELECT {select_list('tape', 'digests', have)} FROM joined ORDER BY events DESC, digest", path, "digests"
    )
    return int(con.execute("SELECT count(*) FROM found").fetchall()[0][0])


def _load_facts(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Fill table facts with what the source told of sessions."""
    con.execute(question("facts.sql"))
    for number, part in enumerate(sorted((path / "facts").glob("part-*.parquet"))):
        con.execute(
            "INSERT INTO facts BY NAME SELECT * EXCLUDE (file_row_number), ? * 1000000000 + file_row_number AS told"
            f" FROM read_parquet({sql_text(part)}, file_row_number = true)",
            [number],
        )


def _names(table: str) -> set[str]:
    return {name for name, _ in columns("tape", table)}


def _copy(con: duckdb.DuckDBPyConnection, query: str, path: Path, table: str) -> None:
    with publish(path / f"{table}.parquet") as temporary:
        con.execute(f"COPY ({query}) TO {sql_text(temporary)} (FORMAT parquet, COMPRESSION zstd)")


def _gather_problems(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    parts = path / "problems"
    have = parts.is_dir() and any(parts.glob("part-*.parquet"))
    source = f"read_parquet({sql_text(parts / 'part-*.parquet')})" if have else "(SELECT NULL AS file WHERE false)"
    names = _names("problems") if have else set()
    _copy(
        con, f'SELECT {select_list("tape", "problems", names)} FROM {source} ORDER BY file, "offset"', path, "problems"
    )
    shutil.rmtree(parts, ignore_errors=True)


def _counts(con: duckdb.DuckDBPyConnection, path: Path, n_digests: int) -> dict[str, int]:
    def count(source: str) -> int:
        return int(con.execute(f"SELECT count(*) FROM {source}").fetchall()[0][0])

    return {
        "events": count("events"),
        "sessions": count(f"read_parquet({sql_text(path / 'sessions.parquet')})"),
        "digests": n_digests,
        "problems": count(f"read_parquet({sql_text(path / 'problems.parquet')})"),
    }


def _range(con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    first, last, precision = con.execute(
        "SELECT min(start_ns), max(start_ns + coalesce(duration_ns, 0)), max(precision_ns) FROM events"
    ).fetchall()[0]
    return {"first_ns": first, "last_ns": last, "precision_ns": precision}


def _known_columns(con: duckdb.DuckDBPyConnection) -> list[str]:
    names = [name for name, _ in columns("tape", "events")]
    counted = ", ".join(f'count("{name}")' for name in names)
    row = con.execute(f"SELECT {counted} FROM events").fetchall()[0]
    return [name for name, n in zip(names, row, strict=True) if n]


def completeness(con: duckdb.DuckDBPyConnection) -> list[dict[str, str]]:
    """Return why the tape can't be the whole workload, as far as its events show it."""
    events, shortest, least_examined, readers, _, gap, gap_from, gaps = con.execute(
        question("completeness.sql")
    ).fetchall()[0]
    warnings = []
    if events >= FEWEST_EVENTS and shortest is not None and shortest >= SHORTEST_BELIEVABLE_NS:
        floor = threshold(shortest / 1e9)
        warnings.append(
            {
                "kind": "long_query_time",
                "text": f"no statement is shorter than {shortest / 1e9:.6f} s: looks like long_query_time={floor};"
                " everything faster is missing",
            }
        )
    if readers >= FEWEST_EVENTS and least_examined is not None and least_examined >= FEWEST_EXAMINED:
        warnings.append(
            {
                "kind": "min_examined_row_limit",
                "text": f"no statement examined fewer than {least_examined} rows: looks like"
                f" min_examined_row_limit={least_examined}",
            }
        )
    if gaps:
        begin = con.execute("SELECT make_timestamp_ns(?)::VARCHAR", [gap_from]).fetchall()[0][0]
        warnings.append(
            {
                "kind": "hole",
                "text": f"{gaps} silence{'s' if gaps > 1 else ''} that the rest of the tape makes unlikely;"
                f" the longest is {gap / 1e9:.0f} s from {begin} UTC: was a log file left out?",
            }
        )
    return warnings


def threshold(shortest_s: float) -> str:
    """Return the round number just at or below the shortest duration: what somebody would have typed."""
    step = 10.0
    while step > shortest_s:
        step /= 10
    for factor in (5, 2, 1):
        if factor * step <= shortest_s:
            return f"{factor * step:g}"
    return f"{step:g}"
