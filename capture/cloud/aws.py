# SPDX-License-Identifier: Apache-2.0
"""Call Amazon RDS and CloudWatch Logs through boto3, and describe an instance. Tested against an emulator only.

boto3 finds the credentials. Errors of boto3 become errors of querytape with a readable message.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...common.errors import InputError, RefusedError, TargetError
from ...common.text import printable

DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
NOT_FOUND = re.compile(r"NotFound|ResourceNotFoundException")
MAX_PAGES = 10_000
MAX_MESSAGE = 300
ENGINES = ("mysql", "mariadb", "aurora-mysql", "aurora")
DEFAULT_GROUP = "default."


class GoneError(TargetError):
    """The requested instance, parameter group or log file does not exist."""


class Cloud:
    """A client for one AWS account in one region. Several threads may use `call`.

    Raises RefusedError if boto3 is not installed or finds no region.
    """

    def __init__(self, region: str | None = None, profile: str | None = None, attempts: int = 8) -> None:
        try:
            import boto3
            import botocore.exceptions
            from botocore.config import Config
            from botocore.parsers import ResponseParserError
        except ImportError as error:
            raise RefusedError("capture rds requires boto3. Run pip install 'querytape[rds]'") from error
        self._errors, self._unreadable = botocore.exceptions, ResponseParserError
        retries = {"mode": "standard", "max_attempts": attempts}
        config = Config(retries=retries, connect_timeout=10, read_timeout=60, max_pool_connections=8)
        try:
            session = boto3.Session(region_name=region, profile_name=profile)
            self._clients = {name: session.client(name, config=config) for name in ("rds", "logs")}
        except (botocore.exceptions.BotoCoreError, ValueError) as error:
            raise RefusedError(
                f"boto3: {_text(error).rstrip('.')}. Set --region, --profile or boto3's own settings"
            ) from error

    def call(self, service: str, action: str, **parameters: Any) -> dict[str, Any]:
        """Call a boto3 action by its boto3 name and return the answer.

        Raises RefusedError if the account lacks the permission, GoneError if the object does not exist, and TargetError
        for every other error.
        """
        what = f"{service}:{''.join(map(_capital, action.split('_')))}"
        try:
            answer = getattr(self._clients[service], action)(**parameters)
        except self._errors.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code in DENIED:
                raise RefusedError(
                    f"this account may not call {what}. Allow the action in its IAM policy ({_text(error)})"
                ) from error
            kind = GoneError if NOT_FOUND.search(code) else TargetError
            raise kind(f"{what}: {_text(error)}") from error
        except self._errors.NoCredentialsError as error:
            raise RefusedError("boto3 found no credentials. Configure credentials as for the aws command") from error
        except (self._errors.BotoCoreError, self._unreadable) as error:
            raise TargetError(f"{what}: {_text(error)}") from error
        if not isinstance(answer, dict):
            raise TargetError(f"{what}: no answer")
        return answer

    def pages(self, service: str, action: str, key: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Yield the entries under `key` from all pages of an answer. Raises the errors of `call`.

        Also raises TargetError if the answer has more than MAX_PAGES pages.
        """
        marker: dict[str, Any] = {}
        for _ in range(MAX_PAGES):
            answer = self.call(service, action, **parameters, **marker)
            yield from answer.get(key) or ()
            following = answer.get("Marker")
            if not following or marker == {"Marker": following}:
                return
            marker = {"Marker": following}
        raise TargetError(f"{action}: more than {MAX_PAGES:,} pages")


def _capital(word: str) -> str:
    """Return one word of an action name in the spelling of AWS: `db` becomes `DB`."""
    return "DB" if word == "db" else word.capitalize()


def _text(error: Exception) -> str:
    return printable(str(error), MAX_MESSAGE)


@dataclass(frozen=True)
class Group:
    """A parameter group of an instance or of a cluster. `others`: the other instances that use this group."""

    name: str
    of_cluster: bool
    arn: str
    others: tuple[str, ...] = ()

    @property
    def is_default(self) -> bool:
        """Whether the group is the default group of its engine. AWS does not allow changes to default groups."""
        return self.name.startswith(DEFAULT_GROUP)

    def __str__(self) -> str:
        return f"{'cluster parameter group' if self.of_cluster else 'parameter group'} {self.name}"


@dataclass(frozen=True)
class Instance:
    """An instance as described by RDS. `groups`: the parameter group of the instance, then the group of its cluster.

    `status`: the apply status of each group by name (in-sync, applying, pending-reboot). `exports`: the logs that RDS
    exports to CloudWatch Logs.
    """

    name: str
    arn: str
    engine: str
    version: str
    cluster: str | None
    groups: tuple[Group, ...]
    status: dict[str, str]
    exports: tuple[str, ...]

    @property
    def is_aurora(self) -> bool:
        """Whether the engine is Aurora, which writes its logs differently."""
        return self.engine.startswith("aurora")


