# SPDX-License-Identifier: Apache-2.0
"""One workload in four kinds of sources. The tapes are equal, except for the known limits of each source. This module
lists every difference. The test compares the digests of executed statements for each connection, in order. For a
prepared statement, packets show the text with placeholders, and logs show the values. Both texts have the same digest.
"""

from collections import defaultdict
from difflib import SequenceMatcher
from pathlib import Path

import duckdb
import pytest
from querytape.capture import SOURCES, Settings

FILES = {
    "packets": "md_paired.pcap",
    "slowlog": "md_paired.slow.log",
    "general": "md_paired.general.log",
    "audit": "md_paired.server_audit.log",
}
THREADS = range(512, 523)
MULTI = b"SELECT 1; SELECT 2; UPDATE bulk_t SET b='x' WHERE a=1; SELECT nope FROM nope; SELECT 3"
PARTS = [b"SELECT 1", b"SELECT 2", b"UPDATE bulk_t SET b='x' WHERE a=1", b"SELECT nope FROM nope"]
# (source, connection id): statements that only the packets have, and statements that only this source has.
DIFFERENCES: dict[tuple[str, int], tuple[list[bytes], list[bytes]]] = {
    # MariaDB's slow log omits executions with a cursor.
    ("slowlog", 512): ([b"SELECT i32,s,dt FROM types WHERE i8=? ORDER BY i32"], []),
    # The audit plugin logs a failed PREPARE as a query.
    ("audit", 512): ([], [b"SELECT FROM nowhere WHERE"]),
    # A bulk execution leaves only a WRITE row in the audit log.
    ("audit", 513): ([b"INSERT INTO bulk_t(a,b) VALUES (?,?)"], []),
    # Server logs have the parts of a multi-statement. The audit log also has the statements inside a stored procedure.
    ("slowlog", 514): ([MULTI], PARTS),
    ("audit", 514): (
        [MULTI],
        [
            *PARTS,
            b"SELECT  NAME_CONST('n',5)",
            b"SELECT  NAME_CONST('n',5)+1, 'second'",
            b"UPDATE bulk_t SET b='proc' WHERE a= NAME_CONST('n',5)",
        ],
    ),
}


def executed(samples: Path, kind: str) -> dict[int, list[tuple[str, bytes]]]:
    """Return the (digest, statement) pairs executed on each connection, in order."""
    reader = SOURCES[kind].open([str(samples / "paired" / FILES[kind])], Settings(extra={"port": (33306,)}))
    found: dict[int, list[tuple[str, bytes]]] = defaultdict(list)
    with duckdb.connect() as con:
        while not reader.stats().finished:
            stream = reader.part(100_000, 1 << 26)
            con.register("s", stream)
            rows = con.execute(
                "SELECT thread_id, digest, statement FROM s WHERE command IN ('query', 'execute', 'bulk_execute')"
                " AND statement IS NOT NULL ORDER BY session, seq"
            ).fetchall()
            con.unregister("s")
            stream.close()
            for thread, digest, statement in rows:
                found[thread].append((digest, bytes(statement)))
    reader.close()
    return found


@pytest.mark.parametrize("kind", ["slowlog", "general", "audit"])
def test_each_source_gives_the_same_tape_as_packets(samples: Path, kind: str) -> None:
    """The statements of each connection are in the same order, except for the differences that this module lists."""
    packets, other = executed(samples, "packets"), executed(samples, kind)
    for thread in THREADS:
        ours, theirs = packets[thread], other[thread]
        missing: list[bytes] = []
        extra: list[bytes] = []
        matcher = SequenceMatcher(None, [d for d, _ in ours], [d for d, _ in theirs], autojunk=False)
        for what, i, j, k, n in matcher.get_opcodes():
            if what != "equal":
                missing += [statement for _, statement in ours[i:j]]
                extra += [statement for _, statement in theirs[k:n]]
        expected_missing, expected_extra = DIFFERENCES.get((kind, thread), ([], []))
        assert [text[:80] for text in missing] == [text[:80] for text in expected_missing], thread
        assert extra == expected_extra, thread


def test_slow_and_general_log_have_the_exact_bytes_of_queries(samples: Path) -> None:
    packets, slow, general = (executed(samples, kind) for kind in ("packets", "slowlog", "general"))
    for thread in (516, *range(517, 523)):
        plain = [text for _, text in packets[thread] if b"?" not in text]
        assert plain
        assert set(plain) <= {text for _, text in slow[thread]}
        assert set(plain) <= {text for _, text in general[thread]}
