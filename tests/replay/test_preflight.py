# SPDX-License-Identifier: Apache-2.0
"""The pre-flight: from what the target, the tape and this machine say to findings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.replay.machine import Machine, measure
from querytape.replay.preflight import Finding, Permissions, check
from querytape.replay.rules import Plan, Rules
from querytape.replay.sandbox import Server
from querytape.schemas import Folder
from querytape.servers.facts import Facts, count_replicas, gather, identity_of, other_users, seen_whole
from querytape.servers.source import describe_server
from querytape.servers.target import Target

TARGET = Target("app", "db2", "10.0.0.2", db="shop")
FACTS = Facts(
    "10.11.6-MariaDB",
    hostname="db2",
    identity="B",
    variables={"max_connections": "151"},
    schemas=frozenset({"shop"}),
    connected=3,
    others={},
    replicas=0,
    event_scheduler=False,
)
MACHINE = Machine(files=1024, threads=4096, thread_limit="ulimit -u", mappings=65530, ports=28232)


def findings(
    facts: Facts = FACTS,
    machine: Machine = MACHINE,
    allowed: Permissions | None = None,
    target: Target = TARGET,
    **plan: Any,
) -> list[Finding]:
    """Check a small plan; keyword arguments replace its fields."""
    info = {"finished": True, "warnings": [], "server": None, **plan.pop("info", {})}
    rules = Rules(allow_writes=plan.pop("writes", False))
    tape = Folder("tape", Path("t.tape"), info)
    fields = {"peak_sessions": 10, "planned": 100, "schemas": {"shop": 100}, **plan}
    return check(Plan(tape, rules, Path("spill"), **fields), target, facts, machine, allowed or Permissions())


def refusals(*args: Any, **kwargs: Any) -> list[str]:
    """Return the sentences of what is refused."""
    return [f.text for f in findings(*args, **kwargs) if f.level == "refuse"]


def test_all_is_well() -> None:
    """A target with nothing against it is introduced, and nothing is refused or warned of."""
    found = findings()
    assert found[0] == Finding("info", "target app@db2:3306/shop: 10.11.6-MariaDB on db2")
    assert {f.level for f in found} == {"info"}


REFUSED = [
    ("the tape's source", {"info": {"server": {"identity": "B"}}}, "this is the tape's source"),
    ("writes without a word", {"writes": True}, "--target-is-disposable"),
    ("partial tape", {"info": {"warnings": [{"kind": "hole", "text": "a hole"}]}}, "a hole. --partial-ok"),
    ("unfinished tape", {"info": {"finished": False}}, "killed before the end"),
    ("all schemas missing", {"schemas": {"a": 60, "b": 40}}, "a (60 events), b (40 events)"),
    ("max_connections", {"peak_sessions": 149}, "SET GLOBAL max_connections = 162"),
    ("open files", {"peak_sessions": 140, "machine": replace(MACHINE, files=200)}, "ulimit -n 204"),
    ("threads", {"machine": replace(MACHINE, threads=20)}, "ulimit -u allows 20"),
    ("mappings", {"machine": replace(MACHINE, mappings=20)}, "vm.max_map_count=40"),
    ("ports", {"machine": replace(MACHINE, ports=9)}, "ip_local_port_range"),
    ("schema of the URL", {"target": replace(TARGET, db="x")}, "the schema 'x' of --target"),
]


@pytest.mark.parametrize(("given", "text"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(given: dict[str, Any], text: str) -> None:
    """Each reason alone refuses, in one sentence that says what to do."""
    found = refusals(**given)
    assert len(found) == 1
    assert text in found[0]


def test_replicas() -> None:
    """Writes to a server with replicas are refused even where it is disposable; reads are not."""
    facts = replace(FACTS, replicas=2)
    assert "has 2 replicas" in refusals(facts, allowed=Permissions(target_is_disposable=True), writes=True)[0]
    assert refusals(facts) == []


def test_known_source_allows_writes() -> None:
    """A tape that knows its source needs no further word for another server."""
    assert refusals(writes=True, info={"server": {"identity": "A"}}) == []


def test_a_query_sampled_tape_is_never_replayed() -> None:
    """Sessions with holes are refused, --partial-ok or not; sampled sessions are whole ones."""
    sampled = {"warnings": [{"kind": "query_sampled", "text": "one query of 100"}]}
    found = findings(info=sampled, allowed=Permissions(partial_ok=True))
    assert any(finding.level == "refuse" and "for analysis only" in finding.text for finding in found)
    found = findings(
        info={"warnings": [{"kind": "session_sampled", "text": "x"}]}, allowed=Permissions(partial_ok=True)
    )
    assert all(finding.level != "refuse" for finding in found)


def test_partial_ok() -> None:
    """With --partial-ok the same sentence is a warning."""
    found = findings(info={"warnings": [{"text": "a hole"}]}, allowed=Permissions(partial_ok=True))
    assert Finding("warning", "the tape is not the whole workload: a hole") in found


def test_one_schema_missing_is_a_warning() -> None:
    """A part of the events that can't be sent is said with its number."""
    found = [f for f in findings(schemas={"shop": 90, "old": 10}) if f.level == "warning"]
    assert found == [
        Finding(
            "warning",
            "schemas of the tape are not on the target, or 'app' may not see them: old (10 events):"
            " 10 events will not be sent",
        )
    ]


