# SPDX-License-Identifier: Apache-2.0
"""Name what the servers did not show of their schemas, as far as the tape can depend on it."""

import re
from collections.abc import Collection, Mapping, Sequence

import duckdb

from ..database import AnalysisDatabase
from ..model import bare_name

# Runs and schemas whose account sees less of the used tables than the other one, or as little.
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
# When statistics were updated needs rights on the schema mysql. Rows and cardinalities are compared without it.
DENIED_AGE = re.compile(r"^mysql\.\w+_stats: 1142\b")
PROBLEMS = (
    "SELECT run, db, name, if(json_valid(facts), coalesce(facts ->> '$.said', ''), '') FROM schema_fact"
    " WHERE kind = 'problem' ORDER BY run, name"
)


def problem_of(
    database: AnalysisDatabase, known: Collection[str], routines: Collection[str], used: Collection[str]
) -> str | None:
    """Return why the schemas were not compared, or not wholly; None where they were, as far as the tape uses them.

    `known`: runs of which schemas are known. `routines`: names of both servers. `used`: names of the tape's tables.
    The database has the views schema_fact and tape_digest.
    """
    unseen = _unseen_tables(database.con, used) if known == {"a", "b"} else None
    return _problem(known, _not_told(database.con, routines, unseen))


def _calls_routines(con: duckdb.DuckDBPyConnection, routines: Collection[str]) -> bool:
    """Whether the tape calls a routine: by CALL, or by a name that a server has. The view tape_digest is there."""
    calls, names = con.execute(
        "SELECT bool_or(has_property(coalesce(properties, 0), 'calls_procedure')), flatten(list(coalesce(calls, [])))"
        " FROM tape_digest"
    ).fetchall()[0]
    return bool(calls) or any(bare_name(name) in routines for name in names or ())


def _unseen_tables(con: duckdb.DuckDBPyConnection, used: Collection[str]) -> set[tuple[str, str]]:
    """Return in which schemas of which run the account does not see all of a table that the tape uses.

    The other server may have more of such a table, or neither account sees it (one that only a view names is missed
    then). A tape without any table's name may use each.
    """
    return {(run, db) for run, db in con.execute(BLIND, {"used": sorted(used)}).fetchall()}


def _not_told(
    con: duckdb.DuckDBPyConnection, routines: Collection[str], unseen: Collection[tuple[str, str]] | None
) -> dict[str, list[str]]:
    """Return, by run, the sentences on what is not known of its server; of routines only where the tape calls one.

    `unseen`: the runs and schemas in which the account does not see all of the tables that the tape uses; None = any.
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
    """Return why the schemas were not compared, or not wholly. `known`: runs of which schemas are known."""
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
