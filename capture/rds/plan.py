# SPDX-License-Identifier: Apache-2.0
"""Plan the capture of a managed server's slow log: which parameters change where, and what stays behind."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ...common.errors import OptionError, RefusedError
from ..server_log.restore_file import default_restore_file, pending_sentence
from ..server_log.settings import RESET, Change, same
from .cloud import Cloud
from .instance import Group, Instance, look_at
from .parameters import Parameters, choose_group, plan_audit_parameters, plan_parameters, read_parameters

MAX_OTHERS = 8


@dataclass(frozen=True)
class RdsOptions:
    """How to capture. `poll_s`: how often the log is pulled. `sync_s`: how long to wait for the parameters.

    `shared_ok`: change a group that other instances use, too. `restore_file`: None = one a group, in the state folder.
    `audit`: the audit log in place of the slow log. `query_limit`: its server_audit_query_log_limit. `say` is called
    with how far it is.
    """

    duration_s: float = 600.0
    poll_s: float = 5.0
    sync_s: float = 600.0
    max_disk: int = 8 << 30
    cloudwatch: bool = False
    audit: bool = False
    query_limit: int = 1024
    shared_ok: bool = False
    restore_file: Path | None = None
    say: Callable[[str], None] = field(default=lambda text: None)


@dataclass(frozen=True)
class RdsPlan:
    """What will be done: to which group, the changes, notes, and where the old values are kept meanwhile."""

    instance: Instance
    group: Group
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    restore_file: Path
    refused: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the plan for people, one change a line."""
        place = f" in cluster {self.instance.cluster}" if self.instance.cluster else ""
        lines = [f"{self.instance.name}: {self.instance.engine} {self.instance.version}{place}; {self.group}"]
        for change in self.changes:
            now = "not set" if change.role == RESET else repr(change.before)
            lines.append(f"  {change.name} = {change.wanted!r}   (now {now})")
        lines += [] if self.changes else ["  nothing has to change: everything is logged already"]
        return lines + [f"  {note}" for note in self.notes]


def plan_rds(cloud: Cloud, name: str, options: RdsOptions) -> RdsPlan:
    """Look at an instance and plan its capture; nothing is changed.

    Raises InputError where there is no such instance, RefusedError where its parameters cannot be changed.
    """
    if options.duration_s <= 0 or options.poll_s <= 0:
        raise OptionError("--duration, --poll: expected more than 0 s")
    instance = look_at(cloud, name)
    group, changes, notes = (_audit_changes if options.audit else _changes)(cloud, instance)
    restore_file = options.restore_file or default_restore_file(group.arn)
    refused = []
    if pending := pending_sentence(restore_file):
        refused.append(pending)
    if changes and group.others and not options.shared_ok:
        shown = ", ".join(group.others[:MAX_OTHERS]) + (", ..." if len(group.others) > MAX_OTHERS else "")
        refused.append(
            f"{group} is used by {len(group.others):,} other instances, which would log everything, too: {shown}"
            " (--shared-group-ok allows it)"
        )
    return RdsPlan(instance, group, tuple(changes), tuple(notes), restore_file, tuple(refused))


def _changes(cloud: Cloud, instance: Instance) -> tuple[Group, list[Change], list[str]]:
    """Return the group that counts, its changes, and notes; a default group is good where nothing has to change."""
    own = read_parameters(cloud, instance.groups[0]) if instance.groups else {}
    try:
        group = choose_group(instance)
    except RefusedError:
        if own and not plan_parameters(own, instance.groups[0])[0]:
            return instance.groups[0], [], []
        raise
    parameters = own if group == instance.groups[0] else read_parameters(cloud, group)
    changes, notes = plan_parameters(parameters, group)
    return group, changes, [*notes, *_stays_behind(parameters, changes)]


def _audit_changes(cloud: Cloud, instance: Instance) -> tuple[Group, list[Change], list[str]]:
    """Return the same for the audit log: of Aurora's the cluster's group has its parameters, RDS has it as an option.

    Raises RefusedError where there is no group, or only default ones and something has to change.
    """
    if not instance.is_aurora:
        if not instance.groups:
            raise RefusedError(f"{instance.name} has no parameter group")
        note = (
            "the audit log is MARIADB_AUDIT_PLUGIN of the option group, which is yours to set: what it logs is read"
            " (SERVER_AUDIT_EVENTS needs CONNECT,QUERY; --query-limit is its SERVER_AUDIT_QUERY_LOG_LIMIT)"
        )
        return instance.groups[0], [], [note]
    own = next((group for group in instance.groups if group.of_cluster), None)
    parameters = read_parameters(cloud, own) if own else {}
    if own and own.is_default and not plan_audit_parameters(parameters, own)[0]:
        return own, [], plan_audit_parameters(parameters, own)[1]
    group = choose_group(instance, of_cluster=True)
    changes, notes = plan_audit_parameters(parameters, group)
    return group, changes, notes


def _stays_behind(parameters: Parameters, changes: list[Change]) -> list[str]:
    """Return what sessions keep: each copies long_query_time when it connects."""
    notes = [
        "sessions that are open already keep their long_query_time: of a pool's, nothing is logged until they reconnect"
    ]
    was_on = same(str(parameters["slow_query_log"].get("ParameterValue") or "0"), "1")
    if was_on and any(change.name == "long_query_time" for change in changes):
        notes.append(
            "the slow log is on and stays on: sessions that connect during the capture WRITE EVERY STATEMENT into it"
            " until they disconnect"
        )
    return notes
