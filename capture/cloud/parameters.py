# SPDX-License-Identifier: Apache-2.0
"""Plan, make and take back changes of a parameter group, so that a server logs all. Tested against an emulator only."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...common.errors import InputError, OptionError, RefusedError, TargetError
from ...common.units import plural
from ..server_log.restore import RDS, default_restore_file, pending_sentence, read_restore_file
from ..server_log.settings import BEGIN, MAX_LENGTH, RESET, Change, Left, same
from .aws import Cloud, Group, Instance, look_at

# Without these there is no log of everything; MySQL's own defaults are other values.
NEEDED = {"log_output": "FILE", "long_query_time": "0", "slow_query_log": "1"}
# Set where the engine knows them and a change needs no reboot; the value that is meant where none is set.
USEFUL = {
    "log_slow_extra": ("1", "0"),
    "log_slow_admin_statements": ("1", "0"),
    "min_examined_row_limit": ("0", "0"),
    "log_slow_rate_limit": ("1", "1"),
    MAX_LENGTH: (str(1 << 30), str(1 << 30)),
}
# The audit log of everything, which Aurora's clusters have among their parameters.
AUDIT = "server_audit_logging"
AUDIT_EVENTS = "server_audit_events"
AUDIT_NEEDED = {AUDIT: "1", AUDIT_EVENTS: "CONNECT,QUERY"}
AUDIT_ACCOUNTS = ("server_audit_incl_users", "server_audit_excl_users")
TRIES = 5
POLL_S = 2.0
IN_SYNC, PENDING = "in-sync", "pending-reboot"
Parameters = dict[str, dict[str, Any]]
MAX_OTHERS = 8


def read_parameters(cloud: Cloud, group: Group) -> Parameters:
    """Return a group's parameters by name."""
    kind = "cluster_" if group.of_cluster else ""
    found = cloud.pages("rds", f"describe_db_{kind}parameters", "Parameters", **_named(group))
    return {str(parameter.get("ParameterName")): parameter for parameter in found}


def choose_group(instance: Instance, of_cluster: bool = False) -> Group:
    """Return the group to change: the instance's own, whose values win over its cluster's, else the cluster's.

    `of_cluster`: the cluster's alone. Raises RefusedError where all are the engine's default groups.
    """
    groups = [group for group in instance.groups if group.of_cluster or not of_cluster]
    for group in groups:
        if not group.is_default:
            return group
    names = " and ".join(group.name for group in groups) or "no parameter group"
    if of_cluster:
        raise RefusedError(
            f"the cluster of {instance.name} uses {names}. Default parameter groups cannot be changed. Create a cluster"
            " parameter group (aws rds create-db-cluster-parameter-group). Assign the group to the cluster (aws rds"
            " modify-db-cluster --db-cluster-parameter-group-name), and reboot its instances once"
        )
    raise RefusedError(
        f"{instance.name} uses {names}. Default parameter groups cannot be changed. Create a parameter group (aws rds"
        f" create-db-parameter-group). Assign the group to {instance.name} (aws rds modify-db-instance"
        " --db-parameter-group-name), and reboot the instance once"
    )


def plan_parameters(parameters: Mapping[str, Mapping[str, Any]], group: Group) -> tuple[list[Change], list[str]]:
    """Return the changes, and notes of what cannot be had.

    Raises RefusedError where a needed parameter is not in the group, cannot be changed, or only with a reboot.
    """
    changes, notes = [], []
    for name, wanted in NEEDED.items():
        if name not in parameters:
            raise RefusedError(f"{group} has no parameter {name}, so this engine cannot log every statement")
        now = parameters[name].get("ParameterValue")
        if now is not None and (same(str(now), wanted) or wanted in str(now).upper().split(",")):
            continue
        if hindrance := _why_not(name, parameters[name]):
            raise RefusedError(f"{group}: {name} must be {wanted}, but {hindrance}")
        changes.append(_change(name, now, wanted))
    for name, (wanted, meant) in USEFUL.items():
        if name not in parameters:
            continue
        now = parameters[name].get("ParameterValue")
        if same(str(now if now is not None else meant), wanted):
            continue
        if hindrance := _why_not(name, parameters[name]):
            notes.append(f"{name} stays {now or meant}: {hindrance}")
        else:
            changes.append(_change(name, now, wanted))
    return changes, notes


