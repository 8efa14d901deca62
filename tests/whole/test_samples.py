# SPDX-License-Identifier: Apache-2.0
"""Every sample file, with its detected kind, its number of events and its problems. The expected numbers come from
counting the events in each file. If Percona's parsers ("pt") or go-mysql count differently, a comment gives the right
result and the reason.
"""

import contextlib
import random
import resource
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest
from querytape.capture import SOURCES, Settings, detect_source
from querytape.common.errors import InputError, NativeFault
from querytape.native.bindings.reader import Reader


class Expected(NamedTuple):
    """The expected kind, number of events and problems of a file."""

    kind: str
    events: int
    problems: frozenset[str] = frozenset()


def slow(events: int, *problems: str) -> Expected:
    """Return the expectation for a slow log."""
    return Expected("slowlog", events, frozenset(problems))


def other_kind(kind: str, events: int, *problems: str) -> Expected:
    """Return the expectation for a file of another kind."""
    return Expected(kind, events, frozenset(problems))


PORTS = Settings(extra={"port": (3306, 33306)})
NO_ID = "no_thread_id"
SAMPLES = {
    "slowlogs/beats-mysql-ubuntu-8.0.15.log": slow(2),
    # pt corrupts 4 events and misses one. go-mysql treats headers inside a string literal as an event.
    "slowlogs/mariadb10.11-verbosity-all.log": slow(57),
    "slowlogs/mysql5.7.log": slow(2),
    "slowlogs/slow001.txt": slow(2, NO_ID),
    "slowlogs/slow002.txt": slow(8),
    "slowlogs/slow003.txt": slow(1),
    "slowlogs/slow006.txt": slow(6),
    "slowlogs/slow007.txt": slow(1),
    "slowlogs/slow008.txt": slow(3),
    "slowlogs/slow011.txt": slow(4),
    "slowlogs/slow013.txt": slow(5),
    "slowlogs/slow014.txt": slow(2, NO_ID),
    "slowlogs/slow016.txt": slow(2),
    # pt-query-digest drops the event because its time underflowed. The statement was executed nevertheless.
    "slowlogs/slow017.txt": slow(1, NO_ID, "bad_query_time"),
    "slowlogs/slow019.txt": slow(3),
    "slowlogs/slow021.txt": slow(2, NO_ID),
    "slowlogs/slow022.txt": slow(6, "bad_time"),
    "slowlogs/slow024.txt": slow(4, NO_ID),
    "slowlogs/slow031.txt": slow(1, NO_ID),
    "slowlogs/slow032.txt": slow(1),
    "slowlogs/slow034.txt": slow(9, NO_ID),
    "slowlogs/slow036.txt": slow(1, NO_ID),
    # Other parsers count the Quit at the start as an event. Only the previous log file shows the session of this Quit.
    "slowlogs/slow041.txt": slow(2, "starts_inside_event"),
    "slowlogs/slow045.txt": slow(2),
    "slowlogs/slow046.txt": slow(1, NO_ID),
    "slowlogs/slow056.txt": slow(2),
    "slowlogs/slow059.txt": slow(3),
    "slowlogs/slow061.txt": slow(1),
    "slowlogs-gomysql/mariadb102-with-explain.log": slow(1),
    "slowlogs-gomysql/slow012.log": slow(3),
    "slowlogs-gomysql/slow016.log": slow(1, "starts_inside_event"),
    # pt treats a USE that the client sent as the server's note about the schema, and drops the USE.
    "slowlogs-gomysql/slow023.log": slow(8),
    "synthetic/mysql8-log_slow_extra.slow.log": slow(3),
    # go-mysql counts a header inside a string literal as an event.
    "paired/md_paired.slow.log": slow(280),
    # pt counts one more event in each file: the statement that mysqlbinlog adds at the end.
    "binlogs/binlog001.txt": other_kind("binlog", 9),
    "binlogs/binlog002.txt": other_kind("binlog", 3),
    "binlogs/binlog003.txt": other_kind("binlog", 11),
    "paired/md_paired.binlog.txt": other_kind("binlog", 99),
    "paired/md_paired.binlog-vv.txt": other_kind("binlog", 99),
    "genlogs/genlog001.txt": other_kind("general", 7),
    "genlogs/genlog002.txt": other_kind("general", 2),
    "genlogs/genlog005.txt": other_kind("general", 13),
    "genlogs/mariadb10.11-general.log": other_kind("general", 101),
    # pt returns the same number of events, but without the SQL of the 196 Prepare and Execute rows.
    "paired/md_paired.general.log": other_kind("general", 442),
    "audit/mariadb10.11-server_audit.log": other_kind("audit", 80),
    "synthetic/percona-audit.json": other_kind("audit-json", 3),
    "synthetic/proxysql-eventslog-v2.json": other_kind("proxysql", 3),
    "synthetic/aurora-audit.log": other_kind("audit", 4),
    "paired/md_paired.server_audit.log": other_kind("audit", 310),
    "pcap/caching_sha2_password.pcap": other_kind("packets", 13),
    "pcap/change-user-success.pcap": other_kind("packets", 7),
    "pcap/encrypted.pcap": other_kind("packets", 0),
    "pcap/query-attr.pcap": other_kind("packets", 4),
    "pcap/mariadb10.11/md_admin_multi.pcap": other_kind("packets", 24),
    "pcap/mariadb10.11/md_bulk_pipeline.pcap": other_kind("packets", 13),
    "pcap/mariadb10.11/md_ipv6.pcap": other_kind("packets", 13),
    # The PREPARE of 274 executions is missing. The parameters of these executions stay undecoded, and pt drops the
    # executions.
    "pcap/mariadb10.11/md_midstream_sysbench_ps.pcap": other_kind(
        "packets", 274, "joined_midway", "params_not_understood"
    ),
    "pcap/mariadb10.11/md_prepared_types.pcap": other_kind("packets", 26),
    "pcap/mariadb10.11/md_snaplen96.pcap": other_kind("packets", 31, "lost_packets", "params_not_understood"),
    "pcap/mariadb10.11/md_sysbench_text_4thr.pcap": other_kind("packets", 808),
    "pcap/mariadb10.11/md_types.pcapng": other_kind("packets", 38),
    # tshark counts one more command, which is the file of a LOCAL INFILE.
    "paired/md_paired.pcap": other_kind("packets", 453),
}


