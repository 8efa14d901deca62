# SPDX-License-Identifier: Apache-2.0
"""Distribute the events of a report's runs to partitions (sets of files).

The steps of the analyses read one partition at a time. The sessions are divided into shares. Each share is joined as in
prelude.sql, and its rows are distributed by digest. A digest is whole in one partition unless it is too large. Large
digests and events without a digest are distributed by session.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...common.duck import load_sql, sql_files, sql_text
from ...schemas import ddl
from ..database import AnalysisDatabase
from . import counting
from .executors import Job, Run
from .steps import statements

OF_EVENTS = ("joined", "outcome", "failure")  # tables that prelude.sql makes from events; partitions contain them
VARIABLES = (
    *("errors_known", "tape_in_server", "sort_lost", "time_kept", "writes_race"),
    *("b", "skip_ns", "first_ns", "span_ns", "end_ns", "bin_ns"),
)
TYPES = ("digest_name", "short_name")
NAMED = {"digest": "digest_name", "run": "short_name"}  # columns with a named type, in every table
NAMED_EVENTS = {"kind": "result_kind"} | dict.fromkeys(("a_status", "b_status", "class", '"user"', "db"), "short_name")
WHOLE = "FROM whole_digest"  # digests that are whole in one partition
WHOLE_BYTES = 150  # bytes per event of both sides; with less memory the report is cut into partitions
EVENT_BYTES = 300  # memory in bytes per event and its results, in a partition and while events are distributed
MAX_SHARE = 0.5  # share of a partition; larger digests are distributed by session
SPREAD = (  # true if a partition has events without a digest, or of digests that are not whole in it
    f"SET VARIABLE spread = (SELECT count(*) > 0 FROM joined WHERE digest IS NULL OR digest NOT IN ({WHOLE}))"
)
NO_FAILURE = (
    "SELECT NULL::short_name AS run, NULL::INTEGER AS round, NULL::BIGINT AS session, NULL::BIGINT AS seq,"
    " NULL::INTEGER AS clone, NULL::VARCHAR AS error WHERE false"
)
_KIND = re.compile(r"CREATE (?:OR REPLACE )?(?:TEMP )?MACRO ")
_MADE = re.compile(r"(?:CREATE (?:OR REPLACE )?(?:TEMP )?(?:TYPE|TABLE|VIEW|MACRO) (\w+))")


@dataclass(frozen=True)
class Cut:
    """How a report is cut: number of partitions, memory per partition, and threads (None: one per core).

    `deals`: number of jobs that join and distribute the events. The number is small because each job reads all files.
    """

    partitions: int
    memory: str
    threads: int | None = None
    deals: int = 1


def cut_for(rows: int, memory: int, partitions: int | None, processes: int) -> Cut | None:
    """Return the cut for a report with `rows` events per side, or None if the report is not cut.

    Processes share the memory equally. Each partition must fit into the memory of one process.
    """
    each = memory // max(processes, 1)
    if partitions is None:
        partitions = -(-rows * EVENT_BYTES // each) if rows * WHOLE_BYTES > memory or processes > 1 else 1
        if processes > 1 and partitions > 1:
            partitions = max(partitions, 2 * processes)
    if partitions <= 1 or rows == 0:
        return None
    deals = -(-rows * EVENT_BYTES // (each * max(processes, 1))) * max(processes, 1)
    return Cut(partitions, f"{each}B", 1 if processes > 1 else None, deals)


class Partitions:
    """The partitions of a report. `sources`: SQL of the views that prelude.sql reads."""

    def __init__(self, database: AnalysisDatabase, cut: Cut, run: Run, sources: dict[str, str]) -> None:
        self.database, self.cut, self.run, self.sources = database, cut, run, sources
        self.folder = Path(database.folder.name) / "pieces"
        self.folder.mkdir()
        self._own = _prelude()
        for name, text in self._own.items():
            if name not in OF_EVENTS:
                database.con.execute(text)
        self._homes = f"CREATE TEMP TABLE digest_home AS FROM {sql_text(self._save(_homes(cut.partitions), 'homes'))}"
        for name in TYPES:
            self._save(f"SELECT unnest(enum_range(NULL::{name}))::VARCHAR AS name", name)

    def deal(self) -> None:
        """Join and distribute all events, then set the SQL variables that depend on them."""
        ((failures,),) = self.database.con.execute(
            "SELECT count(*) FROM every_outcome WHERE errno <> 0 AND error IS NOT NULL"
        ).fetchall()
        self.run([self._dealing(number, bool(failures)) for number in range(self.cut.deals)])
        files = sql_files(sorted(self.folder.glob("dealt-*/*/*.parquet")))
        ((first, last, end),) = self.database.con.execute(
            "SELECT min(start_ns) FILTER (a_status IS NOT NULL), max(start_ns) FILTER (a_status IS NOT NULL),"
            f" greatest(max(a_done_ns), max(b_done_ns), 1) + 1 FROM read_parquet({files}, hive_partitioning = false)"
        ).fetchall()
        span = None if first is None else last - first
        for name, value in (("first_ns", first), ("span_ns", span), ("end_ns", end)):
            self.database.set_variable(name, value, "BIGINT")

    def _dealing(self, number: int, failures: bool) -> Job:
        """Return the job that joins one share of the sessions and distributes its rows."""
        parts, deals = self.cut.partitions, self.cut.deals
        setup = [*self._settings(), self._homes]
        for view, source in self.sources.items():
            wanted = f" WHERE hash(session) % {deals} = {number}" if view != "tape_digest" and deals > 1 else ""
            setup.append(f"CREATE TEMP VIEW {view} AS SELECT * FROM {source}{wanted}")
        setup += [self._own["event"], *self._macros()]
        home = f"coalesce(h.home, hash(j.session) % {parts})::INTEGER AS piece"
        joined, failed = (self._own[name].partition(" AS")[2] for name in ("joined", "failure"))
        queries = [
            (
                f"{self.folder}/dealt-{number}/",
                f"SELECT j.*, {home} FROM ({joined}) AS j LEFT JOIN digest_home AS h ON j.digest = h.digest",
            )
        ]
        if failures:
            rows = f"SELECT j.*, {home} FROM ({failed}) AS j LEFT JOIN event AS e USING (session, seq)"
            queries.append(
                (f"{self.folder}/failed-{number}/", f"{rows} LEFT JOIN digest_home AS h ON e.digest = h.digest")
            )
        return Job(tuple(setup), tuple(queries), self.cut.memory, self.cut.threads, self._spill(number))

    def job(self, number: int, setup: Sequence[str], queries: Sequence[tuple[str, str]]) -> Job:
        """Return a job that runs queries on the events of one partition.

        `setup`: statements for additional tables and views.
        """
        named = ", ".join(
            f"{name}::{type_} AS {name}" for name, type_ in ({"digest": "digest_name"} | NAMED_EVENTS).items()
        )
        own = [
            *self._settings(),
            f"CREATE TEMP VIEW tape_digest AS FROM {self.sources['tape_digest']}",
            f"CREATE TEMP VIEW every_outcome AS SELECT * FROM {self.sources['every_outcome']}",
            *self._macros(),
            self._own["digest_texts"],
            self._homes,
            "CREATE TEMP TABLE whole_digest AS SELECT digest FROM digest_home",
            f"CREATE TEMP TABLE joined AS SELECT * REPLACE ({named}) FROM {self._dealt('dealt', number)}",
            SPREAD,
            f"CREATE TEMP TABLE failure AS {self._failed(number)}",
            self._own["outcome"],
            *statements(load_sql("querytape.analyze", "matched.sql")),
        ]
        return Job((*own, *setup), tuple(queries), self.cut.memory, self.cut.threads, self._spill(number))

    def _spill(self, number: int) -> str:
        return str(self.folder / f"spill-{number}")

    def _dealt(self, kind: str, number: int) -> str:
        files = sorted(self.folder.glob(f"{kind}-*/piece={number}/*.parquet"))
        nothing = "" if files else " WHERE false"
        files = files or sorted(self.folder.glob(f"{kind}-*/*/*.parquet"))[:1]
        return f"read_parquet({sql_files(files)}, hive_partitioning = false){nothing}"

    def _failed(self, number: int) -> str:
        if not any(self.folder.glob("failed-*/*/*.parquet")):
            return NO_FAILURE
        return f"SELECT * REPLACE (run::short_name AS run) FROM {self._dealt('failed', number)}"

    def _settings(self) -> list[str]:
        """Return statements that create the database's types and variables in a job."""
        made = [ddl("names")]
        for name in TYPES:
            made.append(
                f"CREATE TYPE {name} AS ENUM (SELECT name FROM {sql_text(self.folder / f'{name}.parquet')} ORDER BY 1)"
            )
        made.append(self._own["result_kind"])
        for name in VARIABLES:
            ((value, kind),) = self.database.con.execute(
                f"SELECT getvariable('{name}')::VARCHAR, typeof(getvariable('{name}'))"
            ).fetchall()
            typed = "NULL" if value is None else sql_text(value)
            made.append(f"SET VARIABLE {name} = CAST({typed} AS {kind if kind.isalpha() else 'BIGINT'})")
        return made

    def _macros(self) -> list[str]:
        """Return the statements that create macros. The views that the macros read must already exist."""
        return [*(text for text in self._own.values() if _KIND.match(text)), *statements(counting.MACROS)]

    def _save(self, query: str, name: str) -> Path:
        """Write the rows of a query as a file for the jobs."""
        file = self.folder / f"{name}.parquet"
        self.database.con.execute(f"COPY ({query}) TO {sql_text(file)} (FORMAT parquet)")
        return file


def _homes(partitions: int) -> str:
    """Return the query that assigns whole digests to partitions, the largest digests first."""
    return (
        "SELECT digest, (row_number() OVER (ORDER BY events DESC, digest) - 1)"
        f" % {partitions} AS home FROM (SELECT digest, sum(events)::BIGINT AS events FROM tape_digest GROUP BY digest)"
        f" WHERE events <= {MAX_SHARE} * (SELECT sum(events) FROM tape_digest) / {partitions}"
    )


def _prelude() -> dict[str, str]:
    """Return the CREATE statements of prelude.sql by the name of the created object."""
    made = ((_MADE.match(text), text) for text in statements(load_sql("querytape.analyze", "prelude.sql")))
    return {match[1]: text for match, text in made if match}
