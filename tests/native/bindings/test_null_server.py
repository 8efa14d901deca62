# SPDX-License-Identifier: Apache-2.0
"""The null server as Python sees it: it answers whoever comes, counts, and is gone when closed."""

import socket
from pathlib import Path

import pymysql
import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings.null_server import NullServer


def test_it_answers_any_statement() -> None:
    """A client logs in and gets OK for what it sends; answers are counted; a closed one listens no more."""
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


def test_a_socket_that_cannot_be_is_refused(tmp_path: Path) -> None:
    """Where it cannot listen the error says why."""
    with pytest.raises(NativeFault):
        NullServer(tmp_path / "no such folder" / "socket")
