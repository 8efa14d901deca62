# SPDX-License-Identifier: Apache-2.0
"""The Python interface of the null server."""

import socket
from pathlib import Path

import pymysql
import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings.null_server import NullServer


def test_null_server_replies_ok_and_counts() -> None:
    """A closed null server no longer listens."""
    with NullServer() as server:
        connection = pymysql.connect(host="127.0.0.1", port=server.port, user="who", password="ever", ssl_disabled=True)
        with connection.cursor() as cursor:
            assert cursor.execute("UPDATE nothing SET a = 1") == 0
        assert server.answers >= 1
        connection.close()
        port = server.port
    assert server.answers == 0
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()


def test_invalid_socket_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NativeFault):
        NullServer(tmp_path / "no such folder" / "socket")
