# SPDX-License-Identifier: Apache-2.0
"""The pre-flight: from what the target, the tape and this machine say to findings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from querytape.replay.checks.machine import MAPPINGS_A_THREAD, SPARE_FILES, SPARE_THREADS, Machine, measure
from querytape.replay.checks.preflight import Finding, check
from querytape.replay.options import ReplayOptions
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.rules import Plan, Rules
from querytape.schemas import Folder
from querytape.servers.facts import Facts
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
    partial_ok: bool = False,
    target_is_disposable: bool = False,
    target: Target = TARGET,
    **plan: Any,
) -> list[Finding]:
    """Check a small plan; keyword arguments replace its fields."""
    info = {"finished": True, "warnings": [], "server": None, **plan.pop("info", {})}
    rules = Rules(allow_writes=plan.pop("writes", False))
    tape = Folder("tape", Path("t.tape"), info)
    fields = {"peak_sessions": 10, "planned": 100, "schemas": {"shop": 100}, **plan}
    options = ReplayOptions(target, Path(), partial_ok=partial_ok, target_is_disposable=target_is_disposable)
    return check(Plan(tape, rules, Path("spill"), **fields), options, facts, machine)


def refusals(*args: Any, **kwargs: Any) -> list[str]:
    """Return the sentences of what is refused."""
    return [f.text for f in findings(*args, **kwargs) if f.severity == "refuse"]


def test_all_is_well() -> None:
    """A target with nothing against it is introduced, and nothing is refused or warned of."""
    found = findings()
    assert found[0] == Finding("info", "target app@db2:3306/shop: 10.11.6-MariaDB on db2")
    assert {f.severity for f in found} == {"info"}


@pytest.mark.parametrize(
    "grants", [("GRANT USAGE ON *.* TO `app`@`%`",), ("GRANT ALL PRIVILEGES ON *.* TO `app`@`%`",)]
)
@pytest.mark.parametrize("option", [None, "ids", "order"])
def test_triggers_that_the_account_may_not_see(grants: tuple[str, ...], option: str | None) -> None:
    """A warning with the GRANT where ids or the order of commits rest on what triggers write."""
    rules = Rules(allow_writes=True, overrides=Overrides(ids=option == "ids"), commit_order=option == "order")
    plan = Plan(Folder("tape", Path("t.tape"), {"finished": True}), rules, Path("spill"), schemas={"shop": 1})
    facts = replace(FACTS, account="app@%", grants=grants)
    found = check(plan, ReplayOptions(TARGET, Path(), target_is_disposable=True), facts, MACHINE)
    said = [each.text for each in found if "triggers" in each.text]
    named = {"ids": "--insert-id original", "order": "--order commit", None: ""}[option]
    grant = "the account may not see triggers of shop: GRANT TRIGGER ON `shop`.* TO 'app'@'%'"
    is_blind = option is not None and "USAGE" in grants[0]
    assert said == ([f"{named} cannot know what triggers write: {grant}"] if is_blind else [])


REFUSED = [
    ("the tape's source", {"info": {"server": {"identity": "B"}}}, "this is the tape's source"),
    ("writes without a word", {"writes": True}, "--target-is-disposable"),
    ("partial tape", {"info": {"warnings": [{"kind": "hole", "text": "a hole"}]}}, "a hole; add --partial-ok"),
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
    "max_user_connections": {"facts": replace(FACTS, variables={"max_user_connections": "20"})},
    "open files": {"machine": replace(MACHINE, files=136 + SPARE_FILES)},
    "threads": {"machine": replace(MACHINE, threads=84 + SPARE_THREADS)},
    "mappings": {"machine": replace(MACHINE, mappings=-(-30 * MAPPINGS_A_THREAD * 10 // 9))},
    "ports": {"machine": replace(MACHINE, ports=60)},
}


@pytest.mark.parametrize(("name", "enough", "one_more"), ENOUGH, ids=[row[0] for row in ENOUGH])
def test_the_exact_limit_is_enough(name: str, enough: dict[str, Any], one_more: dict[str, Any]) -> None:
    """A replay that needs just what there is may begin; one session more is refused."""
    assert refusals(**LIMITS[name], **enough) == []
    assert len(refusals(**LIMITS[name], **one_more)) == 1


def test_connections_in_use_count() -> None:
    """What others hold is taken off the limit; where it can't be seen it is nothing, and no limit is none."""
    assert len(refusals(replace(FACTS, connected=142))) == 1
    assert refusals(replace(FACTS, connected=141)) == []
    assert refusals(replace(FACTS, connected=None), peak_sessions=151) == []
    assert len(refusals(replace(FACTS, connected=None), peak_sessions=152)) == 1
    assert refusals(replace(FACTS, variables={}), peak_sessions=1000, machine=replace(MACHINE, files=None)) == []
    unlimited = replace(FACTS, variables={"max_user_connections": "0"})
    assert refusals(unlimited, peak_sessions=900) == []


