# SPDX-License-Identifier: Apache-2.0
"""Pairs of schemas with one difference each. The report names this difference as the cause of each different result."""

from pathlib import Path

import pytest
from querytape.analyze import build
from querytape.replay import replay
from querytape.replay.plan.pacing import Pace
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import options

ID = "id INT PRIMARY KEY"
# For each case: the schema statements of A and B, the sent statements, the statements with a different result, and the
# cause.
CASES: dict[str, tuple[str, str, list[str], list[str], str]] = {
    "defaults": (
        f"CREATE TABLE defaults ({ID}, a INT, b INT DEFAULT 1)",
        f"CREATE TABLE defaults ({ID}, a INT, b INT DEFAULT 2)",
        ["INSERT INTO defaults (id, a) VALUES (1, 1)"],
        ["SELECT b FROM defaults WHERE id = 1", "SELECT * FROM defaults"],
        "column defaults.b: default 1 in A, 2 in B",
    ),
    "updates": (
        f"CREATE TABLE updates ({ID}, a INT, b DATETIME NULL ON UPDATE CURRENT_TIMESTAMP)",
        f"CREATE TABLE updates ({ID}, a INT, b DATETIME NULL)",
        ["INSERT INTO updates (id, a) VALUES (1, 1)", "UPDATE updates SET a = 2"],
        ["SELECT b IS NULL FROM updates WHERE id = 1", "SELECT * FROM updates"],
        "column updates.b: extra",
    ),
    "wider": (
        f"CREATE TABLE wider ({ID}, a INT)",
        f"CREATE TABLE wider ({ID}, a INT, c INT)",
        ["INSERT INTO wider (id, a) VALUES (1, 1)", "SELECT a FROM wider"],
        ["SELECT * FROM wider WHERE id = 1"],
        "A lacks column c on wider",
    ),
    "places": (
        f"CREATE TABLE places ({ID}, a INT, b INT)",
        f"CREATE TABLE places ({ID}, b INT, a INT)",
        ["INSERT INTO places VALUES (1, 2, 3)", "SELECT id FROM places"],
        ["SELECT a FROM places WHERE id = 1"],
        "column places.a: position in the table 2 in A, 3 in B",
    ),
    "engines": (
        f"CREATE TABLE engines ({ID}) ENGINE=InnoDB",
        f"CREATE TABLE engines ({ID}) ENGINE=MyISAM",
        ["BEGIN", "INSERT INTO engines VALUES (1)", "ROLLBACK"],
        ["SELECT COUNT(*) FROM engines"],
        "table engines: engine InnoDB in A, MyISAM in B",
    ),
    "parents": (
        f"CREATE TABLE parents ({ID}); CREATE TABLE children ({ID}, p INT, CONSTRAINT f FOREIGN KEY (p) REFERENCES parents (id)"
        " ON DELETE CASCADE); INSERT INTO parents VALUES (1), (2); INSERT INTO children VALUES (1, 1), (2, 2)",
        f"CREATE TABLE parents ({ID}); CREATE TABLE children ({ID}, p INT, CONSTRAINT f FOREIGN KEY (p) REFERENCES parents (id)"
        " ON DELETE SET NULL); INSERT INTO parents VALUES (1), (2); INSERT INTO children VALUES (1, 1), (2, 2)",
        ["DELETE FROM parents WHERE id = 1", "SELECT COUNT(*) FROM parents"],
        ["SELECT COUNT(*) FROM children"],
        "foreign key f on children: ON DELETE CASCADE in A, SET NULL in B",
    ),
    "numbers": (
        "CREATE TABLE numbers (id INT AUTO_INCREMENT PRIMARY KEY, a INT)",
        "CREATE TABLE numbers (id INT AUTO_INCREMENT PRIMARY KEY, a INT) AUTO_INCREMENT = 100",
        ["INSERT INTO numbers (a) VALUES (5)", "SELECT COUNT(*) FROM numbers"],
        ["SELECT id FROM numbers WHERE a = 5", "SELECT a FROM numbers WHERE id = 1"],
        "table numbers: next AUTO_INCREMENT value",
    ),
    "generated": (
        f"CREATE TABLE made ({ID}, a INT AS (id + 1))",
        f"CREATE TABLE made ({ID}, a INT AS (id + 2))",
        ["INSERT INTO made (id) VALUES (5)", "SELECT id FROM made"],
        ["SELECT a FROM made WHERE id = 5", "SELECT * FROM made"],
        "column made.a: generation expression",
    ),
    "types": (
        f"CREATE TABLE types ({ID}, a DECIMAL(10, 4))",
        f"CREATE TABLE types ({ID}, a DECIMAL(10, 2))",
        ["INSERT INTO types (id, a) VALUES (5, 1.2345)", "SELECT id FROM types"],
        ["SELECT a FROM types WHERE id = 5", "SELECT SUM(a) FROM types"],
        "column types.a: type decimal(10,4) in A, decimal(10,2) in B",
    ),
    "triggers": (
        f"CREATE TABLE triggers ({ID}); CREATE TABLE noted (n INT)",
        f"CREATE TABLE triggers ({ID}); CREATE TABLE noted (n INT);"
        " CREATE TRIGGER tr AFTER INSERT ON triggers FOR EACH ROW INSERT INTO noted VALUES (1)",
        ["INSERT INTO triggers (id) VALUES (5)", "SELECT COUNT(*) FROM triggers"],
        ["SELECT COUNT(*) FROM noted"],
        "A lacks trigger tr on triggers",
    ),
    "views": (
        f"CREATE TABLE viewed ({ID}, a INT); CREATE VIEW views AS SELECT id FROM viewed",
        f"CREATE TABLE viewed ({ID}, a INT); CREATE VIEW views AS SELECT a AS id FROM viewed",
        ["INSERT INTO viewed (id, a) VALUES (5, 1)", "SELECT id FROM viewed"],
        ["SELECT * FROM views"],
        "view views: the definitions differ",
    ),
}


