# SPDX-License-Identifier: Apache-2.0
"""SQL that computes one step's table from partitions: partial rows, counts, values, and queries that combine them.

If a whole digest is in one partition, its rows are aggregated in this partition with the step's own statement. All
other rows belong to digests larger than a partition, or to groups without a digest. For these rows each partition
returns partial rows (sums, extremes).

Finding the value at a rank takes two passes. The first pass counts values in bins with a width of 2^-7 of a power of
two. The counts show which bins contain the ranks. The second pass counts the single values of these bins only.
"""

from collections.abc import Iterable

from .steps import Aggregate, Step

OWN = ("value_bin", "n", "value", "place", "rank", "upto", "total", "ranks")  # columns of the counting queries
SCALE = 1_000_000_000  # factor of the fixed-point numbers in mean_of (prelude.sql)
MACROS = """
CREATE OR REPLACE TEMP MACRO bin_of(x) AS CASE
    WHEN x > 0 THEN 20000 + floor(128 * log2(x::DOUBLE))
    WHEN x < 0 THEN -20000 - floor(128 * log2(-(x::DOUBLE)))
    ELSE 0 END::INTEGER;
"""


def whole_rows(step: Step, digests: str) -> str | None:
    """Return the query for the rows of digests that are whole in a partition, or None if the step has no digest."""
    digest = _digest(step)
    if digest is None:
        return None
    return _query(step, [each.sql for each in step.aggregates], f"{digest} IN ({digests})")


def partial_rows(step: Step, digests: str) -> str:
    """Return the query for partial rows. The query covers all rows whose digest is not whole in a partition."""
    return _query(step, [part for each in step.aggregates for part in _partial(each)], _spread(step, digests))


def counted(step: Step, aggregate: Aggregate, digests: str) -> str:
    """Return the query that counts the values of a ranked aggregate in bins.

    Raises ValueError if a key has the name of a column of these queries, because that name would be ambiguous.
    """
    value = _value(aggregate)
    for _, name in step.keys:
        if name in OWN:
            raise ValueError(f"{step.name}: the key column {name} is reserved for counts")
    wanted = _and(_spread(step, digests), aggregate.where, f"({value}) IS NOT NULL")
    return _query(step, [f"bin_of({value}) AS value_bin, count(*) AS n"], wanted)


def chosen(step: Step, aggregate: Aggregate, counts: str) -> str:
    """Return the query that finds the bins with the wanted ranks: keys, place, bin, and the rank within the bin."""
    names = [name for _, name in step.keys]
    by = f"PARTITION BY {', '.join(names)} " if names else ""
    return (
        f"SELECT {_listed(names)}place, value_bin, (ranks[place] - upto + n)::BIGINT AS rank"
        f" FROM (SELECT *, {_ranks(aggregate)} AS ranks, unnest(generate_series(1, len(ranks))) AS place"
        f" FROM (SELECT {_listed(names)}value_bin, n, (sum(n) OVER ({by}ORDER BY value_bin))::BIGINT AS upto,"
        f" (sum(n) OVER ({by}))::BIGINT AS total"
        f" FROM (SELECT {_listed(names)}value_bin, sum(n)::BIGINT AS n FROM {counts} GROUP BY ALL)))"
        " WHERE ranks[place] > upto - n AND ranks[place] <= upto"
    )


def values(step: Step, aggregate: Aggregate, bins: str, digests: str) -> str:
    """Return the query that counts each value in the chosen bins."""
    value = _value(aggregate)
    keys = [f"{expression} AS {name}" for expression, name in step.keys]
    names = [name for _, name in step.keys]
    wanted = _and(step.where, _spread(step, digests), aggregate.where, f"({value}) IS NOT NULL")
    return (
        f"SELECT {_listed(f'v.{name}' for name in names)}v.value_bin, v.value, count(*) AS n"
        f" FROM (SELECT {_listed(keys)}bin_of({value}) AS value_bin, {value} AS value FROM {step.rows}"
        f" WHERE {wanted}) AS v"
        f" SEMI JOIN {bins} AS c ON v.value_bin = c.value_bin{_equal('v', 'c', names)} GROUP BY ALL"
    )


def ranked(step: Step, aggregate: Aggregate, bins: str, found: str) -> str:
    """Return the query for a ranked aggregate: its keys and its value."""
    names = [name for _, name in step.keys]
    by = ", ".join([*names, "value_bin"])
    picked = _listed(f"c.{name}" for name in names)
    return (
        f"SELECT {_listed(names)}{_finish(aggregate)} AS {aggregate.name} FROM (SELECT {_listed(names)}"
        "list(value ORDER BY place) AS r"
        f" FROM (SELECT {picked}c.place, min(v.value) FILTER (v.upto >= c.rank) AS value FROM {bins} AS c"
        f" JOIN (SELECT *, sum(n) OVER (PARTITION BY {by} ORDER BY value) AS upto"
        f" FROM (SELECT {_listed(names)}value_bin, value, sum(n) AS n FROM {found} GROUP BY ALL)) AS v"
        f" ON v.value_bin = c.value_bin{_equal('v', 'c', names)} GROUP BY ALL) GROUP BY ALL)"
    )


