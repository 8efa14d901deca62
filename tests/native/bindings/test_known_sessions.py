# SPDX-License-Identifier: Apache-2.0
"""Sessions that a reader knows from before the start of its log."""

import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings.known_sessions import KnownSessions
from querytape.native.bindings.parsers import open_slowlog


def test_known_thread_ids_must_ascend() -> None:
    """Lookups of thread ids use a binary search."""
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


def test_reader_owns_its_known_sessions(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The known sessions of a reader may be replaced before the first part is read."""
    log = tmp_path_factory.mktemp("logs") / "slow.log"
    log.write_text("# Time: 2024-06-10T08:13:20.125123Z\n")
    reader = open_slowlog([str(log)])
    for _ in range(2):
        known = KnownSessions()
        known.add(7, user="app")
        reader.know_sessions(known)
        known.close()
    reader.close()