def test_schema_names_without_case() -> None:
    """Where the target folds names, the tape's may be written otherwise."""
    folding = replace(FACTS, variables={"lower_case_table_names": "1"})
    assert refusals(folding, schemas={"SHOP": 100}) == []
    assert len(refusals(schemas={"SHOP": 100})) == 1


def test_what_is_not_known_is_said() -> None:
    """An account that may see nothing gets warnings, not silence."""
    blind = replace(FACTS, others=None, replicas=None)
    found = findings(blind, writes=True, allowed=Permissions(target_is_disposable=True))
    assert [f.text.split(":")[0] for f in found if f.level == "warning"] == [
        "who else is connected to the target could not be seen",
        "whether the target has replicas could not be seen",
    ]


def test_processes() -> None:
    """Other users are counted by account, replicas by the threads that feed them."""
    processes = [
        (5, "event_scheduler", "localhost", None, "Daemon", 1, "", None),
        (7, "app", "10.0.0.5:4000", "shop", "Sleep", 1, "", None),
        (8, "app", "10.0.0.5:4001", "shop", "Sleep", 1, "", None),
        (9, "repl", "10.0.0.6:4001", None, "Binlog Dump GTID", 1, "", None),
        (10, "me", "localhost", None, "Query", 0, "", "SHOW PROCESSLIST"),
    ]
    assert other_users(processes, 10) == {"app@10.0.0.5": 2, "repl@10.0.0.6": 1}
    assert count_replicas([None, None], processes) == 1
    assert count_replicas([None, [(1,), (2,)]], None) == 2
    assert count_replicas([None, None], None) is None


def test_process_list_may_be_cut() -> None:
    """Without PROCESS a server shows an account's own threads only: then the list is taken as not known."""
    mine = [(10, "me", "localhost", None, "Query", 0, "", "SHOW PROCESSLIST")]
    usage = [("GRANT USAGE ON *.* TO `me`@`%`",)]
    assert seen_whole(mine, 3, usage) is None
    assert seen_whole(mine, 1, usage) == mine
    assert seen_whole(mine, 3, [("GRANT SELECT, PROCESS ON *.* TO `me`@`%`",)]) == mine
    assert seen_whole(mine, 3, [("GRANT ALL PRIVILEGES ON `shop`.* TO `me`@`%`",)]) is None
    assert seen_whole(None, 1, usage) is None


@pytest.mark.mariadb
@pytest.mark.mysql
def test_account_without_rights(server: Server) -> None:
    """An account that may see nothing learns neither who else is there nor of replicas, and is told so."""
    server.execute("CREATE USER blind@'%' IDENTIFIED BY 'x'")
    try:
        with server.connect(), Target("blind", "127.0.0.1", "127.0.0.1", server.port, password="x").connect() as con:
            facts = gather(con)
    finally:
        server.execute("DROP USER blind@'%'")
    assert (facts.others, facts.replicas) == (None, None)
    assert "mysql" not in facts.schemas


def test_identity() -> None:
    """MySQL is known by its UUID, MariaDB by uid, host, port and data folder."""
    assert identity_of({"server_uuid": "u"}) == "u"
    assert identity_of({"hostname": "h", "port": "1", "datadir": "/d"}) == "|h|1|/d"
    assert identity_of({}) is None


def test_this_machine_has_limits() -> None:
    """The limits of this machine can be read, and allow a small replay."""
    machine = measure()
    assert machine.files is None or machine.files > 100
    assert machine.threads is not None
    assert machine.threads > 10


@pytest.mark.mariadb
@pytest.mark.mysql
def test_real_servers(server: Server) -> None:
    """Real servers answer every question; the same server has the same identity twice."""
    with server.connect() as con:
        facts = gather(con)
    assert facts.version.startswith(server.version)
    assert facts.number("max_connections") == 151
    assert facts.others == {}
    assert facts.replicas == 0
    assert facts.connected is not None
    assert facts.event_scheduler is not None
    assert "mysql" in facts.schemas
    described = describe_server(server.url())
    assert described["identity"] == facts.identity
    assert described["identity"]
    assert described["variables"]["port"] == str(server.port)
