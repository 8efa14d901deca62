# SPDX-License-Identifier: Apache-2.0
"""Finds the events that a filter selects: transactions stay whole, and what made their sessions' state comes with them.

One rule for `replay --from`, `tape cut` and all that filters: what the first sends, the second keeps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from .event_filter import EventFilter
from .tables import ddl

WITHOUT_TRANSACTIONS = ("NULL::BIGINT AS tx_seq", "NULL::BIGINT AS tx_start_ns", "false AS tx_selected")


@dataclass(frozen=True)
class SelectionTables:
    """What `selection_sql` joins: SQL names of tables; None where the filter needs none of that.

    sessions        session, last_ns, events: the selected sessions
    transactions    what `transactions_sql` gives
    companions      companions.sql
    preparing       digest: of PREPARE and DEALLOCATE as statements
    """

    sessions: str | None = None
    transactions: str | None = None
    companions: str | None = None
    preparing: str | None = None


def define_macros(con: duckdb.DuckDBPyConnection) -> None:
    """Make the macros of names.sql and event_macros.sql."""
    con.execute(ddl("names"))
    con.execute(ddl("event_macros"))


def preparing_sql(digests: str) -> str:
    """Return a query of the digests of PREPARE and DEALLOCATE as statements. `digests`: a tape's.

    They make state; the EXECUTE that has the same flag does not.
    """
    return f"SELECT DISTINCT digest FROM {digests} WHERE has_property(properties, 'prepares_text')"


def find_transactions(con: duckdb.DuckDBPyConnection, kept: EventFilter, table: str) -> None:
    """Make a table of the transactions of view tape_events, and whether any event of their chain is what is asked for.

    Its columns: those of transactions.sql, and is_selected. Where nothing is asked for: session, first_seq, last_seq
    and end_seq.
    """
    if not kept.by_event:
        columns = "session, first_seq, last_seq, end_seq"
        con.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS SELECT {columns} FROM ({ddl('transactions')})")
        return
    con.execute(f"CREATE OR REPLACE TEMP TABLE new_transactions AS {ddl('transactions')}")
    selected = (
        "SELECT DISTINCT x.session, x.first_seq"
        f" FROM ({kept.wanted_sql()}) e"
        " ASOF JOIN new_transactions x ON e.session = x.session AND e.seq >= x.first_seq WHERE e.seq <= x.last_seq"
    )
    con.execute(f"CREATE OR REPLACE TEMP TABLE selected AS {selected}")
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE {table} AS"
        " SELECT f.*, bool_or(w.session IS NOT NULL) OVER (PARTITION BY f.session, f.chain) AS is_selected"
        " FROM new_transactions f"
        " LEFT JOIN selected w ON f.session = w.session AND f.first_seq = w.first_seq ORDER BY f.session, f.first_seq"
    )
    con.execute("DROP TABLE new_transactions")
    con.execute("DROP TABLE selected")


def selection_sql(
    kept: EventFilter,
    source: str,
    tables: SelectionTables,
    columns: Sequence[str] = (),
    joins: Sequence[str] = (),
    needed: str = "true",
) -> str:
    """Return a query of the events of `source` (with `tape_ns`) with what the filter has to know, and `filtered`.

    filtered: which filter excludes the event, NULL where it is selected. is_before: it lies before the stretch of time.
    is_needed: its session may have something selected later. tx_seq, tx_start_ns, tx_selected: its transaction.
    `columns`, `joins` and `needed` (a condition for is_needed) add what else is asked for; an event is `t`.
    """
    chosen, joined = ["t.*", *columns], [f"{source} t", *joins]
    if tables.sessions:
        joined.append(f"LEFT JOIN {tables.sessions} c ON t.session = c.session")
        later = f"c.last_ns >= {kept.from_ns or 0} AND {needed}"
        chosen += ["c.session IS NOT NULL AS is_selected", f"coalesce({later}, false) AS is_needed"]
    own = {"seq": "t.seq", "ns": "t.tape_ns", "digest": "t.digest", "class": "t.class", "db": "t.db"}
    if tables.companions:
        joined.append(f"LEFT JOIN {tables.companions} m ON t.session = m.session AND t.seq = m.seq")
        own = {name: f"coalesce(m.lead_{name}, {value})" for name, value in own.items()}
    chosen += [f"{value} AS own_{name}" for name, value in own.items()]
    if tables.preparing:
        joined.append(f"LEFT JOIN {tables.preparing} p ON t.digest = p.digest")
        chosen.append("p.digest IS NOT NULL AS prepares")
    else:
        chosen.append("false AS prepares")
    early = "false" if kept.from_ns is None else f"t.tape_ns < {kept.from_ns}"
    chosen.append(f"({early}) AS is_before")
    known = f"SELECT {', '.join(chosen)} FROM {' '.join(joined)}"
    columns_of_tx, from_tx = WITHOUT_TRANSACTIONS, f"({known}) e"
    if tables.transactions:
        inside = "e.own_seq <= x.last_seq"
        from_tx += f" ASOF LEFT JOIN {tables.transactions} x ON e.session = x.session AND e.own_seq >= x.first_seq"
        columns_of_tx = (
            f"CASE WHEN {inside} THEN x.first_seq END AS tx_seq",
            f"CASE WHEN {inside} THEN x.start_ns END AS tx_start_ns",
            f"coalesce({inside} AND x.is_selected, false) AS tx_selected",
        )
    with_tx = f"SELECT e.*, {', '.join(columns_of_tx)} FROM {from_tx}"
    return f"SELECT *, {kept.filtered_by_sql()} AS filtered FROM ({with_tx})"