def read(reader: Reader) -> tuple[int, set[str]]:
    """Return the number of a reader's events and the kinds of its problems."""
    events = 0
    while not reader.stats().finished:
        events += reader.drain_part(1_000, 1 << 20)
    with duckdb.connect() as con:
        con.register("found", reader.problems())
        kinds = {str(row[0]) for row in con.execute("SELECT DISTINCT kind FROM found").fetchall()}
    reader.close()
    return events, kinds


@pytest.mark.sampled
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_sample_gives_the_expected_events_and_problems(samples: Path, name: str) -> None:
    """The kind of each sample is detected from its first bytes."""
    expected = SAMPLES[name]
    kind = detect_source(str(samples / name), SOURCES.values())
    assert kind.name == expected.kind
    assert read(kind.open([str(samples / name)], PORTS)) == (expected.events, set(expected.problems))


def damaged(data: bytes, state: random.Random) -> bytes:
    """Return a truncated copy of a file with a few flipped bits."""
    found = bytearray(data[: state.randrange(1, len(data) + 1)])
    for _ in range(state.randrange(0, 20)):
        found[state.randrange(len(found))] ^= 1 << state.randrange(8)
    return bytes(found)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_damaged_sample_raises_only_known_errors(samples: Path, tmp_path: Path, name: str) -> None:
    """The sample is truncated and has flipped bits. The capture must not crash, hang or use much more memory."""
    data = (samples / name).read_bytes()
    kind, state = SOURCES[SAMPLES[name].kind], random.Random(name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(25):
        bad = tmp_path / "bad"
        bad.write_bytes(damaged(data, state))
        with contextlib.suppress(NativeFault, InputError):
            reader = kind.open([str(bad)], PORTS)
            events, _ = read(reader)
            assert events <= len(data) // 4
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown_mb < 64 + 10 * len(data) / 1e6
