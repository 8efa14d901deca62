# SPDX-License-Identifier: Apache-2.0
"""What another server than ProxySQL's admin port answers: nothing of the kind. The rest is tested with the source."""

import pytest
from querytape.servers.proxysql_admin import describe_proxysql
from querytape.servers.sandbox import Server
from querytape.servers.target import parse_target


@pytest.mark.server
def test_another_server(mariadb: Server) -> None:
    """A MySQL server has no such tables: it is none."""
    assert describe_proxysql(parse_target(mariadb.url())) is None
