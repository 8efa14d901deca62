# SPDX-License-Identifier: Apache-2.0
"""An emulated AWS for `capture rds`: the moto server, extended with missing actions according to botocore's service
model.

Moto emulates instances, clusters, parameter groups and CloudWatch Logs. This module adds log files and their portions
(from a folder), the engine's default parameters, and the reset of parameters.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

KEYS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "eu-west-1"}
NAME = "slowquery/mysql-slowquery.log"
NAMESPACE = "http://rds.amazonaws.com/doc/2014-10-31/"
CUT = " [Your log message was truncated]\n"
# Engine defaults of RDS for MySQL 8.0, used for parameters that nobody has set.
ENGINE: dict[str, dict[str, Any]] = {
    "slow_query_log": {"AllowedValues": "0,1"},
    "log_output": {"ParameterValue": "TABLE", "AllowedValues": "TABLE,FILE,NONE"},
    "long_query_time": {},
    "log_slow_extra": {"AllowedValues": "0,1"},
    "log_slow_admin_statements": {"AllowedValues": "0,1"},
    "min_examined_row_limit": {},
    "max_connections": {"ParameterValue": "{DBInstanceClassMemory/12582880}"},
}
# Parameters that exist in a cluster parameter group of Aurora MySQL but not in an instance parameter group.
CLUSTER: dict[str, dict[str, Any]] = {
    "server_audit_logging": {"AllowedValues": "0,1"},
    "server_audit_events": {},
    "server_audit_incl_users": {},
}
Respond = Callable[..., Any]
_models: dict[str, Any] = {}


@dataclass
class Aws:
    """The AWS emulator.

    `folder`: log files of an instance. `largest`: maximum bytes of a portion. `names_hold`: whether a marker stays
    valid after its file is renamed. `before_portion` is called with the file name before each portion.
    """

    folder: Path
    url: str = ""
    largest: int = 1 << 20
    names_hold: bool = True
    static: set[str] = field(default_factory=set)
    before_portion: Callable[[str], None] = field(default=lambda name: None)
    asked: list[str] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    status: str = ""
    _clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str = "rds") -> Any:
        """Return a cached boto3 client."""
        import boto3

        if service not in self._clients:
            self._clients[service] = boto3.client(
                service,
                endpoint_url=self.url,
                region_name="eu-west-1",
                aws_access_key_id="testing",
                aws_secret_access_key="testing",
            )
        return self._clients[service]

    def environ(self, state: Path) -> dict[str, str]:
        """Return the environment for a command that uses this emulator as AWS, with a separate state folder."""
        return {**os.environ, **KEYS, "AWS_ENDPOINT_URL": self.url, "XDG_STATE_HOME": str(state)}

    def instance(self, name: str = "shop-1", group: str = "shop", engine: str = "mysql", **more: Any) -> None:
        """Create an instance, and its parameter group unless it is a default group."""
        rds = self.client()
        if not group.startswith("default."):
            rds.create_db_parameter_group(
                DBParameterGroupName=group, DBParameterGroupFamily="mysql8.0", Description="x"
            )
            more["DBParameterGroupName"] = group
        rds.create_db_instance(
            DBInstanceIdentifier=name,
            DBInstanceClass="db.m5.large",
            Engine=engine,
            AllocatedStorage=10,
            MasterUsername="admin",
            MasterUserPassword="secret-99",
            **more,
        )

    def cluster(self, **more: Any) -> None:
        """Create an Aurora cluster with two instances and its own parameter group."""
        rds = self.client()
        group = {"DBClusterParameterGroupName": "au-group"}
        rds.create_db_cluster_parameter_group(**group, DBParameterGroupFamily="aurora-mysql8.0", Description="x")
        login = {"MasterUsername": "admin", "MasterUserPassword": "secret-99"}
        rds.create_db_cluster(DBClusterIdentifier="au", Engine="aurora-mysql", **group, **login, **more)
        for name in ("au-1", "au-2"):
            rds.create_db_instance(
                DBInstanceIdentifier=name,
                DBInstanceClass="db.r6g.large",
                Engine="aurora-mysql",
                DBClusterIdentifier="au",
            )

    def set_for_cluster(self, name: str, value: str) -> None:
        """Set a parameter of the cluster parameter group, as its owner would."""
        entry = {"ParameterName": name, "ParameterValue": value, "ApplyMethod": "immediate"}
        self.client().modify_db_cluster_parameter_group(DBClusterParameterGroupName="au-group", Parameters=[entry])

    def values_of_cluster(self) -> dict[str, str | None]:
        """Return the parameters of the cluster parameter group."""
        found = self.client().describe_db_cluster_parameters(DBClusterParameterGroupName="au-group")["Parameters"]
        return {entry["ParameterName"]: entry.get("ParameterValue") for entry in found}

    def set(self, name: str, value: str, group: str = "shop") -> None:
        """Set a parameter of a group, as its owner would."""
        entry = {"ParameterName": name, "ParameterValue": value, "ApplyMethod": "immediate"}
        self.client().modify_db_parameter_group(DBParameterGroupName=group, Parameters=[entry])

    def values(self, group: str = "shop") -> dict[str, str | None]:
        """Return the parameters that a group sets."""
        found = self.client().describe_db_parameters(DBParameterGroupName=group)["Parameters"]
        return {entry["ParameterName"]: entry.get("ParameterValue") for entry in found}

    # -- actions that moto does not support

    def describe_log_files(self, asked: dict[str, str]) -> dict[str, Any]:
        part = asked.get("FilenameContains", "")
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file() and part in path.name]
        return {
            "DescribeDBLogFiles": [
                {
                    "LogFileName": str(path.relative_to(self.folder)),
                    "LastWritten": path.stat().st_mtime_ns // 1_000_000,
                    "Size": path.stat().st_size,
                }
                for path in files
            ]
        }

    def portion(self, asked: dict[str, str]) -> dict[str, Any]:
        name = asked["LogFileName"]
        self.before_portion(name)
        path = self.folder / name
        if not path.is_file():
            raise FileNotFoundError(name)
        data = path.read_bytes()
        where, _, offset = asked.get("Marker", "0").rpartition("@")
        start = int(offset) if self.names_hold or where in ("", name) else 0
        block = b"".join(data[start:].splitlines(keepends=True)[: int(asked.get("NumberOfLines", "10000"))])
        text = block if len(block) <= self.largest else block[: self.largest] + CUT.encode()
        return {
            "LogFileData": text.decode(),
            "Marker": f"{name}@{start + len(block)}",
            "AdditionalDataPending": start + len(block) < len(data),
        }

    def parameters(self, kind: str, group: str) -> dict[str, Any]:
        """Return the engine's parameters merged with the values of moto's group."""
        set_here = self.group(kind, group).parameters
        return {
            "Parameters": [
                {
                    "ParameterName": name,
                    "ApplyType": "static" if name in self.static else "dynamic",
                    "IsModifiable": True,
                    **about,
                    **{key: value for key, value in set_here.get(name, {}).items() if key == "ParameterValue"},
                }
                for name, about in ({**ENGINE, **CLUSTER} if "Cluster" in kind else ENGINE).items()
            ]
        }

    def reset(self, kind: str, asked: dict[str, str]) -> dict[str, Any]:
        group = asked[f"{kind}Name"]
        assert asked.get("ResetAllParameters") == "false"  # the API default is true
        for key, name in asked.items():
            if re.fullmatch(r"Parameters\.\w+\.\d+\.ParameterName", key):
                self.group(kind, group).parameters.pop(name, None)
        return {f"{kind}Name": group}

    def group(self, kind: str, name: str) -> Any:
        from moto.backends import get_backend

        backend: Any = get_backend("rds")["123456789012"]["eu-west-1"]
        return (backend.db_parameter_groups if kind == "DBParameterGroup" else backend.db_cluster_parameter_groups)[
            name
        ]

    def answer(self, action: str, asked: dict[str, str]) -> dict[str, Any] | None:
        """Return the response to an action that moto does not support, or None for a moto action."""
        if self.status and action == "DescribeDBInstances":
            groups = [{"DBParameterGroupName": "shop", "ParameterApplyStatus": self.status}]
            return {"DBInstances": [{"DBInstanceIdentifier": "shop-1", "Engine": "mysql", "DBParameterGroups": groups}]}
        if action == "DescribeDBLogFiles":
            return self.describe_log_files(asked)
        if action == "DownloadDBLogFilePortion":
            return self.portion(asked)
        for kind in ("DBParameterGroup", "DBClusterParameterGroup"):
            if action == f"Reset{kind}":
                return self.reset(kind, asked)
            if action == f"Describe{kind.removesuffix('Group')}s":
                return self.parameters(kind, asked[f"{kind}Name"])
        return None


def rendered(shape: Any, value: Any) -> str:
    """Return a value as XML according to botocore's model."""
    if shape.type_name == "structure":
        return "".join(
            f"<{name}>{rendered(member, value[name])}</{name}>"
            for name, member in shape.members.items()
            if value.get(name) is not None
        )
    if shape.type_name == "list":
        name = shape.member.serialization.get("name", "member")
        return "".join(f"<{name}>{rendered(shape.member, each)}</{name}>" for each in value)
    if isinstance(value, bool):
        return str(value).lower()
    return escape(str(value), {"\r": "&#13;"})


