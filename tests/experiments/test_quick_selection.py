# SPDX-License-Identifier: Apache-2.0
"""Tests of the statements that quick mode selects, and of the statements that it excludes."""

from pathlib import Path
from typing import Any

from querytape.experiments.quick_selection import WITHOUT_SAMPLE, choose, sentences
from querytape.schemas import open_folder

from tests.helpers.tapes import flag_bits, make_tape

NOT_ASKED: dict[str, list[dict[str, Any]]] = {
    "writes": [{"statement": "UPDATE t SET a = 1", "class": "write"}],
    "BEGIN, COMMIT, SET and the like": [
        {"statement": "COMMIT", "class": "transaction"},
        {"statement": "SET a = 1", "class": "session"},
    ],
    "DDL and administration": [
        {"statement": "DROP TABLE t", "class": "ddl"},
        {"statement": "KILL 1", "class": "admin"},
    ],
    "reads that lock": [
        {"statement": "SELECT a FROM t FOR UPDATE"},
        {"statement": "SELECT a FROM t LOCK IN SHARE MODE"},
    ],
    "LOAD_FILE, INTO OUTFILE and the like": [
        {"statement": "SELECT LOAD_FILE('/f')", "flags": flag_bits(danger="load_data")},
        {"statement": "SELECT 1 INTO OUTFILE '/f'", "flags": flag_bits(danger="into_file")},
    ],
    "SLEEP, GET_LOCK and the like": [
        {"statement": "SELECT SLEEP(1)"},
        {"statement": "SELECT 1 FROM t WHERE GET_LOCK('a', 1)"},
        {"statement": "SELECT BENCHMARK(9, MD5(1))"},
    ],
    "reads that call stored functions": [
        {"statement": "SELECT pay(1)"},
        {"statement": "SELECT a FROM t WHERE `shop`.`pay`(a)"},
    ],
    "reads of temporary tables": [{"statement": "SELECT a FROM tmp"}],
    "SHOW, CALL and the like": [{"statement": "SHOW TABLES"}],
    WITHOUT_SAMPLE: [{"statement": "SELECT a FROM cut", "flags": flag_bits("truncated")}],
}
ASKED = ("SELECT a FROM t", "(SELECT 1) UNION SELECT 2", "SELECT pays(1)", "WITH x AS (SELECT 1) SELECT * FROM x")


def test_only_reads_are_selected(tmp_path: Path) -> None:
    """Statements that write, lock, wait or call stored functions are excluded and counted by reason."""
    kinds = [event for events in NOT_ASKED.values() for event in events] + [{"statement": text} for text in ASKED]
    kinds.append({"statement": "CREATE TEMPORARY TABLE tmp (a INT)", "class": "ddl"})
    events = [{**event, "digest": f"{n:016x}", "duration_ns": 1000} for n, event in enumerate(kinds, 1) for _ in "12"]
    questions = choose(open_folder("tape", make_tape(tmp_path / "t.tape", events)), {"pay"})
    texts = {event["digest"]: str(event["statement"]) for event in events}
    assert {texts[digest] for digest in questions.digests} == set(ASKED)
    expected = {reason: len(events) for reason, events in NOT_ASKED.items()}
    expected["DDL and administration"] += 1
    assert {reason: share.digests for reason, share in questions.left.items()} == expected
    assert all(share.events == 2 * share.digests for share in questions.left.values())
    found = questions.as_json()
    assert found["share_not_asked"] == (len(kinds) - 4 - 2) / (len(kinds) - 2), "COMMIT and SET aside"
    assert set(found["tape_ns"].values()) == {2000}
    assert found["asked"] == {"digests": 4, "events": 8, "tape_ns": 8000}
    first, second = sentences(found)
    share = 100 * len(ASKED) / len(kinds)
    assert first.startswith(f"quick: 4 digests of reads were compared ({share:.1f} % of the tape's execution time)")
    assert second.startswith(
        f"not compared: {len(kinds) - 4} digests ({100 - share:.1f} % of the tape's execution time): "
    )
    for reason, n in expected.items():
        assert f"{reason} {n} (" in second


def test_tape_without_times_has_shares_of_statements(tmp_path: Path) -> None:
    events = [{"statement": f"SELECT {n}", "digest": f"{1:016x}"} for n in range(3)]
    events.append({"statement": "DELETE FROM t", "class": "write", "digest": f"{2:016x}"})
    questions = choose(open_folder("tape", make_tape(tmp_path / "t.tape", events)), ())
    assert sentences(questions.as_json()) == [
        "quick: 1 digest of reads was compared (75.0 % of the tape's statements), with at most 5 statements per digest",
        "not compared: 1 digest (25.0 % of the tape's statements): writes 1 (25.0 %)",
    ]
    assert [(place.session, place.seq) for place in questions.places] == [(1, 1), (1, 3)]
