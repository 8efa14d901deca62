# SPDX-License-Identifier: Apache-2.0
"""Check the tape, plan, target and machine before the first statement is sent.

Each finding is one sentence with its remedy.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ...common.text import printable
from ...common.units import plural
from ...servers.facts import Facts
from ...servers.queries import OWN_SCHEMAS
from ...servers.target import Target
from ...servers.visibility import unseen_by
from ..options import ReplayOptions
from ..plan.rules import Plan
from .machine import MAPPINGS_A_THREAD, SPARE_FILES, SPARE_THREADS, Machine

Severity = Literal["info", "warning", "refuse"]

MAX_NAMES = 5


@dataclass(frozen=True)
class Finding:
    """One sentence: a note, a warning, or the reason why the replay is refused."""

    severity: Severity
    text: str


def check(plan: Plan, options: ReplayOptions, facts: Facts, machine: Machine, alone: bool = True) -> list[Finding]:
    """Return all findings. The first finding names the target.

    `alone`: False if other replays that begin together with this one use the same target.
    """
    target = options.target
    return [
        *_introduce(target, facts),
        *_tape(plan, options.partial_ok),
        *_overrides(plan),
        *_unseen(plan, facts),
        *_source(plan, facts),
        *(_neighbours(plan, facts) if alone else ()),
        *(
            _writes(plan, facts, options.target_is_disposable)
            if plan.rules.allow_writes
            else _reads_only(target, facts)
        ),
        *_users(plan, target),
        *_collations(plan, facts),
        *_schemas(plan, target, facts),
        *_resumed(plan, options.partial_ok),
        *_statistics(facts),
        *_prepared(plan, target, facts),
        *_connections(plan, target, facts),
        *_machine(plan, target, machine),
    ]


def check_read_target(plan: Plan, read_target: Target, facts: Facts, of_target: Facts) -> list[Finding]:
    """Return the findings about the read target."""
    text = "--reads-to is the target itself: choose another server, or omit the option"
    is_same = bool(facts.identity) and facts.identity == of_target.identity
    return [
        Finding("info", f"reads outside transactions are sent to {read_target.name} ({facts.version})"),
        *([Finding("refuse", text)] if is_same else []),
        *_source(plan, facts),
        *_schemas(plan, read_target, facts),
        *_statistics(facts),
        *_connections(plan, read_target, facts),
    ]


def check_together(plan: Plan, target: Target, facts: Facts) -> list[Finding]:
    """Return the findings that only the lead process of several drivers can make.

    `plan` is the combined plan of all drivers.
    """
    return [*_neighbours(plan, facts), *_connections(plan, target, facts)]


def check_tape(info: dict[str, object], partial_ok: bool) -> list[Finding]:
    """Return the findings about the tape itself, before any other work. For example, the tape may be partial."""
    return list(_tape_findings(info, partial_ok))


def listed(names: list[str]) -> str:
    """Return a readable list: the first names and the number of further names."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


def _introduce(target: Target, facts: Facts) -> Iterator[Finding]:
    comment = f" ({facts.version_comment})" if facts.version_comment else ""
    where = f" on {facts.hostname}" if facts.hostname else ""
    yield Finding("info", f"target {target.name}: {facts.version}{comment}{where}")


# Warning kinds of tapes that cannot be replayed. If statements are missing, a transaction or temporary table behaves
# differently from the original.
NEVER_REPLAYED = frozenset({"query_sampled"})


def _tape(plan: Plan, partial_ok: bool) -> Iterator[Finding]:
    yield from _tape_findings(plan.tape.info, partial_ok)
    if plan.disordered:
        yield Finding(
            "warning",
            f"event times are not in order in {plural(plan.disordered, 'session')}. The replay keeps the order of"
            " the events and increases the affected times",
        )
    for note in plan.order_notes:
        yield Finding("warning", f"--order commit: {note}")


