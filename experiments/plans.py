# SPDX-License-Identifier: Apache-2.0
"""Fetches from two servers the query plans of a tape's digests and the schema properties. No load, no writes.

A few statements of each digest, with various parameters, are explained. Both servers are queried at once, with one or
two connections each. Reports read the resulting folder. `schemas/plans.sql` defines its format.
"""

import json
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..analyze.findings.plans import agreeing
from ..common.duck import open_database, write_rows
from ..common.errors import TargetError
from ..common.files import file_entry, new_folder, write_json
from ..common.staged import full_name
from ..common.temporary import temporary_folder
from ..common.text import printable
from ..replay.observe.counting import WorkCounter
from ..replay.observe.explain import Explainer, Sample
from ..replay.observe.query_plans import explainable, plan_samples
from ..replay.observe.schema_facts import collect, tape_schemas
from ..schemas import FORMAT_VERSION, TABLES, Folder, check_parquet, columns, open_folder, tape_id
from ..servers.facts import gather
from ..servers.target import Target

MEMORY = "1GB"
Row = tuple[object, ...]


@dataclass(frozen=True)
class PlanOptions:
    """The extent of the requests to the servers.

    `per_digest` samples of each digest are explained. `each_s`: time limit of one answer. `all_s`: time limit of all
    answers.

    `analyze_s`: reads are also executed (ANALYZE), each for at most this time. None = nothing is executed. `digests`:
    only these digests. `schemas`: for each side, the server's schema for a schema of the tape.

    `count`: digests whose reads are executed if their plans agree, to compare the counters of both servers (None =
    all). Each execution takes at most `count_s`, all together at most `count_all_s`.
    """

    per_digest: int = 5
    each_s: float = 2.0
    all_s: float = 600.0
    analyze_s: float | None = None
    digests: Collection[str] | None = None
    schemas: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    count: Collection[str] | None = ()
    count_s: float = 10.0  # not used if analyze_s is set
    count_all_s: float = 120.0


@dataclass
class _Asked:
    """The answers of one server."""

    info: dict[str, Any] = field(default_factory=dict)
    facts: list[Row] = field(default_factory=list)
    plans: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    digests: set[str] = field(default_factory=set)
    error: BaseException | None = None


