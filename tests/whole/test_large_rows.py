# SPDX-License-Identifier: Apache-2.0
"""If a row is larger than the memory limit of a session, the session's connection ends. The run reports and counts the
reason.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from querytape.replay import engine_options, replay
from querytape.servers.sandbox import Server, start_server

from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import options, outcomes

MIB = 1 << 20


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Start a server with an empty schema."""
    with start_server("mariadb") as server:
        server.execute("CREATE DATABASE shop")
        yield server


@pytest.mark.long
@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("size", [2 * MIB, 17 * MIB, 40 * MIB])
def test_oversized_row_ends_only_its_session(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, verify: bool
) -> None:
    """The row arrives in one packet or in several packets. A failure for another reason does not count as an oversized
    row.
    """
    monkeypatch.setattr(engine_options, "MIN_ROW_BYTES", MIB)
    monkeypatch.setattr(engine_options, "ROWS_BYTES", MIB)
    monkeypatch.setattr(engine_options, "MAX_ROW_BYTES", MIB if size < 18 * MIB else 36 * MIB)
    texts = ["SELECT 1", f"SELECT REPEAT('a', 8), REPEAT('b', {size}) FROM (SELECT 1 UNION SELECT 2) t", "SELECT 2"]
    events = [
        {
            "session": session,
            "seq": seq,
            "start_ns": T0 + (3 * session + seq) * 20 * MS,
            "statement": text,
            "db": "shop",
        }
        for session in (1, 2)
        for seq, text in enumerate(texts if session == 1 else ["SELECT 3", "KILL CONNECTION_ID()"], 1)
    ]
    server.execute(f"SET GLOBAL max_allowed_packet = {64 * MIB}")
    run = replay(make_tape(tmp_path / "a.tape", events), options(server, tmp_path / "a.run", verify=verify))
    found = outcomes(run.path, "errno, error")
    said = [text for errno, text in found if errno == 2013 and text and "larger than" in text]
    assert len(said) == 1, found
    assert "its connection was ended here, not by the server" in said[0]
    assert run.info["accounting"]["rows_too_large"] == 1
    assert [text for text in run.info["generator"]["warnings"] if text.startswith("1 answer had a row larger than")]