def _tape_findings(info: dict[str, object], partial_ok: bool) -> Iterator[Finding]:
    reasons: list[str] = []
    warnings = info.get("warnings")
    for warning in warnings if isinstance(warnings, list) else []:
        text = str(warning.get("text", "?"))
        if warning.get("kind") in NEVER_REPLAYED:
            yield Finding("refuse", f"the tape can only be analyzed (inspect, report), not replayed: {text}")
        else:
            reasons.append(text)
    if not info.get("finished"):
        reasons.append("the capture was killed")
    severity: Severity = "warning" if partial_ok else "refuse"
    for reason in reasons:
        text = f"the tape is partial: {reason}"
        yield Finding(severity, text if partial_ok else f"{text}. Add --partial-ok to replay the tape")


def unknown_overrides(ids: int, seconds: int) -> list[str]:
    """Return warnings about values that --insert-id original and --now original cannot reproduce.

    `ids` is the counter ids_unknown, and `seconds` is the counter now_uncertain.
    """
    texts = []
    if ids:
        texts.append(
            f"--insert-id original: the tape lacks the ids of {plural(ids, 'INSERT')}. The target generates its own"
            " ids, so rows of several sessions may swap their ids (see docs/replay.md, Generated ids)"
        )
    if seconds:
        texts.append(
            f"--now original: {plural(seconds, 'statement')} arrived in one second and ended in a later second. The"
            " replay uses the second of arrival. The original server may have used a later second (now_uncertain)"
        )
    return texts


def _overrides(plan: Plan) -> Iterator[Finding]:
    for text in unknown_overrides(plan.ids_unknown, plan.now_uncertain):
        yield Finding("warning", text)