def plan_audit_parameters(parameters: Mapping[str, Mapping[str, Any]], group: Group) -> tuple[list[Change], list[str]]:
    """Return the changes that let Aurora's audit log have everything, and notes of what it leaves out.

    Events that are logged already stay so. Raises RefusedError as plan_parameters().
    """
    changes, notes = [], []
    for name, wanted in AUDIT_NEEDED.items():
        if name not in parameters:
            raise RefusedError(f"{group} has no parameter {name}, so this engine cannot write an audit log")
        now = parameters[name].get("ParameterValue")
        has = [each.strip() for each in str(now or "").upper().split(",") if each.strip()]
        if same(str(now or ""), wanted) or set(wanted.split(",")) <= set(has):
            continue
        if hindrance := _why_not(name, parameters[name]):
            raise RefusedError(f"{group}: {name} must be {wanted}, but {hindrance}")
        if name == AUDIT_EVENTS:
            others = [each for each in has if not each.startswith("QUERY") and each not in wanted.split(",")]
            wanted = ",".join([*wanted.split(","), *others])
        changes.append(_change(name, now, wanted))
    for name in AUDIT_ACCOUNTS:
        if accounts := str(parameters.get(name, {}).get("ParameterValue") or ""):
            which = "only" if "incl" in name else "no"
            notes.append(f"{name} is set, so the audit log contains {which} statements of {accounts}")
    return changes, notes


def _why_not(name: str, parameter: Mapping[str, Any]) -> str:
    """Return why a parameter cannot be changed while the server runs; empty where it can."""
    if parameter.get("IsModifiable") is False:
        return f"AWS does not allow changes of {name}"
    if str(parameter.get("ApplyType") or "dynamic") == "static":
        return f"a change of {name} requires a reboot. Change the parameter, reboot the instance, then capture"
    return ""


def _change(name: str, now: object, wanted: str) -> Change:
    return Change(name, "", wanted, RESET) if now is None else Change(name, str(now), wanted, BEGIN)


def apply(cloud: Cloud, group: Group, changes: Sequence[Change]) -> None:
    """Make the changes, at once. Raises RefusedError or TargetError."""
    _send(cloud, group, "modify", [(change.name, change.wanted) for change in changes])


def take_back(cloud: Cloud, group: Group, changes: Sequence[Change]) -> Left:
    """Take the changes back; return what somebody else set meanwhile, which stays, and what AWS refused."""
    left = Left()
    try:
        parameters = read_parameters(cloud, group)
    except (TargetError, RefusedError) as error:
        return Left(refused=(f"could not read the {group}: {error}",))
    modify, reset = [], []
    for change in changes:
        now = parameters.get(change.name, {}).get("ParameterValue")
        if now is None if change.role == RESET else now is not None and same(str(now), change.before):
            continue
        if now is None or not same(str(now), change.wanted):
            found = "not set" if now is None else repr(now)
            text = (
                f"{change.name} is now {found}: somebody else changed it, so querytape does not restore the old value"
            )
            left += Left(changed=(text,))
        elif change.role == RESET:
            reset.append((change.name, None))
        else:
            modify.append((change.name, change.before))
    for action, values in (("modify", modify), ("reset", reset)):
        try:
            _send(cloud, group, action, values)
        except (TargetError, RefusedError) as error:
            left += Left(refused=(f"{', '.join(name for name, _ in values)}: {error}",))
    return left


