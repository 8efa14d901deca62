# SPDX-License-Identifier: Apache-2.0
"""Find the events that a filter selects. Transactions stay whole, and events that set session state are included.

`replay --from`, `tape cut` and all other filters use the same rule. `tape cut` therefore keeps exactly the events that
`replay --from` sends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from .event_filter import EventFilter
from .tables import ddl

WITHOUT_TRANSACTIONS = ("NULL::BIGINT AS tx_seq", "NULL::BIGINT AS tx_start_ns", "false AS tx_selected")


@dataclass(frozen=True)
class SelectionTables:
    """The SQL names of the tables that `selection_sql` joins. A name is None if the filter does not need the table.

    - sessions: the selected sessions (session, last_ns, events)
    - transactions: the table of `find_transactions`
    - companions: the result of companions.sql
    - preparing: digests of PREPARE and DEALLOCATE statements (digest)
    """

    sessions: str | None = None
    transactions: str | None = None
    companions: str | None = None
    preparing: str | None = None


def define_macros(con: duckdb.DuckDBPyConnection) -> None:
    """Create the SQL macros of names.sql and event_macros.sql."""
    con.execute(ddl("names"))
    con.execute(ddl("event_macros"))


def preparing_sql(digests: str) -> str:
    """Return a query for the digests of PREPARE and DEALLOCATE statements.

    `digests`: a table of the digests of a tape. PREPARE and DEALLOCATE set session state. EXECUTE has the same flag but
    sets no state.
    """
    return f"SELECT DISTINCT digest FROM {digests} WHERE has_property(properties, 'prepares_text')"


def find_transactions(con: duckdb.DuckDBPyConnection, kept: EventFilter, table: str) -> None:
    """Create a table of the transactions in view `tape_events`. `is_selected` marks matching transactions.

    A transaction matches if an event of its chain matches the filter. The table also has the columns of
    transactions.sql. If the filter has no conditions on events or time, the columns are session, first_seq, last_seq
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
    """Return a query for the events of `source` (with `tape_ns`), with the columns of the filter and `filtered`.

    - `filtered`: the filter that excludes the event, or NULL if the event is selected
    - `is_before`: the event is before the time range
    - `is_needed`: its session may have selected events later
    - `tx_seq`, `tx_start_ns`, `tx_selected`: its transaction

    `columns`, `joins` and `needed` (a condition for is_needed) extend the query. The alias of an event is `t`.
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