def _unseen(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Warn about triggers that the account may not see, if the plan depends on their effects."""
    resting = {"--insert-id original": plan.rules.overrides.ids, "--order commit": plan.rules.commit_order}
    options = [option for option, is_given in resting.items() if is_given]
    schemas = sorted(set(plan.schemas) & facts.schemas - OWN_SCHEMAS)
    hidden = (
        unseen_by(facts.account, [(line,) for line in facts.grants], schemas)
        if options and plan.rules.allow_writes
        else None
    )
    if hidden and "trigger" in hidden.kinds:
        yield Finding(
            "warning",
            f"{' and '.join(options)}: the writes of triggers are unknown, because {hidden.said(['trigger'])}",
        )


def _source(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Refuse to replay against the server that the tape was recorded on."""
    server = plan.tape.info.get("server") or {}
    if server.get("identity") and server["identity"] == facts.identity:
        yield Finding(
            "refuse",
            f"the target is the tape's source server ({facts.identity}): choose another target. If the target is a"
            " copy of the source server, remove the copy's auto.cnf and restart the target",
        )


def _neighbours(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Report other connections to the target. A server in use is rarely the intended target."""
    if facts.others is None:
        yield Finding("warning", "cannot check for other connections to the target: the account lacks PROCESS")
    elif facts.others:
        shown = listed([f"{who} ({n})" for who, n in sorted(facts.others.items(), key=lambda item: -item[1])])
        severity: Severity = "warning" if plan.rules.allow_writes else "info"
        yield Finding(severity, f"the target has {plural(sum(facts.others.values()), 'other connection')}: {shown}")
    else:
        yield Finding("info", "the target has no other connections")
    if facts.replicas and not plan.rules.allow_writes:
        yield Finding("info", f"the target has {plural(facts.replicas, 'replica')}")
    if facts.event_scheduler:
        yield Finding("info", "the target's event scheduler is on: its events run during the replay")


def _writes(plan: Plan, facts: Facts, is_disposable: bool) -> Iterator[Finding]:
    server = plan.tape.info.get("server") or {}
    knows_source = bool(server.get("identity")) and bool(facts.identity)
    if not is_disposable and not knows_source:
        yield Finding(
            "refuse",
            "--allow-writes changes the target's data, and the tape does not identify its source server. Add"
            " --target-is-disposable if the target's data may be lost",
        )
    if facts.replicas:
        yield Finding(
            "refuse",
            f"the target has {plural(facts.replicas, 'replica')}, which would receive every write. Detach all"
            " replicas, or choose a target without replicas",
        )
    elif facts.replicas is None:
        yield Finding(
            "warning",
            "cannot check for replicas of the target: the account lacks REPLICATION SLAVE and PROCESS",
        )
    if facts.read_only:
        yield Finding("warning", "the target is read_only: writes fail unless the account may override read_only")


def _reads_only(target: Target, facts: Facts) -> Iterator[Finding]:
    """Report that the account could write to the target. Only the replay's own checks then prevent writes."""
    make = (
        "If the target must not change, replay as a user that can only read: CREATE USER reader@'%' IDENTIFIED BY"
        " '...'; GRANT SELECT, SHOW VIEW ON *.* TO reader@'%'"
    )
    if facts.may is None:
        yield Finding("info", f"the privileges of {target.user!r} on the target are unknown. {make}")
    elif facts.may:
        yield Finding(
            "info",
            f"only reads are sent, in read-only sessions, but {target.user!r} has write privileges"
            f" ({listed(list(facts.may))}). {make}",
        )
    library = facts.library
    if library.names:
        names = listed([printable(name) for name in library.names])
        callers = listed([printable(name) for name in library.callers])
        by_others = (
            f" Views and routines that may call these functions: {callers}. Statements that use these views or routines"
            " are also not sent."
        )
        hidden = by_others if callers else ""
        yield Finding(
            "warning",
            f"the target has {plural(len(library.names), 'loadable function')} ({names}), which read-only sessions"
            f" do not restrict. Statements that call loadable functions are not sent (not_permitted).{hidden}"
            " To send all these statements, add --allow-statement instance",
        )
    elif library.names is None:
        yield Finding(
            "info",
            f"{target.user!r} may not list the target's loadable functions (SELECT on mysql.func). Reads that call"
            " loadable functions are sent, and read-only sessions do not restrict these functions",
        )


def _users(plan: Plan, target: Target) -> Iterator[Finding]:
    """Report users of the tape that have no account on the target, if accounts are given."""
    accounts = plan.rules.overrides.accounts
    others = sorted(set(plan.users) - set(accounts))
    if accounts and others:
        yield Finding(
            "warning",
            f"users of the tape that --users and --map-user do not contain: {listed(others)}. The replay uses"
            f" the account {target.user!r} for their sessions",
        )
    if unknown := sorted(set(accounts) - set(plan.users)):
        yield Finding("warning", f"--users or --map-user contains users that are not on the tape: {listed(unknown)}")


# Names of collations that only MySQL or only MariaDB has.
COLLATION_NAMES = {248: "gb18030_chinese_ci", 249: "gb18030_bin", 255: "utf8mb4_0900_ai_ci"}


def _collations(plan: Plan, facts: Facts) -> Iterator[Finding]:
    """Report logins whose collation is unknown on the target. The target may compare and sort strings differently."""
    if facts.collations is None and plan.collations_unknown:
        yield Finding(
            "warning",
            "the target does not list its collations, so sessions get the default collation of their character set",
        )
        return
    for number, charset, sessions in plan.collations_unknown:
        name = COLLATION_NAMES.get(number) or f"character set {charset or 'unknown'}"
        yield Finding(
            "warning",
            f"{plural(sessions, 'session')} logged in with collation {number} ({name}), but the target lacks this"
            f" collation. Strings may compare and sort differently, because the target uses its default collation",
        )


def _schemas(plan: Plan, target: Target, facts: Facts) -> Iterator[Finding]:
    def fold(name: str) -> str:
        return name.lower() if facts.folds_names else name

    present = {fold(name) for name in facts.schemas} | OWN_SCHEMAS
    if target.db and fold(target.db) not in present:
        yield Finding(
            "refuse",
            f"the target lacks the schema {target.db!r} of --target, or {target.user!r} lacks the right to see"
            " the schema. Restore the schema, or GRANT access",
        )
    wanted = {
        db: n for db, n in plan.schemas.items() if fold(db) not in present and db.lower() not in plan.created_schemas
    }
    if not wanted:
        return
    events = sum(wanted.values())
    shown = listed([f"{db} ({plural(n, 'event')})" for db, n in sorted(wanted.items(), key=lambda item: -item[1])])
    text = f"the target lacks schemas of the tape, or {target.user!r} may not see them: {shown}"
    if events == plan.planned or len(wanted) == len(plan.schemas):
        yield Finding("refuse", f"{text}. Restore these schemas on the target, or GRANT access")
    else:
        yield Finding("warning", f"{text}. {plural(events, 'event')} will not be sent")


def _resumed(plan: Plan, partial_ok: bool) -> Iterator[Finding]:
    """Report an interrupted run that does not know all events that it has sent."""
    info = plan.resumed_info
    unknown = (info or {}).get("accounting", {}).get("sent_unknown") or 0
    if info is None or not plan.rules.allow_writes or (info.get("finished") and not unknown):
        return
    why = f"{plural(unknown, 'event')} of this run may have been sent" if unknown else "this run was killed"
    text = f"--resume: {why}, so some writes may be sent twice. Restore the target and replay the whole tape"
    yield Finding("warning", text) if partial_ok else Finding("refuse", f"{text}, or add --partial-ok")


def _statistics(facts: Facts) -> Iterator[Finding]:
    """Report tables that the optimizer treats as nearly empty. The optimizer then reads and locks different rows."""
    if facts.stale:
        yield Finding(
            "warning",
            f"the optimizer statistics show too few rows for {plural(len(facts.stale), 'table')}"
            f" ({listed([printable(name) for name in facts.stale])}). Statements may get"
            " different plans and lock more rows. Run ANALYZE TABLE",
        )


def _prepared(plan: Plan, target: Target, facts: Facts) -> Iterator[Finding]:
    """Report prepared XA transactions.

    Such transactions keep their locks, so statements that need the same rows wait.
    """
    if facts.prepared is None and plan.prepares_xa and plan.rules.allow_writes:
        yield Finding(
            "warning",
            "the tape contains XA PREPARE, but the account may not see prepared transactions on the target. Their"
            f" locks may block the replay: GRANT XA_RECOVER_ADMIN ON *.* TO the account {target.user!r}",
        )
    if facts.prepared:
        yield Finding(
            "refuse" if plan.rules.allow_writes else "warning",
            f"the target has {plural(len(facts.prepared), 'prepared XA transaction')} with locks"
            f" ({listed([str(xid) for xid in facts.prepared])}). End each transaction: XA COMMIT or XA ROLLBACK"
            f" {facts.prepared[0].literal}",
        )


def _connections(plan: Plan, target: Target, facts: Facts) -> Iterator[Finding]:
    limit = facts.number("max_connections")
    used = facts.connected or 0
    if limit is not None and plan.peak_sessions + used > limit:
        yield Finding(
            "refuse",
            f"the replay needs {plan.peak_sessions:,} concurrent connections and {used:,} are in use, but the"
            f" target's max_connections is {limit:,}: SET GLOBAL max_connections = {plan.peak_sessions + used + 10}",
        )
    own = facts.number("max_user_connections")
    if own and plan.peak_sessions + 1 > own:
        yield Finding(
            "refuse",
            f"the replay needs {plan.peak_sessions + 1:,} connections of {target.user!r}, but the target's"
            f" max_user_connections is {own:,}: raise this variable",
        )


def _machine(plan: Plan, target: Target, machine: Machine) -> Iterator[Finding]:
    peak = plan.peak_sessions
    if machine.files is not None and peak + SPARE_FILES > machine.files:
        yield Finding(
            "refuse",
            f"the replay needs {peak + SPARE_FILES:,} open files, but this account may open only {machine.files:,}:"
            f" ulimit -n {peak + SPARE_FILES}",
        )
    if machine.threads is not None and peak + SPARE_THREADS > machine.threads:
        yield Finding(
            "refuse",
            f"the replay needs {peak + SPARE_THREADS:,} threads, but {machine.thread_limit} allows only"
            f" {machine.threads:,}: raise this limit",
        )
    mappings = peak * MAPPINGS_A_THREAD
    if machine.mappings is not None and mappings > machine.mappings * 9 // 10:
        yield Finding(
            "refuse",
            f"the replay needs about {mappings:,} memory mappings, but vm.max_map_count is {machine.mappings:,}:"
            f" sysctl -w vm.max_map_count={mappings * 2}",
        )
    if target.socket is None and machine.ports is not None and peak > machine.ports:
        yield Finding(
            "refuse",
            f"the replay needs {peak:,} local ports at the same time, but only {machine.ports:,} are available:"
            " widen net.ipv4.ip_local_port_range, or use a unix socket",
        )