def class_of(statement: str) -> str:
    word = statement.partition(" ")[0]
    return {"SELECT": "read", "BEGIN": "transaction", "ROLLBACK": "transaction"}.get(word, "write")


@pytest.mark.sampled
def test_each_schema_difference_is_named_as_the_cause(server: Server, tmp_path: Path) -> None:
    """Statements that the difference does not affect have equal results. For affected statements, the schema difference
    is the first cause.
    """
    texts = [text for _, _, sent, other, _ in CASES.values() for text in (*sent, *other)]
    events = [
        {"statement": text, "db": "shop", "class": class_of(text), "start_ns": T0 + n * 20 * MS, "duration_ns": MS}
        for n, text in enumerate(texts)
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    for side in (0, 1):
        server.execute("DROP DATABASE IF EXISTS shop")
        server.execute("CREATE DATABASE shop")
        for case in CASES.values():
            for statement in (case[0] if side == 0 else case[1]).split("; "):
                server.execute(statement, db="shop")
        replay(tape, options(server, tmp_path / f"{'ab'[side]}.run", pace=Pace("none"), verify=True))
    server.execute("DROP DATABASE shop")
    report = build(tape, [tmp_path / "a.run"], [tmp_path / "b.run"])
    of_text = {entry["text"]: entry["digest"] for entry in report.digests}
    different = {
        row["digest"] for row in report.answers["results"] if row["known"] is None and row["kind"] != "warnings"
    }
    expected = {of_text[text] for _, _, _, other, _ in CASES.values() for text in map(normalised, other)}
    assert different == expected
    for _, _, _, other, cause in CASES.values():
        for text in other:
            digest = of_text[normalised(text)]
            first = next((each.text for each in report.servers.differences if digest in each.changed), "no cause")
            assert first.startswith(cause), text


def normalised(text: str) -> str:
    """Return a statement in the normalized form of make_tape()."""
    return text.lower()