def test_replicas() -> None:
    """Writes to a server with replicas are refused even where it is disposable; reads are not."""
    facts = replace(FACTS, replicas=2)
    assert "has 2 replicas" in refusals(facts, target_is_disposable=True, writes=True)[0]
    assert refusals(facts) == []


def test_known_source_allows_writes() -> None:
    """A tape that knows its source needs no further word for another server."""
    assert refusals(writes=True, info={"server": {"identity": "A"}}) == []


def test_a_query_sampled_tape_is_never_replayed() -> None:
    """Sessions with holes are refused, --partial-ok or not; sampled sessions are whole ones."""
    sampled = {"warnings": [{"kind": "query_sampled", "text": "one query of 100"}]}
    found = findings(info=sampled, partial_ok=True)
    assert any(finding.severity == "refuse" and "for analysis only" in finding.text for finding in found)
    found = findings(info={"warnings": [{"kind": "session_sampled", "text": "x"}]}, partial_ok=True)
    assert all(finding.severity != "refuse" for finding in found)


def test_partial_ok() -> None:
    """With --partial-ok the same sentence is a warning."""
    found = findings(info={"warnings": [{"text": "a hole"}]}, partial_ok=True)
    assert Finding("warning", "the tape is partial: a hole") in found


def test_one_schema_missing_is_a_warning() -> None:
    """A part of the events that can't be sent is said with its number."""
    found = [f for f in findings(schemas={"shop": 90, "old": 10}) if f.severity == "warning"]
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
    found = findings(blind, writes=True, target_is_disposable=True)
    assert [f.text.split(":")[0] for f in found if f.severity == "warning"] == [
        "other connections to the target could not be seen",
        "whether the target has replicas could not be seen",
    ]


def test_this_machine_has_limits() -> None:
    """The limits of this machine can be read, and allow a small replay."""
    machine = measure()
    assert machine.files is None or machine.files > 100
    assert machine.threads is not None
    assert machine.threads > 10


def test_an_account_that_could_write_is_named() -> None:
    """Reads only: what else the account may do is said, and how to make one that may not; with writes it is no news."""

    def about(may: tuple[str, ...] | None, writes: bool = False) -> list[str]:
        return [f.text for f in findings(replace(FACTS, may=may), writes=writes) if "GRANT SELECT, SHOW VIEW" in f.text]

    assert "'app' itself could write (INSERT, FILE)" in about(("INSERT", "FILE"))[0]
    assert "could not be seen" in about(None)[0]
    assert about(()) == []
    assert about(("INSERT",), writes=True) == []


def test_collations_that_the_target_does_not_know() -> None:
    """They are warned of by id, name and sessions; nothing is said where all are known."""
    known = replace(FACTS, collations={45: "utf8mb4 COLLATE utf8mb4_general_ci"})
    assert not [f for f in findings(known) if "collation" in f.text]
    said = [
        f for f in findings(known, collations_unknown=[(255, "utf8mb4", 12), (7, None, 1)]) if "collation" in f.text
    ]
    assert [f.severity for f in said] == ["warning", "warning"]
    assert said[0].text.startswith("12 sessions logged in with the collation 255 (utf8mb4_0900_ai_ci)")
    assert "default of utf8mb4" in said[0].text
    assert "1 session logged in with the collation 7 (of an unknown character set)" in said[1].text
    silent = findings(FACTS, collations_unknown=[(45, "utf8mb4", 3)])
    assert [f.text for f in silent if "collation" in f.text] == [
        "the target does not list its collations: sessions have those of their character set"
    ]
