# SPDX-License-Identifier: Apache-2.0
"""Whether a statement compares a column, or only reads and writes its values."""

import pytest
from querytape.analyze.findings.column_use import compares


@pytest.mark.parametrize(
    "text",
    [
        "select status from orders where id = ?",
        "select id, status, total from orders where user_id = ?",
        "select o.status as s, o.id from orders o where o.id in (?+) order by o.id",
        "select shop.o.status state, id from o",
        "select sql_calc_found_rows status, id from orders limit ?",
        "select `status` from orders",
        "select status from orders order by id desc limit ?, ?",
        "select ?, status",
        "select id from (select id, status from orders where id > ?) as d where id < ?",
        "select status from orders union all select status from old_orders",
        "update orders set status = ?, total = total + ? where id = ?",
        "update orders set total = ?, o.status = ? where id = ?",
        "select id as status from orders where id = ?",
        "select status(id) from orders",
        "select status.id from status",
        "select order_status from orders where order_status = ?",
    ],
)
def test_values_that_are_only_read_or_written(text: str) -> None:
    """An item of what is selected, with or without a name, or what is set; or another thing has its name."""
    assert not compares(text, "status")


@pytest.mark.parametrize(
    "text",
    [
        "select id from orders where status = ?",
        "select id from orders where `Status` = ?",
        "select status, count(*) from orders group by status",
        "select id, status from orders order by status limit ?",
        "select distinct status from orders",
        "select count(distinct status) from orders",
        "select max(status) from orders",
        "select status = ? from orders",
        "select status from orders union select status from old_orders",
        "select a.id from a join b on a.status = b.status",
        "select id from a join b using (status)",
        "select id, status from orders order by ? desc",
        "select status, count(*) from orders group by id, ? order by id",
        "select id, status from orders having status > ?",
        "select case when status = ? then ? end from orders",
        "select id from orders where id in (select id from old where status like ?)",
        "update orders set total = ? where status = ?",
        "update orders set total = status",
        "insert into orders(id, status) values (?+)",
        "delete from orders where orders.status = ?",
    ],
)
def test_values_that_are_compared(text: str) -> None:
    """In conditions, joins, groups, orders, DISTINCT, UNION, functions and expressions, and in rows for unique keys."""
    assert compares(text, "status")


@pytest.mark.parametrize("text", ["", "select", ")", "((", "select status", "status", "select status as"])
def test_pieces_of_statements(text: str) -> None:
    """What is cut or no statement at all raises nothing."""
    compares(text, "status")