class Front:
    """The WSGI application. It answers the actions that moto does not support and forwards all others to moto."""

    def __init__(self, aws: Aws) -> None:
        import botocore.session
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

        self.aws = aws
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.model = botocore.session.get_session().get_service_model("rds")

    def __call__(self, environ: dict[str, Any], start_response: Respond) -> Iterable[bytes]:
        import io

        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        form = b"form-urlencoded" in environ.get("CONTENT_TYPE", "").encode()
        asked = {key: values[0] for key, values in parse_qs(body.decode()).items()} if form else {}
        action = asked.get("Action", "")
        self.aws.asked.append(action)
        if action in self.aws.denied:
            return failed(start_response, "AccessDenied", "403 Forbidden")
        try:
            answer = self.aws.answer(action, asked) if action else None
        except FileNotFoundError:
            return failed(start_response, "DBLogFileNotFoundFault", "404 Not Found")
        except KeyError:
            return failed(start_response, "DBParameterGroupNotFound", "404 Not Found")
        if answer is None:
            given: Iterable[bytes] = self.moto(environ, start_response)
            return given
        shape = self.model.operation_model(action).output_shape
        text = f"<{action}Result>{rendered(shape, answer)}</{action}Result>"
        start_response("200 OK", [("Content-Type", "text/xml")])
        return [f'<{action}Response xmlns="{NAMESPACE}">{text}</{action}Response>'.encode()]


