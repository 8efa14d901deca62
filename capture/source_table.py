# SPDX-License-Identifier: Apache-2.0
"""Map names to source kinds. The module of a kind is imported at its first use."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .source import SourceKind


@dataclass(frozen=True)
class SourcePlace:
    """The module of a source in `sources/`, and the short help of the source.

    The short help equals the first line of the full help. A test compares the two texts.
    """

    module: str
    short_help: str


class SourceTable(Mapping[str, "SourceKind"]):
    """Source kinds by name, in the order in which file detection tries them."""

    def __init__(self, places: Mapping[str, SourcePlace]) -> None:
        self.places = dict(places)

    def __getitem__(self, name: str) -> "SourceKind":
        """Return a source kind. Imports its module at the first use. Raises KeyError if the name is unknown."""
        kind: SourceKind = import_module(f".sources.{self.places[name].module}", __package__).KIND
        return kind

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


# Keys are the names of `querytape capture`. File detection tries the kinds in this order.
SOURCES = SourceTable(
    {
        "packets": SourcePlace("packets", "Record the packets between clients and servers, from files or live."),
        "slowlog": SourcePlace("slowlog", "Record slow query logs (MySQL 5.7 to 9.x, MariaDB 10.x and 11.x)."),
        "general": SourcePlace("general_log", "Record general query logs (MySQL 5.7 to 9.x, MariaDB)."),
        "binlog": SourcePlace("binlog", "Record the writes of a binary log from the output of mysqlbinlog."),
        "audit": SourcePlace(
            "server_audit", "Record audit logs of the server_audit plugin (MariaDB, RDS, Aurora MySQL)."
        ),
        "audit-json": SourcePlace(
            "audit_json",
            "Record JSON audit logs of audit_log (Percona) and audit_log_filter (Percona, MySQL Enterprise).",
        ),
        "proxysql": SourcePlace(
            "proxysql", "Record ProxySQL's events log in binary or JSON format (mysql-eventslog_format=1 or 2)."
        ),
        "csv": SourcePlace("csv_file", "Record CSV files that have a header line."),
    }
)