def together(step: Step, parts: str, rank_tables: dict[str, str]) -> str:
    """Return the query for the step's own columns. It reads the partial rows and one table per ranked aggregate."""
    names = [name for _, name in step.keys]
    columns = [f"p.{name}" for name in names]
    joins = ""
    for place, each in enumerate(step.aggregates):
        if each.ranked:
            joins += f" LEFT JOIN {rank_tables[each.name]} AS r{place} ON true{_equal('p', f'r{place}', names)}"
            columns.append(f"r{place}.{each.name}")
        else:
            columns.append(f"p.{each.name}")
    sums = [f"{_merged(each)} AS {each.name}" for each in step.aggregates if not each.ranked]
    merged = ", ".join([*names, *sums]) or "count(*) AS nothing"
    return f"SELECT {', '.join(columns)} FROM (SELECT {merged} FROM {parts} GROUP BY ALL) AS p{joins}"


def _query(step: Step, columns: list[str], wanted: str) -> str:
    keys = [f"{expression} AS {name}" for expression, name in step.keys]
    where = _and(step.where, wanted)
    listed = ", ".join([*keys, *columns]) or "count(*) AS nothing"
    return f"SELECT {listed} FROM {step.rows}{f' WHERE {where}' if where else ''} GROUP BY ALL"


def _digest(step: Step) -> str | None:
    return next((expression for expression, name in step.keys if name == "digest"), None)


def _spread(step: Step, digests: str) -> str:
    """Return the condition for rows whose digest is not whole in a partition.

    The SQL variable `spread` is true if the partition has rows of this kind.
    """
    digest = _digest(step)
    return f"getvariable('spread') AND ({digest} IS NULL OR {digest} NOT IN ({digests}))" if digest else ""


def _partial(each: Aggregate) -> list[str]:
    name, where = each.name, each.filter
    if each.ranked:
        return []
    if each.function == "mean_of":
        scaled = f"sum((({each.arguments}) * {SCALE})::BIGINT)"
        return [f"{scaled}{where} AS {name}_sum", f"count({each.arguments}){where} AS {name}_n"]
    if each.function == "count" and each.arguments.startswith("DISTINCT"):
        return [f"list({each.arguments}){where} AS {name}"]
    if each.function == "arg_min":
        value, _, key = each.arguments.partition(", ")
        known = _and(each.where, f"{value} IS NOT NULL")
        return [each.sql, f"min({key}) FILTER ({known}) AS {name}_key"]
    return [each.sql]


def _merged(each: Aggregate) -> str:
    name = each.name
    if each.function == "mean_of":
        return f"sum({name}_sum)::DOUBLE / {SCALE} / sum({name}_n)"
    if each.function == "count" and each.arguments.startswith("DISTINCT"):
        return f"coalesce(len(list_distinct(flatten(list({name}) FILTER ({name} IS NOT NULL)))), 0)"
    if each.function == "count":
        return f"sum({name})::BIGINT"
    if each.function == "arg_min":
        return f"arg_min({name}, {name}_key)"
    return f"{each.function}({name}){each.cast}"


def _value(each: Aggregate) -> str:
    """Return the expression whose values an aggregate ranks."""
    if each.function != "quantile_disc":
        return each.arguments
    return each.arguments.rpartition(", [")[0] or each.arguments.rpartition(", ")[0]


def _ranks(each: Aggregate) -> str:
    """Return the SQL list of ranks among `total` values. Ranks start at 1."""
    if each.function == "median":
        return "[(total + 1) // 2, total // 2 + 1]"
    if each.function == "middle_interval":
        return "interval_ranks(total)"
    shares = each.arguments.removeprefix(f"{_value(each)}, ").strip("[]").split(", ")
    return f"[{', '.join(f'greatest(1, total - floor(total - {share} * total))::BIGINT' for share in shares)}]"


def _finish(each: Aggregate) -> str:
    """Return the expression for the aggregate's value. The list `r` contains the values at its ranks."""
    if each.function == "median":
        return "r[1] * 0.5::DOUBLE + r[2] * 0.5::DOUBLE"
    return "r" if each.function == "middle_interval" or each.arguments.endswith("]") else "r[1]"


def _listed(names: Iterable[str]) -> str:
    return "".join(f"{name}, " for name in names)


def _equal(a: str, b: str, names: Iterable[str]) -> str:
    return "".join(f" AND {a}.{name} IS NOT DISTINCT FROM {b}.{name}" for name in names)


def _and(*conditions: str) -> str:
    return " AND ".join(f"({each})" for each in conditions if each)
