# SPDX-License-Identifier: Apache-2.0
"""Sessions that were open before, as a reader takes them over."""

import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings.known_sessions import KnownSessions
from querytape.native.bindings.parsers import open_slowlog


def test_thread_ids_ascend() -> None:
    """They are searched by halves."""
    known = KnownSessions()
    with pytest.raises(NativeFault):
        known.add_statement(1, b"SELECT 1")
    known.add(7, "10.0.0.1", 5000, "app", "shop", "45")
    known.add_statement(1, b"SELECT '?', ?")
    known.add_statement(-1, b"SET @a = 1")
    with pytest.raises(NativeFault):
        known.add_statement(1 << 32, b"SELECT 1")
    with pytest.raises(NativeFault):
        known.add(7)
    known.close()
    known.close()


def test_a_reader_owns_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    """They go with the reader; others may take their place before the first part."""
    log = tmp_path_factory.mktemp("logs") / "slow.log"
    log.write_text("# Time: 2024-06-10T08:13:20.125123Z\n")
    reader = open_slowlog([str(log)])
    for _ in range(2):
        known = KnownSessions()
        known.add(7, user="app")
        reader.know_sessions(known)
        known.close()
    reader.close()
