# SPDX-License-Identifier: Apache-2.0
"""Report schema parts that the servers did not show, although the tape may depend on them."""

import re
from collections.abc import Collection, Mapping, Sequence

import duckdb

from ..database import AnalysisDatabase
from ..model import bare_name

# (run, schema) pairs whose account sees less of the used tables than the account of the other run. Pairs in which
# neither account sees a used table are included.
BLIND = """
    WITH blind AS (SELECT DISTINCT run, db FROM schema_fact WHERE kind = 'problem' AND db <> ''),
    used AS (SELECT unnest($used::VARCHAR[]) AS tbl),
    seen AS (
        SELECT DISTINCT run, db, kind, lower(tbl) AS tbl, lower(name) AS name FROM schema_fact
        WHERE kind <> 'problem' AND lower(tbl) IN (FROM used)
    )
    SELECT run, db FROM blind WHERE NOT EXISTS (FROM used)
    UNION
    SELECT blind.run, blind.db FROM blind JOIN seen ON seen.db = blind.db AND seen.run <> blind.run
    WHERE (blind.run, seen.db, seen.kind, seen.tbl, seen.name) NOT IN (FROM seen)
    UNION
    SELECT blind.run, blind.db FROM blind JOIN blind AS other ON other.db = blind.db AND other.run <> blind.run
    WHERE EXISTS (FROM used WHERE tbl NOT IN (SELECT tbl FROM seen WHERE kind = 'table'))
"""
# The update time of statistics requires rights on the schema mysql. Row counts and cardinalities are compared even if
# the update time is unknown.
DENIED_AGE = re.compile(r"^mysql\.\w+_stats: 1142\b")
PROBLEMS = (
    "SELECT run, db, name, if(json_valid(facts), coalesce(facts ->> '$.said', ''), '') FROM schema_fact"
    " WHERE kind = 'problem' ORDER BY run, name"
)


def problem_of(
    database: AnalysisDatabase, known: Collection[str], routines: Collection[str], used: Collection[str]
) -> str | None:
    """Return why the schemas were compared only partly or not at all.

    None means that all objects of the tape were compared.

    `known`: runs with a known schema. `routines`: names on both servers. `used`: names of the tape's tables. The
    database has the views schema_fact and tape_digest.
    """
    unseen = _unseen_tables(database.con, used) if known == {"a", "b"} else None
    return _problem(known, _not_told(database.con, routines, unseen))


def _calls_routines(con: duckdb.DuckDBPyConnection, routines: Collection[str]) -> bool:
    """Return whether the tape calls a routine, by CALL or by the name of a routine that a server has.

    The connection has the view tape_digest.
    """
    calls, names = con.execute(
        "SELECT bool_or(has_property(coalesce(properties, 0), 'calls_procedure')), flatten(list(coalesce(calls, [])))"
        " FROM tape_digest"
    ).fetchall()[0]
    return bool(calls) or any(bare_name(name) in routines for name in names or ())


def _unseen_tables(con: duckdb.DuckDBPyConnection, used: Collection[str]) -> set[tuple[str, str]]:
    """Return (run, schema) pairs in which the account cannot see all of a table that the tape uses.

    Either the other server shows more of the table, or neither account sees it. In the second case, a table that only a
    view names is missed. A tape without table names may use every table.
    """
    return {(run, db) for run, db in con.execute(BLIND, {"used": sorted(used)}).fetchall()}


def _not_told(
    con: duckdb.DuckDBPyConnection, routines: Collection[str], unseen: Collection[tuple[str, str]] | None
) -> dict[str, list[str]]:
    """Return sentences on the unknown parts of each server, by run.

    Routines are mentioned only if the tape calls one. `unseen`: the (run, schema) pairs whose account cannot see all
    used tables. If `unseen` is None, every pair counts.
    """
    told: dict[str, list[str]] = {}
    for run, db, name, more in con.execute(PROBLEMS).fetchall():
        if (db and unseen is not None and (run, db) not in unseen) or DENIED_AGE.search(name):
            continue
        said = name or more
        if said and said not in told.setdefault(run, []) and (name or _calls_routines(con, routines)):
            told[run].append(said)
    return told


def _problem(known: Collection[str], told: Mapping[str, Sequence[str]]) -> str | None:
    """Return why the schemas were compared only partly or not at all, or None. `known`: runs with a known schema."""
    lacking = [letter.upper() for letter in ("a", "b") if letter not in known]
    reasons: dict[str, list[str]] = {}
    for letter, texts in told.items():
        if texts:
            reasons.setdefault("; ".join(texts), []).append(letter.upper())
    said = "; ".join(f"{' and '.join(letters)}: {text}" for text, letters in reasons.items())
    if lacking:
        why = f" ({said})" if said else ""
        return f"The schemas were not compared: the schema of {' and '.join(lacking)} is unknown{why}."
    return f"The schemas were compared only in part: {said}." if said else None
