# SPDX-License-Identifier: Apache-2.0
"""The data of the demo shop."""

from contextlib import closing
from datetime import timedelta

import pytest
from querytape.demo.shop import ORDERS, create_shop, order_time
from querytape.servers.sandbox import Server

from ..conftest import ServerFactory


def test_time_of_a_shop_order_depends_only_on_its_number() -> None:
    assert order_time(2) - order_time(1) == timedelta(minutes=10)
    assert order_time(0).year == 2024


@pytest.mark.long
@pytest.mark.server
def test_same_seed_creates_the_same_shop(mariadb_factory: ServerFactory) -> None:
    """Two servers have equal tables. Each order line refers to an existing order and product."""
    sums = []
    for _ in range(2):
        server: Server = mariadb_factory()
        with closing(server.connect(autocommit=False)) as connection:
            assert create_shop(connection) > 95_000
            connection.commit()
        sums.append(server.execute("CHECKSUM TABLE customers, products, orders, order_lines", "shop"))
    assert sums[0] == sums[1]
    assert server.execute("SELECT COUNT(*) FROM orders", "shop") == ((ORDERS,),)
    orphans = "SELECT COUNT(*) FROM order_lines l LEFT JOIN orders o ON o.id = l.order_id WHERE o.id IS NULL"
    assert server.execute(orphans, "shop") == ((0,),)
