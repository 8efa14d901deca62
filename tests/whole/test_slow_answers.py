# SPDX-License-Identifier: Apache-2.0
"""Tests of answers that pause longer than the read timeout. They arrive completely."""

from pathlib import Path

import pytest
from querytape.replay import replay
from querytape.servers.programs import find_program
from querytape.servers.sandbox import start_server

from tests.conftest import skip_loudly
from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import options, outcomes

pytestmark = pytest.mark.long

# Each row fills the send buffer of the server, so the server sends the row before it sleeps for the next one.
TEXTS = {
    "SELECT 1": (0, 1),
    "SELECT REPEAT('a', 40000), SLEEP(0.7) FROM (SELECT 1 UNION SELECT 2 UNION SELECT 3) t": (0, 3),
    "SELECT REPEAT('b', 17000), SLEEP(0.7) FROM (SELECT 1 UNION SELECT 2) t": (0, 2),
    "SELECT SLEEP(1.2)": (0, 1),
    "DO SLEEP(1.2)": (0, 0),
    "SELECT 2; SELECT SLEEP(0.8); SELECT 3": (0, 3),
    "SELECT REPEAT('c', 30000), SLEEP(0.7), x FROM (SELECT 1 x UNION SELECT 2) t WHERE x = 1 OR x = ST_X(x)": (
        None,
        None,
    ),
    "SELECT 4": (0, 1),
}


@pytest.mark.parametrize(("kind", "verify"), [("mariadb", False), ("mariadb", True), ("mysql-8.0", True)])
def test_answer_with_long_pauses_arrives_completely(
    kind: str, verify: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Rows and errors are correct after a pause anywhere in the answer, and the session continues."""
    if find_program(kind) is None:
        skip_loudly(request, f"answers that pause, on {kind}: it is not here (make servers)")
    events = [
        {"session": 1, "seq": seq, "start_ns": T0 + seq * MS, "statement": text, "db": "shop"}
        for seq, text in enumerate(TEXTS, 1)
    ]
    with start_server(kind) as server:
        server.execute("CREATE DATABASE shop")
        run = replay(make_tape(tmp_path / "a.tape", events), options(server, tmp_path / "a.run", verify=verify))
    found = outcomes(run.path, "status, errno, coalesce(rows_sent, 0)")
    assert [status for status, *_ in found] == ["executed"] * len(TEXTS)
    for (text, expected), (_, errno, rows) in zip(TEXTS.items(), found, strict=True):
        if expected[0] is not None:
            assert (errno, rows) == expected, text
        else:
            assert errno > 0, text