def _send(cloud: Cloud, group: Group, action: str, values: Sequence[tuple[str, str | None]]) -> None:
    """Modify or reset parameters of a group; a group that is busy is tried again."""
    if not values:
        return
    kind = "cluster_" if group.of_cluster else ""
    entries = [
        {"ParameterName": name, "ApplyMethod": "immediate"} | ({} if value is None else {"ParameterValue": value})
        for name, value in values
    ]
    how: dict[str, Any] = {"ResetAllParameters": False} if action == "reset" else {}
    for attempt in range(TRIES):
        try:
            cloud.call("rds", f"{action}_db_{kind}parameter_group", **_named(group), Parameters=entries, **how)
            return
        except RefusedError:
            raise
        except TargetError:
            if attempt == TRIES - 1:
                raise
            time.sleep(POLL_S * attempt)


def wait_in_sync(
    cloud: Cloud, instance: Instance, group: Group, timeout_s: float, say: Callable[[str], None], poll_s: float = POLL_S
) -> None:
    """Wait until the instance has the group's values: twice in a row, for AWS begins to apply them a moment later.

    A group that waited for a reboot before is taken as it is. Raises TargetError when the time is over.
    """
    before = instance.status.get(group.name)
    until = time.monotonic() + timeout_s
    seen = 0
    while seen < 2:
        time.sleep(poll_s)
        status = look_at(cloud, instance.name).status.get(group.name, "")
        seen = seen + 1 if status == IN_SYNC or status == before == PENDING else 0
        if time.monotonic() > until:
            raise TargetError(
                f"{group} is still {status!r} after {timeout_s:,.0f} s (expected {IN_SYNC!r}). Nothing was captured"
            )
        say(f"{group}: {status}")


def _named(group: Group) -> dict[str, str]:
    return {f"DB{'Cluster' if group.of_cluster else ''}ParameterGroupName": group.name}


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
        lines += [] if self.changes else ["  no change is needed: the server already logs every statement"]
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
        use = "uses" if len(group.others) == 1 else "use"
        refused.append(
            f"{plural(len(group.others), 'other instance')} {use} {group} and would also log every statement: {shown}."
            " To allow this, add --shared-group-ok"
        )
    return RdsPlan(
        instance, group, changes=tuple(changes), notes=tuple(notes), restore_file=restore_file, refused=tuple(refused)
    )


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
            "querytape does not change MARIADB_AUDIT_PLUGIN in the option group. Its SERVER_AUDIT_EVENTS must contain"
            " CONNECT,QUERY. --query-limit must equal its SERVER_AUDIT_QUERY_LOG_LIMIT"
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
    notes = ["open sessions keep their long_query_time. Sessions of a connection pool log nothing until they reconnect"]
    was_on = same(str(parameters["slow_query_log"].get("ParameterValue") or "0"), "1")
    if was_on and any(change.name == "long_query_time" for change in changes):
        notes.append(
            "the slow log is on and stays on after the capture. Sessions that connect during the capture WRITE EVERY"
            " STATEMENT into the slow log until they disconnect"
        )
    return notes


def restore_rds(cloud: Cloud, name: str, path: Path | None) -> list[str]:
    """Set back what a killed capture of this instance had changed; return what was done, in sentences.

    Raises InputError without a restore file, RefusedError where it belongs to another group or something stays.
    """
    groups = look_at(cloud, name).groups
    paths = [path] if path else [default_restore_file(group.arn) for group in groups]
    where = next((each for each in paths if each.exists()), paths[0] if paths else None)
    if where is None:
        raise InputError(f"{name} has no parameter group")
    saved = read_restore_file(where)
    group = next((each for each in groups if each.arn == saved.identity), None)
    if saved.method != RDS or group is None:
        raise RefusedError(
            f"{where}: this restore file belongs to {saved.server} ({saved.identity}), not to a parameter group of"
            f" {name}"
        )
    left = take_back(cloud, group, saved.changes)
    if left.refused:
        raise RefusedError("; ".join((*left.changed, *left.refused)) + f" ({where} is kept)")
    where.unlink(missing_ok=True)
    done = ", ".join(change.name for change in saved.changes) or "nothing"
    return [f"restored the {group} to its values of {saved.at}: {done}", *left.changed]
