# SPDX-License-Identifier: Apache-2.0
"""The query that lists the executed statements of a tape with their bound parameters."""


def executed_statements(events: str, digests: str, condition: str) -> str:
    """Return a query for the input of `parse_statements`. The columns are id, statement, digest and params.

    `id` is session * 2^31 + seq.

    - `events`: SQL table expression of the events
    - `digests`: SQL list or query of the wanted digests
    - `condition`: SQL condition of the wanted events
    """
    wanted = f"digest IN ({digests}) AND {condition}"
    return f"""
        SELECT session * 2147483648 + seq AS id, statement, digest, NULL::BLOB AS params
        FROM {events}
        WHERE command = 'query' AND statement IS NOT NULL AND {wanted}
        UNION ALL
        SELECT e.id, coalesce(e.statement, p.statement), e.digest, e.params
        FROM (
            SELECT session * 2147483648 + seq AS id, session, stmt, statement, digest, params
            FROM {events}
            WHERE command = 'execute' AND {wanted}
        ) AS e
        LEFT JOIN (
            SELECT session, stmt, any_value(statement) AS statement
            FROM {events}
            WHERE command = 'prepare' AND digest IN ({digests})
            GROUP BY session, stmt
        ) AS p ON e.session = p.session AND e.stmt = p.stmt
    """
