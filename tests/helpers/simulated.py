# SPDX-License-Identifier: Apache-2.0
"""Simulated runs on noisy machines: log-normal times, slow drift, random stalls, one bad second, and known effects."""

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from querytape.common.duck import sql_text
from querytape.native.bindings.statements import Normalizer

from tests.helpers.runs import make_run
from tests.helpers.tapes import T0, make_tape

from .duck import database

Effect = Callable[[random.Random, float], float]


@dataclass(frozen=True)
class Workload:
    """A workload of `digests` statements, each sent `repeats` times. Statement n has a median of 0.1 ms x 1.6^(n mod
    14), at most 50 ms.
    """

    digests: int = 20
    repeats: int = 600
    sigma: float = 0.35
    step_ns: int = 1_000_000

    def median_ms(self, digest: int) -> float:
        """Return the true median of a digest's service time."""
        return float(min(0.1 * 1.6 ** (digest % 14), 50.0))


@dataclass(frozen=True)
class Machine:
    """Disturbances of the service times on one side."""

    drift: float = 0.0  # slowdown of the whole side: 0.08 = 8 % slower
    wander: float = 0.08  # standard deviation of a slow autocorrelated factor shared by all statements
    stalls: float = 0.004  # probability of an extra 50 ms
    bad_second: bool = True  # during one second of the run, everything takes five times as long
    effects: dict[int, Effect] = field(default_factory=dict)


def times(load: Workload, machine: Machine, seed: int) -> list[float]:
    """Return the service time of each event in milliseconds. Event i belongs to digest i modulo `digests`."""
    chance = random.Random(seed)
    count = load.digests * load.repeats
    bad_from = chance.random() * count
    wander, found = 0.0, []
    for number in range(count):
        digest = number % load.digests
        wander = 0.999 * wander + machine.wander * math.sqrt(1 - 0.999**2) * chance.gauss(0, 1)
        value = load.median_ms(digest) * math.exp(load.sigma * chance.gauss(0, 1) + wander)
        value *= 1 + machine.drift
        if machine.bad_second and bad_from <= number < bad_from + 1000:
            value *= 5
        if chance.random() < machine.stalls:
            value += 50
        if digest in machine.effects:
            value = machine.effects[digest](chance, value)
        found.append(value)
    return found


def digest_name(number: int) -> str:
    """Return a digest's 16 hex digits."""
    return f"{number:016x}"


def simulate_tape(path: Path, load: Workload) -> Path:
    """Write the tape with ten sessions that take turns."""
    count = load.digests * load.repeats
    tape = make_tape(
        path,
        f"""SELECT i % 10 + 1 AS session, i // 10 + 1 AS seq, 'query' AS command, {T0} + i * {load.step_ns} AS start_ns,
            300000 AS duration_ns, 1000 AS precision_ns, 'app' AS "user", 'web1' AS host, 'shop' AS db,
            printf('SELECT %d', i % {load.digests})::BLOB AS statement, 0 AS file, i AS "offset",
            printf('%016x', i % {load.digests}) AS digest, 'read' AS class, 1 AS rows_sent, 0 AS flags
        FROM range(0, {count}) AS numbers(i)""",
    )
    write_digests(tape, {digest_name(n): f"select c{n} from t{n} where id = ?" for n in range(load.digests)})
    return tape


def write_digests(tape: Path, normalized: dict[str, str], samples: dict[str, bytes] | None = None) -> None:
    """Write digests.parquet with the given normalized statements and samples."""
    normalizer = Normalizer()
    rows = [
        (
            digest,
            text,
            normalizer.normalize(text.encode()).actions,
            normalizer.properties(text.encode()),
            *normalizer.names(text.encode()),
            (samples or {}).get(digest),
        )
        for digest, text in normalized.items()
    ]
    with database() as con:
        con.execute(
            "CREATE TABLE texts (digest VARCHAR, normalized VARCHAR, actions BIGINT, properties BIGINT, tables VARCHAR[], calls VARCHAR[], sample BLOB)"
        )
        if rows:
            con.executemany("INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        events = sql_text(str(tape / "events" / "part-*.parquet"))
        con.execute(
            f"""COPY (
                SELECT digest, any_value(e.class) AS class, any_value(texts.actions) AS actions, any_value(properties) AS properties, any_value(tables) AS tables, any_value(calls) AS calls, any_value(normalized) AS normalized, any_value(sample) AS sample,
                    coalesce(octet_length(any_value(sample)), 0)::BIGINT AS sample_bytes, NULL::VARCHAR AS pt_id,
                    count(*) AS events, sum(duration_ns)::BIGINT AS duration_ns, min(start_ns) AS first_ns, max(start_ns) AS last_ns
                FROM {f"read_parquet({events})"} AS e JOIN texts USING (digest) GROUP BY digest
            ) TO {sql_text(tape / "digests.parquet")} (FORMAT parquet)"""
        )


def simulate_run(path: Path, tape: Path, load: Workload, machine: Machine, seed: int) -> Path:
    """Write a run of the simulated tape on `machine`."""
    values = path.with_name(path.name + ".json")
    values.write_text(json.dumps([{"i": i, "ms": ms} for i, ms in enumerate(times(load, machine, seed))]))
    return make_run(
        path,
        tape,
        f"""SELECT i % 10 + 1 AS session, i // 10 + 1 AS seq, 0 AS clone, i * {load.step_ns} AS due_ns, due_ns AS queued_ns,
            due_ns AS free_ns, due_ns + 20000 AS sent_ns, sent_ns + CAST(ms * 1e6 AS BIGINT) AS done_ns,
            'executed' AS status, 1 AS rows_sent, 0 AS errno
        FROM read_json({sql_text(values)})""",
    )
