# SPDX-License-Identifier: Apache-2.0
"""Tests of the exact texts of the pre-flight check. Each finding has its severity, its numbers and a remedy."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.replay.checks.machine import MAPPINGS_A_THREAD, SPARE_FILES, SPARE_THREADS, Machine
from querytape.replay.checks.preflight import Finding, check, check_read_target, check_tape, listed, unknown_overrides
from querytape.replay.options import ReplayOptions
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.rules import Plan, Rules
from querytape.schemas import Folder
from querytape.servers.facts import Facts
from querytape.servers.library_functions import LibraryFunctions
from querytape.servers.option_files import Account
from querytape.servers.prepared import Xid
from querytape.servers.target import Target

TARGET = Target("app", "db2", "10.0.0.2", db="shop")
FACTS = Facts(
    "8.0.36",
    identity="B",
    variables={"max_connections": "151"},
    schemas=frozenset({"shop"}),
    connected=3,
    others={},
    replicas=0,
    event_scheduler=False,
    may=(),
    collations={},
    library=LibraryFunctions(),
)
MACHINE = Machine(files=1024, threads=4096, thread_limit="ulimit -u", mappings=65530, ports=28232)
WELL = ["info: target app@db2:3306/shop: 8.0.36", "info: the target has no other connections"]
KNOWN_SOURCE = {"server": {"identity": "A"}}
READER = (
    "If the target must not change, replay as a user that can only read: CREATE USER reader@'%' IDENTIFIED BY"
    " '...'; GRANT SELECT, SHOW VIEW ON *.* TO reader@'%'"
)


def plan(**given: Any) -> Plan:
    """Return a small plan. Keyword arguments replace its fields."""
    info = {"finished": True, "warnings": [], "server": None, **given.pop("info", {})}
    overrides = Overrides(accounts={name: Account(name) for name in given.pop("accounts", ())})
    rules = given.pop("rules", None) or Rules(allow_writes=given.pop("writes", False), overrides=overrides)
    fields = {"peak_sessions": 10, "planned": 100, "schemas": {"shop": 100}, **given}
    return Plan(Folder("tape", Path("t.tape"), info), rules, Path("spill"), **fields)


def as_lines(findings: list[Finding]) -> list[str]:
    """Return the findings as lines of text."""
    return [f"{finding.severity}: {finding.text}" for finding in findings]


def refusals(**given: Any) -> list[str]:
    """Return the lines of the findings that refuse the replay."""
    return [line for line in lines(**given) if line.startswith("refuse: ")]


def lines(**given: Any) -> list[str]:
    """Return the findings for a small plan as lines of text. `facts` and `machine` replace default fields."""
    facts, machine = replace(FACTS, **given.pop("facts", {})), replace(MACHINE, **given.pop("machine", {}))
    allowed = {name: given.pop(name) for name in ("partial_ok", "target_is_disposable") if name in given}
    options = ReplayOptions(given.pop("target", TARGET), Path(), **allowed)
    return as_lines(check(plan(**given), options, facts, machine))


SENTENCES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    (
        {"facts": {"library": LibraryFunctions(None)}},
        [
            "info: 'app' may not list the target's loadable functions (SELECT on mysql.func). Reads that call"
            " loadable functions are sent, and read-only sessions do not restrict these functions"
        ],
    ),
    (
        {"facts": {"library": LibraryFunctions(("f", "g\x1b[31m"), ("v", "w\x1b[31m"))}},
        [
            "warning: the target has 2 loadable functions (f, g [31m), which read-only sessions do not restrict."
            " Statements that call loadable functions are not sent (not_permitted). Views and routines that may call"
            " these functions: v, w [31m. Statements that use these views or routines are also not sent. To send all these"
            " statements, add --allow-statement instance"
        ],
    ),
    ({"facts": {"library": LibraryFunctions(("f",))}, "writes": True, "info": KNOWN_SOURCE}, []),
    (
        {"facts": {"stale": ("shop.t", "shop.u")}},
        [
            "warning: the optimizer statistics show too few rows for 2 tables (shop.t, shop.u)."
            " Statements may get different plans and lock more rows. Run ANALYZE TABLE"
        ],
    ),
    (
        {"facts": {"prepared": (Xid(b"g1"), Xid(b"\xff", b"b", 2))}},
        [
            "warning: the target has 2 prepared XA transactions with locks ('g1', '\\xff','b',2). End each"
            " transaction: XA COMMIT or XA ROLLBACK X'6731',X'',1"
        ],
    ),
    ({"facts": {"prepared": ()}}, []),
    (
        {"disordered": 2, "order_notes": ["a note", "another"]},
        [
            "warning: event times are not in order in 2 sessions. The replay keeps the order of the events and increases the"
            " affected times",
            "warning: --order commit: a note",
            "warning: --order commit: another",
        ],
    ),
    (
        {"info": {"finished": False, "warnings": [{"kind": "hole", "text": "a hole"}, {"text": "b"}, {"kind": "x"}]}},
        [
            "refuse: the tape is partial: a hole. Add --partial-ok to replay the tape",
            "refuse: the tape is partial: b. Add --partial-ok to replay the tape",
            "refuse: the tape is partial: ?. Add --partial-ok to replay the tape",
            "refuse: the tape is partial: the capture was killed. Add --partial-ok to replay the tape",
        ],
    ),
    (
        {"info": {"finished": False, "warnings": "none"}, "partial_ok": True},
        ["warning: the tape is partial: the capture was killed"],
    ),
    (
        {"info": {"warnings": [{"kind": "query_sampled", "text": "1 of 10"}, {"kind": "query_sampled"}]}},
        [
            "refuse: the tape can only be analyzed (inspect, report), not replayed: 1 of 10",
            "refuse: the tape can only be analyzed (inspect, report), not replayed: ?",
        ],
    ),
    (
        {"info": {"warnings": [{"kind": "query_sampled", "text": "1 of 10"}]}, "partial_ok": True},
        ["refuse: the tape can only be analyzed (inspect, report), not replayed: 1 of 10"],
    ),
    (
        {"info": {"warnings": [{"kind": "session_sampled", "text": "x"}]}, "partial_ok": True},
        ["warning: the tape is partial: x"],
    ),
    (
        {"ids_unknown": 1, "now_uncertain": 1234},
        [f"warning: {text}" for text in unknown_overrides(1, 1234)],
    ),
    (
        {"info": {"server": {"identity": "B"}}},
        [
            "refuse: the target is the tape's source server (B): choose another target. If the target is a copy of"
            " the source server, remove the copy's auto.cnf and restart the target"
        ],
    ),
    ({"info": {"server": {"identity": None}}, "facts": {"identity": None}}, []),
    ({"info": {"server": {"identity": ""}}, "facts": {"identity": ""}}, []),
    ({"info": KNOWN_SOURCE, "writes": True}, []),
    (
        {"info": KNOWN_SOURCE, "writes": True, "facts": {"identity": None}},
        [
            "refuse: --allow-writes changes the target's data, and the tape does not identify its source server."
            " Add --target-is-disposable if the target's data may be lost"
        ],
    ),
    (
        {"writes": True},
        [
            "refuse: --allow-writes changes the target's data, and the tape does not identify its source server."
            " Add --target-is-disposable if the target's data may be lost"
        ],
    ),
    ({"writes": True, "target_is_disposable": True}, []),
    (
        {"info": KNOWN_SOURCE, "writes": True, "facts": {"replicas": 1, "variables": {"read_only": "ON"}}},
        [
            "refuse: the target has 1 replica, which would receive every write. Detach all replicas, or choose a"
            " target without replicas",
            "warning: the target is read_only: writes fail unless the account may override read_only",
        ],
    ),
    (
        {"info": KNOWN_SOURCE, "writes": True, "facts": {"replicas": None}},
        ["warning: cannot check for replicas of the target: the account lacks REPLICATION SLAVE and PROCESS"],
    ),
    ({"facts": {"variables": {"read_only": "ON"}}}, []),
    (
        {"facts": {"replicas": 2, "event_scheduler": True}},
        [
            "info: the target has 2 replicas",
            "info: the target's event scheduler is on: its events run during the replay",
        ],
    ),
    ({"facts": {"replicas": None, "event_scheduler": None}}, []),
    (
        {"writes": True, "target_is_disposable": True, "facts": {"replicas": 2}},
        [
            "refuse: the target has 2 replicas, which would receive every write. Detach all replicas, or choose a"
            " target without replicas"
        ],
    ),
    ({"writes": True, "target_is_disposable": True, "facts": {"may": ("INSERT",)}}, []),
    ({"facts": {"may": None}}, [f"info: the privileges of 'app' on the target are unknown. {READER}"]),
    (
        {"facts": {"may": ("INSERT", "FILE")}},
        [f"info: only reads are sent, in read-only sessions, but 'app' has write privileges (INSERT, FILE). {READER}"],
    ),
    ({"users": {"a": 1}}, []),
    ({"users": {"a": 1, "b": 2}, "accounts": ("b", "a")}, []),
    (
        {"users": {"b": 2, "a": 1, "c": 1}, "accounts": ("c", "z", "y")},
        [
            "warning: users of the tape that --users and --map-user do not contain: a, b. The replay uses the account 'app'"
            " for their sessions",
            "warning: --users or --map-user contains users that are not on the tape: y, z",
        ],
    ),
    (
        {
            "collations_unknown": [
                (248, None, 1),
                (249, "gb18030", 1000),
                (255, "utf8mb4", 2),
                (7, None, 3),
                (8, "x", 1),
            ]
        },
        [
            "warning: 1 session logged in with collation 248 (gb18030_chinese_ci), but the target lacks this collation. Strings may compare"
            " and sort differently, because the target uses its default collation",
            "warning: 1,000 sessions logged in with collation 249 (gb18030_bin), but the target lacks this collation. Strings may compare"
            " and sort differently, because the target uses its default collation",
            "warning: 2 sessions logged in with collation 255 (utf8mb4_0900_ai_ci), but the target lacks this collation. Strings may compare"
            " and sort differently, because the target uses its default collation",
            "warning: 3 sessions logged in with collation 7 (character set unknown), but the target lacks this collation. Strings may compare"
            " and sort differently, because the target uses its default collation",
            "warning: 1 session logged in with collation 8 (character set x), but the target lacks this collation. Strings may compare"
            " and sort differently, because the target uses its default collation",
        ],
    ),
    (
        {"facts": {"collations": None}, "collations_unknown": [(8, "x", 1)]},
        [
            "warning: the target does not list its collations, so sessions get the default collation of their"
            " character set"
        ],
    ),
    ({"facts": {"collations": None}}, []),
    ({"schemas": {"SHOP": 100}, "facts": {"variables": {"lower_case_table_names": "1"}}}, []),
    (
        {"schemas": {"shop": 90, "old": 10}},
        [
            "warning: the target lacks schemas of the tape, or 'app' may not see them: old (10 events). 10 events"
            " will not be sent"
        ],
    ),
    ({"schemas": {"SYS": 1, "shop": 1}, "facts": {"variables": {"lower_case_table_names": "2"}}}, []),
    (
        {
            "target": replace(TARGET, db="Shop"),
            "schemas": {"Shop": 90, "sys": 4, "old": 1, "older": 5},
        },
        [
            "refuse: the target lacks the schema 'Shop' of --target, or 'app' lacks the right to see the schema. Restore the schema,"
            " or GRANT access",
            "warning: the target lacks schemas of the tape, or 'app' may not see them: Shop (90 events), older (5"
            " events), old (1 event). 96 events will not be sent",
        ],
    ),
    (
        {"schemas": {"old": 1, "older": 5}, "planned": 200},
        [
            "refuse: the target lacks schemas of the tape, or 'app' may not see them: older (5 events), old (1"
            " event). Restore these schemas on the target, or GRANT access"
        ],
    ),
    (
        {"schemas": {"shop": 0, "older": 100}},
        [
            "refuse: the target lacks schemas of the tape, or 'app' may not see them: older (100 events). Restore"
            " these schemas on the target, or GRANT access"
        ],
    ),
    ({"schemas": {"Old": 1, "shop": 9}, "created_schemas": {"old"}}, []),
    ({"schemas": {"Old": 10}, "created_schemas": {"old"}}, []),
    ({"resumed_info": {"finished": False}}, []),
    (
        {"resumed_info": {"finished": False}, "writes": True, "target_is_disposable": True},
        [
            "refuse: --resume: this run was killed, so some writes may be sent twice. Restore the target and replay the"
            " whole tape, or add --partial-ok"
        ],
    ),
    (
        {
            "resumed_info": {"finished": True, "accounting": {"sent_unknown": 3}},
            **{"writes": True, "target_is_disposable": True, "partial_ok": True},
        },
        [
            "warning: --resume: 3 events of this run may have been sent, so some writes may be sent twice. Restore the"
            " target and replay the whole tape"
        ],
    ),
    (
        {
            "resumed_info": {"finished": True, "accounting": {"sent_unknown": 0}},
            **{"writes": True, "target_is_disposable": True},
        },
        [],
    ),
    ({"target": replace(TARGET, db=None)}, []),
    ({"schemas": {}}, []),
    (
        {"peak_sessions": 1200, "facts": {"connected": 1001, "variables": {"max_connections": "2000"}}, "machine": {}},
        [
            "refuse: the replay needs 1,200 concurrent connections and 1,001 are in use, but the target's"
            " max_connections is 2,000: SET GLOBAL max_connections = 2211",
            "refuse: the replay needs 1,264 open files, but this account may open only 1,024: ulimit -n 1264",
        ],
    ),
    (
        {"peak_sessions": 1100, "facts": {"variables": {"max_user_connections": "1100"}}, "machine": {"files": None}},
        [
            "refuse: the replay needs 1,101 connections of 'app', but the target's max_user_connections is 1,100:"
            " raise this variable"
        ],
    ),
    (
        {
            "peak_sessions": 5000,
            "facts": {"variables": {}},
            "machine": {"files": None, "mappings": 9000, "ports": 4000},
        },
        [
            "refuse: the replay needs 5,032 threads, but ulimit -u allows only 4,096: raise this limit",
            "refuse: the replay needs about 10,000 memory mappings, but vm.max_map_count is 9,000: sysctl -w"
            " vm.max_map_count=20000",
            "refuse: the replay needs 5,000 local ports at the same time, but only 4,000 are available: widen"
            " net.ipv4.ip_local_port_range, or use a unix socket",
        ],
    ),
    (
        {
            "peak_sessions": 5000,
            "facts": {"variables": {}},
            "machine": {"files": None, "threads": None, "mappings": None, "ports": None},
        },
        [],
    ),
]


@pytest.mark.parametrize(("given", "wanted"), SENTENCES, ids=[str(n) for n in range(len(SENTENCES))])
def test_findings_have_exact_texts_and_order(given: dict[str, Any], wanted: list[str]) -> None:
    """The list has all findings except those about the target itself and its other connections."""
    assert [line for line in lines(**given) if line not in WELL and "target app@" not in line] == wanted


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        ({}, "info: target app@db2:3306/shop: 8.0.36"),
        ({"version_comment": "Source", "hostname": "h"}, "info: target app@db2:3306/shop: 8.0.36 (Source) on h"),
    ],
)
def test_target_is_described_first(facts: dict[str, Any], wanted: str) -> None:
    """The line has the target's name, its version and the server's own description."""
    assert lines(facts=facts)[0] == wanted


OTHERS = {f"u{n}@h": n for n in range(1, 8)}


@pytest.mark.parametrize(
    ("others", "writes", "wanted"),
    [
        ({}, False, "info: the target has no other connections"),
        (None, True, "warning: cannot check for other connections to the target: the account lacks PROCESS"),
        ({"a@h": 1}, False, "info: the target has 1 other connection: a@h (1)"),
        (
            OTHERS,
            True,
            "warning: the target has 28 other connections: u7@h (7), u6@h (6), u5@h (5), u4@h (4), u3@h (3) and 2 more",
        ),
    ],
)
def test_other_connections_are_listed(others: dict[str, int] | None, writes: bool, wanted: str) -> None:
    """The finding lists the account with the most connections first. The finding is a warning if the replay may write."""
    assert lines(facts={"others": others}, writes=writes, info=KNOWN_SOURCE)[1] == wanted


def test_unix_socket_needs_no_ports() -> None:
    assert len(lines(machine={"ports": 9})) == len(WELL) + 1
    assert len(lines(machine={"ports": 9}, target=replace(TARGET, socket="/s"))) == len(WELL)


def test_read_target_is_described_and_checked() -> None:
    """The check refuses three servers as read target. They are the target itself, the source of the tape, and a server
    that lacks schemas or connections.
    """
    reads = Target("ro", "db3", "10.0.0.3", db="x")
    facts = replace(FACTS, identity="C", variables={"max_connections": "12"})
    given = plan(info={"server": {"identity": "C"}})
    assert as_lines(check_read_target(given, reads, facts, FACTS)) == [
        "info: reads outside transactions are sent to ro@db3:3306/x (8.0.36)",
        "refuse: the target is the tape's source server (C): choose another target. If the target is a copy of the"
        " source server, remove the copy's auto.cnf and restart the target",
        "refuse: the target lacks the schema 'x' of --target, or 'ro' lacks the right to see the schema. Restore the schema, or GRANT"
        " access",
        "refuse: the replay needs 10 concurrent connections and 3 are in use, but the target's max_connections is"
        " 12: SET GLOBAL max_connections = 23",
    ]
    twice = check_read_target(plan(), TARGET, FACTS, FACTS)
    assert as_lines(twice)[1:] == [
        "refuse: --reads-to is the target itself: choose another server, or omit the option",
    ]
    nameless = replace(FACTS, identity=None)
    assert len(check_read_target(plan(), TARGET, nameless, nameless)) == 1


def test_unfinished_tape_is_refused_before_any_work() -> None:
    assert check_tape({"finished": True}, False) == []
    assert [f.severity for f in check_tape({}, False)] == ["refuse"]
    assert [f.severity for f in check_tape({}, True)] == ["warning"]


def test_unknown_values_of_overrides_are_counted() -> None:
    """Each kind of unknown value has one finding that shows the number of values."""
    assert unknown_overrides(0, 0) == []
    ids = (
        "--insert-id original: the tape lacks the ids of {}. The target generates its own ids, so rows of several"
        " sessions may swap their ids (see docs/replay.md, Generated ids)"
    )
    seconds = (
        "--now original: {} arrived in one second and ended in a later second. The replay uses the second of"
        " arrival. The original server may have used a later second (now_uncertain)"
    )
    assert unknown_overrides(1, 0) == [ids.format("1 INSERT")]
    assert unknown_overrides(0, 1) == [seconds.format("1 statement")]
    assert unknown_overrides(2000, 3) == [ids.format("2,000 INSERTs"), seconds.format("3 statements")]


@pytest.mark.parametrize(
    ("count", "wanted"),
    [(0, ""), (1, "n0"), (5, "n0, n1, n2, n3, n4"), (6, "n0, n1, n2, n3, n4 and 1 more")],
)
def test_long_lists_are_shortened(count: int, wanted: str) -> None:
    """A finding shows five names and the number of omitted names."""
    assert listed([f"n{n}" for n in range(count)]) == wanted


@pytest.mark.parametrize(
    "grants", [("GRANT USAGE ON *.* TO `app`@`%`",), ("GRANT ALL PRIVILEGES ON *.* TO `app`@`%`",)]
)
@pytest.mark.parametrize("option", [None, "ids", "order"])
def test_invisible_triggers_are_a_warning_with_the_grant(grants: tuple[str, ...], option: str | None) -> None:
    """The warning appears if ids or the order of commits depend on writes of triggers."""
    rules = Rules(allow_writes=True, overrides=Overrides(ids=option == "ids"), commit_order=option == "order")
    facts = {"account": "app@%", "grants": grants}
    found = [line for line in lines(rules=rules, facts=facts, target_is_disposable=True) if "triggers" in line]
    named = {"ids": "--insert-id original", "order": "--order commit", None: ""}[option]
    grant = "the account may not see triggers of shop. Run GRANT TRIGGER ON `shop`.* TO 'app'@'%'"
    is_blind = option is not None and "USAGE" in grants[0]
    assert found == ([f"warning: {named}: the writes of triggers are unknown, because {grant}"] if is_blind else [])


ENOUGH = [
    ("max_connections", {"peak_sessions": 148}, {"peak_sessions": 149}),
    ("max_user_connections", {"peak_sessions": 19}, {"peak_sessions": 20}),
    ("open files", {"peak_sessions": 136}, {"peak_sessions": 137}),
    ("threads", {"peak_sessions": 84}, {"peak_sessions": 85}),
    ("mappings", {"peak_sessions": 30}, {"peak_sessions": 31}),
    ("ports", {"peak_sessions": 60}, {"peak_sessions": 61}),
]
LIMITS: dict[str, dict[str, Any]] = {
    "max_connections": {},
    "max_user_connections": {"facts": {"variables": {"max_user_connections": "20"}}},
    "open files": {"machine": {"files": 136 + SPARE_FILES}},
    "threads": {"machine": {"threads": 84 + SPARE_THREADS}},
    "mappings": {"machine": {"mappings": -(-30 * MAPPINGS_A_THREAD * 10 // 9)}},
    "ports": {"machine": {"ports": 60}},
}


@pytest.mark.parametrize(("name", "enough", "one_more"), ENOUGH, ids=[row[0] for row in ENOUGH])
def test_replay_may_use_the_limits_completely(name: str, enough: dict[str, Any], one_more: dict[str, Any]) -> None:
    """A replay may use all available connections, files, threads, mappings or ports. A replay with one more session is
    refused.
    """
    assert refusals(**LIMITS[name], **enough) == []
    assert len(refusals(**LIMITS[name], **one_more)) == 1


def test_connections_of_other_clients_reduce_the_limit() -> None:
    """An unknown number of connections of other clients counts as 0. A server without a limit has no maximum."""
    assert len(refusals(facts={"connected": 142})) == 1
    assert refusals(facts={"connected": 141}) == []
    assert refusals(facts={"connected": None}, peak_sessions=151) == []
    assert len(refusals(facts={"connected": None}, peak_sessions=152)) == 1
    assert refusals(facts={"variables": {}}, peak_sessions=1000, machine={"files": None}) == []
    unlimited = {"variables": {"max_user_connections": "0"}}
    assert refusals(facts=unlimited, peak_sessions=900) == []
