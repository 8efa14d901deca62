# SPDX-License-Identifier: Apache-2.0
"""Holds the kinds of source by name; a kind's module is imported when the kind is first asked for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .source import SourceKind


@dataclass(frozen=True)
class SourcePlace:
    """A source's module in sources/, and its short help: the first line of its help (a test holds the two equal)."""

    module: str
    short_help: str


class SourceTable(Mapping[str, "SourceKind"]):
    """Kinds by name, in the order in which an unnamed file is looked at."""

    def __init__(self, places: Mapping[str, SourcePlace]) -> None:
        self.places = dict(places)

    def __getitem__(self, name: str) -> "SourceKind":
        """Return a kind, imported now where it was not yet. Raises KeyError for an unknown name."""
        kind: SourceKind = import_module(f".sources.{self.places[name].module}", __package__).KIND
        return kind

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


# By the name that `querytape capture` knows, in the order in which a file whose kind was not given is tried.
SOURCES = SourceTable(
    {
        "packets": SourcePlace("packets", "Record the packets between clients and servers, from files or live."),
        "slowlog": SourcePlace("slowlog", "Record slow query logs (MySQL 5.7 to 9.x, MariaDB 10.x and 11.x)."),
        "general": SourcePlace("general_log", "Record general query logs (MySQL 5.7 to 9.x, MariaDB)."),
        "binlog": SourcePlace("binlog", "Record the writes of a binary log from the output of mysqlbinlog."),
        "audit": SourcePlace(
            "server_audit", "Record audit logs of MariaDB's server_audit plugin (also of RDS and Aurora MySQL)."
        ),
        "audit-json": SourcePlace(
            "audit_json",
            "Record JSON audit logs of audit_log (Percona) and audit_log_filter (Percona, MySQL Enterprise).",
        ),
        "proxysql": SourcePlace(
            "proxysql", "Record ProxySQL's events log in JSON (mysql-eventslog_format=2) or binary format (1)."
        ),
        "csv": SourcePlace("csv_file", "Record CSV files with a header line; options map the columns."),
    }
)