def look_at(cloud: Cloud, name: str) -> Instance:
    """Return the description of an instance that runs MySQL, MariaDB or Aurora MySQL.

    Raises InputError if no instance has this name, or if the instance runs another engine.
    """
    try:
        described = list(cloud.pages("rds", "describe_db_instances", "DBInstances", DBInstanceIdentifier=name))
    except GoneError as error:
        raise InputError(_unknown_instance(name) + _cluster_hint(cloud, name)) from error
    if not described:
        raise InputError(_unknown_instance(name))
    found = described[0]
    engine = str(found.get("Engine", ""))
    if engine not in ENGINES:
        raise InputError(f"{name}: expected MySQL, MariaDB or Aurora MySQL, found the engine {engine!r}")
    cluster = found.get("DBClusterIdentifier") or None
    status = {
        str(group["DBParameterGroupName"]): str(group.get("ParameterApplyStatus") or "")
        for group in found.get("DBParameterGroups") or ()
    }
    groups = [_group(cloud, group, found, name) for group in status]
    exports = list(found.get("EnabledCloudwatchLogsExports") or ())
    if cluster:
        about = _cluster(cloud, str(cluster))
        group = str(about.get("DBClusterParameterGroup") or "")
        members = about.get("DBClusterMembers") or ()
        if group:
            status[group] = next(
                (str(m.get("DBClusterParameterGroupStatus")) for m in members if m.get("DBInstanceIdentifier") == name),
                "in-sync",
            )
            groups.append(_cluster_group(cloud, group, name))
        exports += about.get("EnabledCloudwatchLogsExports") or ()
    return Instance(
        name=name,
        arn=str(found.get("DBInstanceArn") or name),
        engine=engine,
        version=str(found.get("EngineVersion") or ""),
        cluster=str(cluster) if cluster else None,
        groups=tuple(groups),
        status=status,
        exports=tuple(map(str, exports)),
    )


def _group(cloud: Cloud, group: str, instance: dict[str, Any], name: str) -> Group:
    """Return the parameter group of an instance, including the other instances that use the group."""
    arn = _arn(cloud, "describe_db_parameter_groups", "DBParameterGroup", group)
    others = (
        ()
        if group.startswith(DEFAULT_GROUP)
        else tuple(
            str(each.get("DBInstanceIdentifier"))
            for each in cloud.pages("rds", "describe_db_instances", "DBInstances")
            if each.get("DBInstanceIdentifier") != name
            and any(used.get("DBParameterGroupName") == group for used in each.get("DBParameterGroups") or ())
        )
    )
    return Group(group, False, arn, others)


def _cluster_group(cloud: Cloud, group: str, name: str) -> Group:
    """Return the parameter group of a cluster, including the other instances that use the group in any cluster."""
    arn = _arn(cloud, "describe_db_cluster_parameter_groups", "DBClusterParameterGroup", group)
    others = (
        ()
        if group.startswith(DEFAULT_GROUP)
        else tuple(
            str(member.get("DBInstanceIdentifier"))
            for each in cloud.pages("rds", "describe_db_clusters", "DBClusters")
            if each.get("DBClusterParameterGroup") == group
            for member in each.get("DBClusterMembers") or ()
            if member.get("DBInstanceIdentifier") != name
        )
    )
    return Group(group, True, arn, others)


def _arn(cloud: Cloud, action: str, kind: str, group: str) -> str:
    """Return the ARN of a group. Return the name of the group if AWS does not describe the group."""
    try:
        found = list(cloud.pages("rds", action, f"{kind}s", **{f"{kind}Name": group}))
    except GoneError:
        return group
    return str(found[0].get(f"{kind}Arn") or group) if found else group


def _cluster(cloud: Cloud, cluster: str) -> dict[str, Any]:
    found = list(cloud.pages("rds", "describe_db_clusters", "DBClusters", DBClusterIdentifier=cluster))
    if not found:
        raise TargetError(f"{cluster}: RDS returned no description of this DB cluster")
    return found[0]


def _unknown_instance(name: str) -> str:
    return f"{name}: no such DB instance in this account and region"


def _cluster_hint(cloud: Cloud, name: str) -> str:
    """Return a hint that the name belongs to a cluster, with the instances of the cluster."""
    try:
        members = _cluster(cloud, name).get("DBClusterMembers") or ()
    except TargetError:
        return ""
    names = ", ".join(str(member.get("DBInstanceIdentifier")) for member in members)
    return f". {name} is a cluster. Give the name of one of its instances: {names}"