def ask_plans(
    tape_path: Path,
    targets: Mapping[str, Target],
    output: Path,
    options: PlanOptions | None = None,
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> Folder:
    """Fetch plans from the servers `a` and `b` into the new folder `output`, and return the folder.

    `tell` is called with the number of finished statements and the total. Raises TargetError if a server is not usable.
    """
    options = options or PlanOptions()
    tape = open_folder("tape", tape_path)
    new_folder(output)
    try:
        return _asked_into(output, tape, targets, options, tell)
    except BaseException:
        shutil.rmtree(output, ignore_errors=True)
        raise


def _asked_into(
    output: Path, tape: Folder, targets: Mapping[str, Target], options: PlanOptions, tell: Callable[[int, int], None]
) -> Folder:
    """Fetch the plans and write the files of the folder."""
    with temporary_folder() as spill, open_database(Path(spill), MEMORY) as con:
        samples = plan_samples(con, tape, options.per_digest, options.digests)
        schemas = {side: tape_schemas(con, tape, target.db) for side, target in targets.items()}
        asked = _ask_all(targets, samples, schemas, options, tell)
        _count(targets, samples, options, asked)
        rows = [(each.digest, each.number, each.why, each.db, each.statement) for each in samples]
        write_rows(con, columns("plans", "samples"), rows, output / "samples.parquet")
        write_rows(con, columns("plans", "plans"), _rows(asked, "plans"), output / "plans.parquet")
        write_rows(con, columns("plans", "schema_facts"), _rows(asked, "facts"), output / "schema_facts.parquet")
        of = len(options.digests) if options.digests is not None else explainable(con, tape)
    wanted = {sample.digest for sample in samples}
    info = {
        "format_version": FORMAT_VERSION,
        "finished": True,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "tape": {"path": full_name(tape.path), "id": tape_id(tape.info)},
        **{side: each.info for side, each in asked.items()},
        "digests": len(wanted),
        "without_samples": max(of - len(wanted), 0),
        "not_asked": len(wanted - (asked["a"].digests & asked["b"].digests)),
        "problems": [f"{side.upper()}: {text}" for side, each in asked.items() for text in each.problems],
        "files": _file_entries(output),
    }
    write_json(output / "plans.json", info)
    return open_folder("plans", output)


def _file_entries(output: Path) -> list[dict[str, Any]]:
    found = []
    for table in TABLES["plans"]:
        file = output / f"{table}.parquet"
        if file.exists():
            found += [file_entry(output, each, rows) for each, rows in check_parquet("plans", table, (file,)).items()]
    return found


def _rows(asked: Mapping[str, _Asked], name: str) -> Iterator[Row]:
    for side, each in asked.items():
        for row in getattr(each, name):
            yield (side, *row)


def _ask_all(
    targets: Mapping[str, Target],
    samples: list[Sample],
    schemas: Mapping[str, list[str]],
    options: PlanOptions,
    tell: Callable[[int, int], None],
) -> dict[str, _Asked]:
    """Query all servers at once, each in a thread.

    Raises the error of a thread. A TargetError includes the server's name.
    """
    asked = {side: _Asked() for side in targets}
    done = dict.fromkeys(targets, 0)

    def work(side: str) -> None:
        renamed = options.schemas.get(side, {})
        try:
            there = {name: renamed.get(name, name) for name in schemas[side]}
            for number in _ask(targets[side], samples, there, options, asked[side]):
                done[side] = number
        except BaseException as error:
            asked[side].error = error

    workers = [threading.Thread(target=work, args=(side,), name=f"plans of {side}", daemon=True) for side in targets]
    for worker in workers:
        worker.start()
    for worker in workers:
        while worker.is_alive():
            worker.join(0.2)
            tell(min(done.values()), len(samples))
    for side, each in asked.items():
        name = targets[side].name
        if isinstance(each.error, TargetError) and name not in str(each.error):
            raise TargetError(f"{side.upper()} ({name}): {each.error}") from each.error
        if each.error is not None:
            raise each.error
    return asked


def _count(
    targets: Mapping[str, Target], samples: list[Sample], options: PlanOptions, asked: Mapping[str, _Asked]
) -> None:
    """Execute the reads whose plans agree, on one server after another. The counters are added to the plans."""
    wanted = [each for each in samples if each.number == 1 and (options.count is None or each.digest in options.count)]
    agree = agreeing(*(_json_plans(asked[side]) for side in sorted(asked)))
    chosen = [sample for sample in wanted if sample.digest in agree]
    until = time.monotonic() + options.count_all_s
    if not chosen:
        return
    with ExitStack() as stack:
        counters = {}
        for side, target in targets.items():
            explainer = stack.enter_context(closing(Explainer(target, options.schemas.get(side, {}), options.each_s)))
            counters[side] = stack.enter_context(closing(WorkCounter(explainer, options.analyze_s or options.count_s)))
        for sample in chosen:
            if time.monotonic() > until:
                return
            for side, counter in counters.items():
                try:
                    asked[side].plans.append((sample.digest, sample.number, *counter.count(sample)))
                except TargetError as error:
                    asked[side].problems.append(printable(str(error), 500))
                    return


def _json_plans(asked: _Asked) -> dict[tuple[str, int], str]:
    """Return the plans of one server by (digest, sample)."""
    return {(str(row[0]), int(str(row[1]))): str(row[3]) for row in asked.plans if row[2] == "json" and row[3]}


def _ask(
    target: Target, samples: list[Sample], schemas: Mapping[str, str], options: PlanOptions, asked: _Asked
) -> Iterator[int]:
    """Query one server. Yield the number of finished statements. Raises TargetError if the server is not usable."""
    until = time.monotonic() + options.all_s
    with closing(target.connect()) as server:
        facts = gather(server)
        asked.info = {
            "name": target.name,
            "version": facts.version,
            "version_comment": facts.version_comment,
            "variables": facts.variables,
        }
        asked.facts = [
            (fact.kind, fact.db, fact.table, fact.name, json.dumps(dict(fact.facts), ensure_ascii=False))
            for fact in collect(server, schemas, writes=False)
        ]
    with closing(Explainer(target, schemas, options.each_s, options.analyze_s)) as explainer:
        for number, sample in enumerate(samples, 1):
            if time.monotonic() > until:
                asked.problems.append(
                    f"the time limit of {options.all_s:.0f} s was reached after {number - 1:,} of {len(samples):,}"
                    " statements"
                )
                return
            try:
                for plan in explainer.explain(sample, more=sample.number == 1):
                    asked.plans.append((sample.digest, sample.number, *plan))
            except TargetError as error:
                asked.problems.append(printable(str(error), 500))
                return
            asked.digests.add(sample.digest)
            yield number