def failed(start_response: Respond, code: str, status: str) -> Iterable[bytes]:
    """Return an error in RDS format."""
    start_response(status, [("Content-Type", "text/xml")])
    text = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{code} here</Message></Error>"
    return [f'<ErrorResponse xmlns="{NAMESPACE}">{text}</ErrorResponse>'.encode()]


@contextmanager
def models_read_once() -> Iterator[None]:
    """Share the parsed service models between all botocore sessions. The RDS model has 1 MB of JSON."""
    from botocore.loaders import JSONFileLoader

    read = JSONFileLoader.load_file

    def load_file(loader: JSONFileLoader, path: str) -> Any:
        if path not in _models:
            _models[path] = read(loader, path)
        return _models[path]

    with mock.patch.object(JSONFileLoader, "load_file", load_file):
        yield


@contextmanager
def emulated_aws(folder: Path) -> Iterator[Aws]:
    """Yield an empty emulator that keeps its state in this process. Only one emulator may run at a time."""
    from moto.backends import get_backend
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log(self, type: str, message: str, *args: Any) -> None:
            """Suppress the request log."""

    for service in ("rds", "logs"):
        backends: Any = get_backend(service)
        backends.reset()
    aws = Aws(folder)
    (folder / NAME).parent.mkdir(parents=True)
    (folder / NAME).touch()
    server = make_server("127.0.0.1", 0, Front(aws), threaded=True, request_handler=Quiet)
    aws.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        with models_read_once():
            yield aws
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def entries(first: int, count: int, text: str = "SELECT %d") -> str:
    """Return slow log entries numbered from `first`, with timestamps 10 ms apart."""
    made = []
    for n in range(first, first + count):
        at = time.gmtime(1_795_000_000 + n // 100)
        made.append(
            f"# Time: {time.strftime('%Y-%m-%dT%H:%M:%S', at)}.{n % 100 * 10_000:06d}Z\n"
            f"# User@Host: app[app] @  [10.0.0.{n % 5}]  Id: {n % 5 + 10}\n"
            "# Query_time: 0.000010  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n"
            f"SET timestamp={1_795_000_000 + n // 100};\n{text % n};\n"
        )
    return "".join(made)


def audit_row(at_us: int, n: int, thread: int = 7, operation: str = "QUERY") -> str:
    """Return a row of the Aurora audit log."""
    text = f"'SELECT {n}'" if operation == "QUERY" else ""
    return f"{at_us},au-1,app,10.0.0.5,{thread},{n},{operation},shop,{text},0\n"


def write(aws: Aws, text: str, name: str = NAME) -> None:
    """Append to a log file."""
    with (aws.folder / name).open("a") as out:
        out.write(text)


def turn(aws: Aws, hour: str) -> None:
    """Rotate the log."""
    (aws.folder / NAME).rename(aws.folder / f"{NAME}.{hour}")
    (aws.folder / NAME).touch()
