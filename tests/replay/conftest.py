# SPDX-License-Identifier: Apache-2.0
"""Servers with an empty schema `shop`."""

from collections.abc import Iterator

import pytest
from querytape.replay.sandbox import Server


@pytest.fixture
def shop(mariadb: Server) -> Iterator[Server]:
    """The shared MariaDB with an empty schema `shop`."""
    mariadb.execute("CREATE OR REPLACE DATABASE shop")
    mariadb.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    mariadb.execute("CREATE TABLE shop.bytes (b LONGBLOB)")
    yield mariadb
    mariadb.execute("DROP DATABASE shop")


@pytest.fixture
def any_shop(server: Server) -> Iterator[Server]:
    """Each kind of shared server in turn, with an empty schema `shop`."""
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    yield server
    server.execute("DROP DATABASE shop")
