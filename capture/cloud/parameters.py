# SPDX-License-Identifier: Apache-2.0
"""Plan, apply and revert parameter group changes that log every statement. Tested against an emulator only."""

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

# The log misses statements without these values. The defaults of MySQL are different values.
NEEDED = {"log_output": "FILE", "long_query_time": "0", "slow_query_log": "1"}
# These parameters are changed only if the engine has them and no reboot is needed. Each pair has the wanted value and
# the default of the engine.
USEFUL = {
    "log_slow_extra": ("1", "0"),
    "log_slow_admin_statements": ("1", "0"),
    "min_examined_row_limit": ("0", "0"),
    "log_slow_rate_limit": ("1", "1"),
    MAX_LENGTH: (str(1 << 30), str(1 << 30)),
}
# Enables the audit log of Aurora. The parameter belongs to the cluster parameter group.
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
    """Return the parameters of a group by name."""
    kind = "cluster_" if group.of_cluster else ""
    found = cloud.pages("rds", f"describe_db_{kind}parameters", "Parameters", **_named(group))
    return {str(parameter.get("ParameterName")): parameter for parameter in found}


def choose_group(instance: Instance, of_cluster: bool = False) -> Group:
    """Return the parameter group to change.

    The group of the instance comes first, because its values override the group of the cluster. `of_cluster`: consider
    only the group of the cluster. Raises RefusedError if all groups are default groups.
    """
    groups = [group for group in instance.groups if group.of_cluster or not of_cluster]
    for group in groups:
        if not group.is_default:
            return group
    names = " and ".join(group.name for group in groups) or "no parameter group"
    if of_cluster:
        raise RefusedError(
            f"the cluster of {instance.name} uses {names}. Default parameter groups cannot be changed. Create and"
            " assign a cluster parameter group, and reboot its instances once (aws rds"
            " create-db-cluster-parameter-group, modify-db-cluster --db-cluster-parameter-group-name)"
        )
    raise RefusedError(
        f"{instance.name} uses {names}. Default parameter groups cannot be changed. Create a parameter group (aws rds"
        f" create-db-parameter-group). Assign the group to {instance.name} (aws rds modify-db-instance"
        " --db-parameter-group-name), and reboot the instance once"
    )


def plan_parameters(parameters: Mapping[str, Mapping[str, Any]], group: Group) -> tuple[list[Change], list[str]]:
    """Return the needed changes, and notes about parameters that cannot be changed.

    Raises RefusedError if a needed parameter is missing from the group, is read-only, or requires a reboot.
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
    """Return the changes for a complete Aurora audit log, and notes about statements that the log omits.

    Event types that are already logged stay enabled. Raises RefusedError under the conditions of `plan_parameters`.
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
    """Return why a parameter cannot be changed on a running server, or an empty text if it can."""
    if parameter.get("IsModifiable") is False:
        return f"AWS does not allow changes of {name}"
    if str(parameter.get("ApplyType") or "dynamic") == "static":
        return f"a change of {name} requires a reboot. Change the parameter, reboot the instance, then capture"
    return ""


def _change(name: str, now: object, wanted: str) -> Change:
    return Change(name, "", wanted, RESET) if now is None else Change(name, str(now), wanted, BEGIN)


def apply(cloud: Cloud, group: Group, changes: Sequence[Change]) -> None:
    """Apply the changes immediately. Raises RefusedError or TargetError."""
    _send(cloud, group, "modify", [(change.name, change.wanted) for change in changes])


def take_back(cloud: Cloud, group: Group, changes: Sequence[Change]) -> Left:
    """Revert the changes.

    Returns two lists: the changes that someone else has overwritten, and the changes that AWS refused to revert.
    Parameters that someone else changed keep their new values.
    """
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
            text = f"somebody else changed {change.name} (now {found}), so querytape does not restore the old value"
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
    """Modify or reset parameters of a group. Retries if the group is busy."""
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
    """Wait until the instance reports the group as in sync in two consecutive checks.

    Two checks are needed because AWS starts to apply the values with a delay. The function accepts a group that was
    already pending a reboot. Raises TargetError after the timeout.
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
    """Options of a capture from RDS.

    `poll_s`: seconds between pulls. `sync_s`: longest wait for the parameters in seconds. `shared_ok`: allow changes to
    a group that other instances use. `restore_file`: None means one file per group in the state folder. `audit`: read
    the audit log instead of the slow log. `query_limit`: the value of server_audit_query_log_limit on the server. `say`
    receives progress messages.
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
    """A capture plan: the parameter group, its changes, notes, and the restore file for the old values."""

    instance: Instance
    group: Group
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    restore_file: Path
    refused: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the plan as readable lines, one per change."""
        place = f" in cluster {self.instance.cluster}" if self.instance.cluster else ""
        lines = [f"{self.instance.name}: {self.instance.engine} {self.instance.version}{place}; {self.group}"]
        for change in self.changes:
            now = "not set" if change.role == RESET else repr(change.before)
            lines.append(f"  {change.name} = {change.wanted!r}   (now {now})")
        lines += [] if self.changes else ["  no change is needed: the server already logs every statement"]
        return lines + [f"  {note}" for note in self.notes]


def plan_rds(cloud: Cloud, name: str, options: RdsOptions) -> RdsPlan:
    """Plan the capture of an instance without changing anything.

    Raises InputError if the instance does not exist, and RefusedError if its parameters cannot be changed.
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
    """Return the parameter group to change, its changes, and notes.

    A default group is accepted if no change is needed.
    """
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
    """Return the parameter group for the audit log, its changes, and notes.

    Aurora has the parameters in the cluster parameter group. RDS configures the audit log in an option group instead.
    Raises RefusedError if no group exists, or if a change is needed but all groups are default groups.
    """
    if not instance.is_aurora:
        if not instance.groups:
            raise RefusedError(f"{instance.name} has no parameter group")
        note = (
            "querytape does not change MARIADB_AUDIT_PLUGIN in the option group. The plugin's SERVER_AUDIT_EVENTS must"
            " contain CONNECT,QUERY. --query-limit must equal the plugin's SERVER_AUDIT_QUERY_LOG_LIMIT"
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
    """Return notes about sessions that keep an old value. Each session copies long_query_time when it connects."""
    notes = ["open sessions keep their long_query_time. Sessions of a connection pool log nothing until they reconnect"]
    was_on = same(str(parameters["slow_query_log"].get("ParameterValue") or "0"), "1")
    if was_on and any(change.name == "long_query_time" for change in changes):
        notes.append(
            "the slow log is on and stays on after the capture. Sessions that connect during the capture WRITE EVERY"
            " STATEMENT into the slow log until they disconnect"
        )
    return notes


def restore_rds(cloud: Cloud, name: str, path: Path | None) -> list[str]:
    """Revert the changes of a killed capture of this instance and return messages about the result.

    Raises InputError if there is no restore file. Raises RefusedError if the file belongs to another group or if a
    change could not be reverted.
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
    return [f"restored the values that the {group} had at {saved.at}: {done}", *left.changed]
