# SPDX-License-Identifier: Apache-2.0
"""Build the tables of analyses from partitions in rounds.

In each round, one job per partition computes all tables whose input is known.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...common.duck import sql_files, sql_text
from . import counting
from .partitions import NAMED, WHOLE, Partitions
from .steps import IN_PIECES, Step, parse

Wanted = dict[str, str]  # queries for each partition, by the name of the result table


@dataclass
class _Work:
    """A step, the other steps of its analysis, and its state: not begun, waiting for the tables of a round, or done."""

    step: Step
    others: dict[str, Step]
    making: Generator[Wanted] | None = None
    wanted: Wanted | None = None
    done: bool = False


class Rounds:
    """The rounds of building one report's tables."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions, self._con = partitions, partitions.database.con
        self._round = 0
        self._files: dict[str, list[Path]] = {}  # files of tables that jobs may read, by name

    def make(self, analyses: Sequence[tuple[str, str]]) -> dict[str, str]:
        """Build the tables of analyses (name, text). Returns the last SELECT of each analysis, to be run next."""
        parsed = [parse(name, text) for name, text in analyses]
        works = [
            _Work(step, {other.name: other for other in analysis.steps})
            for analysis in parsed
            for step in analysis.steps
        ]
        while not all(work.done for work in works):
            self._begin(works)
            waiting = [work for work in works if work.wanted]
            self._ask(waiting)
            for work in waiting:
                self._go_on(work)
        return {analysis.name: analysis.select for analysis in parsed}

    def _begin(self, works: Sequence[_Work]) -> None:
        """Run the steps that need no partition, and begin the steps whose input exists."""
        done = {work.step.name for work in works if work.done}
        for work in works:
            if work.done or work.making or not work.step.reads(work.others) - {work.step.name} <= done:
                continue
            if not self._in_pieces(work.step, work.others):
                self._con.execute(work.step.text)
                work.done = True
            elif not work.step.is_table:
                work.done = True
            else:
                work.making = self._grouped(work.step) if work.step.grouped else self._rows(work.step)
                self._go_on(work)
            if work.done:
                done.add(work.step.name)

    def _go_on(self, work: _Work) -> None:
        assert work.making is not None
        work.wanted = next(work.making, None)
        work.done = work.wanted is None

    def _in_pieces(self, step: Step, others: dict[str, Step]) -> bool:
        """Return whether a step reads events, directly or through a view."""
        views = (others[name] for name in step.reads(others) if name != step.name and not others[name].is_table)
        return bool(step.reads(IN_PIECES)) or any(self._in_pieces(view, others) for view in views)

    def _rows(self, step: Step) -> Generator[Wanted]:
        """Collect the rows of all partitions unchanged."""
        yield {step.name: step.query}

    def _grouped(self, step: Step) -> Generator[Wanted]:
        """Compute a grouped table. Whole digests are aggregated in their partitions.

        All other groups are combined from partial rows and counts of all partitions.
        """
        name, ranked = step.name, [each for each in step.aggregates if each.ranked]
        wanted = {f"{name}__part": counting.partial_rows(step, WHOLE)}
        whole = counting.whole_rows(step, WHOLE)
        if whole is not None:
            wanted[f"{name}__whole"] = whole
        for each in ranked:
            wanted[f"{name}__{each.name}__counts"] = counting.counted(step, each, WHOLE)
        yield wanted
        asked = {}
        for each in ranked:
            table = f"{name}__{each.name}__bins"
            self._table(table, counting.chosen(step, each, f"{name}__{each.name}__counts"))
            if self._con.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]:
                asked[f"{name}__{each.name}__values"] = counting.values(step, each, table, WHOLE)
        if asked:
            yield asked
        tables = {}
        for each in ranked:
            tables[each.name] = f"{name}__{each.name}__found"
            counts, bins = (f"{name}__{each.name}__{kind}" for kind in ("counts", "bins"))
            found = f"{name}__{each.name}__values"
            if found not in asked:
                found = f"(SELECT *, NULL::BIGINT AS value FROM {counts} WHERE false)"
            self._table(tables[each.name], counting.ranked(step, each, bins, found))
        union = "" if whole is None else f" UNION ALL BY NAME FROM {name}__whole"
        self._table(name, counting.together(step, f"{name}__part", tables) + union)

    def _table(self, name: str, query: str) -> None:
        self._con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")

    def _ask(self, works: Sequence[_Work]) -> None:
        """Run one round with one job per partition. The resulting rows become tables of the database."""
        wanted = {table: query for work in works for table, query in (work.wanted or {}).items()}
        if not wanted:
            return
        setup: dict[str, str] = {}
        for work in works:
            for query in (work.wanted or {}).values():
                self._setup(query, work, setup)
        self._round += 1
        folder = self._partitions.folder / f"round-{self._round}"
        folder.mkdir()
        numbers = range(self._partitions.cut.partitions)
        jobs = [
            self._partitions.job(
                number,
                list(setup.values()),
                [(f"{folder}/{table}-{number}.parquet", query) for table, query in wanted.items()],
            )
            for number in numbers
        ]
        self._partitions.run(jobs)
        for table in wanted:
            self._load(table, [folder / f"{table}-{number}.parquet" for number in numbers])

    def _setup(self, query: str, work: _Work, setup: dict[str, str]) -> None:
        """Add the statements that create the tables, views and chosen bins that a query reads."""
        probe = Step("", "", query)
        bins = [f"{work.step.name}__{each.name}__bins" for each in work.step.aggregates if each.ranked]
        for name in [*sorted(probe.reads(bins)), *(other for other in work.others if probe.reads([other]))]:
            if name in setup or name == work.step.name:
                continue
            other = work.others.get(name)
            if other is None or other.is_table:
                setup[name] = f"CREATE TEMP TABLE {name} AS FROM {self._saved(name)}"
            else:
                self._setup(other.query, work, setup)
                setup[name] = other.text

    def _saved(self, name: str) -> str:
        """Write a table of the database to a file unless the file exists.

        Returns SQL that reads the file with the table's types.
        """
        file = self._partitions.folder / f"{name}.parquet"
        if not file.exists():
            self._con.execute(f"COPY {name} TO {sql_text(file)} (FORMAT parquet)")
        return self._typed([file])

    def _load(self, table: str, files: Sequence[Path]) -> None:
        self._table(table, f"FROM {self._typed(files)}")

    def _typed(self, files: Sequence[Path]) -> str:
        """Return SQL that reads files with the column types of the original tables."""
        rows = f"read_parquet({sql_files(files)})"
        casts = []
        for name, kind, *_ in self._con.execute(f"DESCRIBE FROM {rows}").fetchall():
            if name in NAMED and kind == "VARCHAR":
                casts.append(f"{name}::{NAMED[name]} AS {name}")
            elif kind == "DECIMAL(38,0)":
                casts.append(f"{name}::HUGEINT AS {name}")
        replaced = f" REPLACE ({', '.join(casts)})" if casts else ""
        return f"(SELECT *{replaced} FROM {rows})"
