# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of several drivers."""

import pytest
from querytape.servers.sandbox import Server


@pytest.fixture
def shop(mariadb: Server) -> Server:
    """A MariaDB server with an empty table for the statements of the sessions."""
    mariadb.execute("CREATE DATABASE IF NOT EXISTS shop")
    mariadb.execute("DROP TABLE IF EXISTS shop.log")
    mariadb.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    return mariadb
