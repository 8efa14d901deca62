# SPDX-License-Identifier: Apache-2.0
"""The lint rules on real servers: each example fails or changes on the rule's target versions, but not on its source
versions.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace

import pymysql
import pytest
from querytape.analyze.lint.rules import (
    EFFECTS,
    FAMILIES,
    Rule,
    Version,
    VersionError,
    all_rules,
    applicable,
    parse_version,
    reserved_since,
    sorts_groups,
    tape_version,
    words,
)
from querytape.servers.programs import find_program
from querytape.servers.sandbox import Server, start_server

from tests.conftest import skip_loudly

RULES = list(all_rules())
KINDS = ("mysql-5.7", "mysql-8.0", "mysql-9", "mariadb", "mariadb-11.8")
TABLE = (
    "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), d DATE, dt DATETIME, j {json}, g GEOMETRY, KEY (a))",
    "INSERT INTO t (id, a, b, d, j) VALUES (1, 5, 'x', '2020-01-01', '{{\"a\": 1}}'), (2, 3, 'y', '2020-01-02', '[1]'),"
    " (3, 5, 'z', '2020-01-03', '{{}}')",
)
DEPRECATED = (1287, 1681, 3719, 3778)


def test_versions_are_parsed_in_the_formats_of_users_and_servers() -> None:
    assert parse_version("mysql-9.x").numbers > parse_version("MySQL-9.7").numbers > parse_version("mysql-8.4").numbers
    assert str(parse_version("mysql-9")) == "mysql-9.x"
    assert tape_version("5.5.5-10.11.6-MariaDB-log") == Version("mariadb", (10, 11, 6))
    assert tape_version("8.0.36-28") == Version("mysql", (8, 0, 36))
    assert tape_version("unknown") is tape_version(None) is None
    for text in ("mysql", "mysql-", "postgres-16", "mysql-8.4; DROP", "8.4", ""):
        with pytest.raises(VersionError):
            parse_version(text)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("mysql-8.4", None),
        ("mysql-9.7", None),
        ("mysql-9.7.4", None),
        ("mysql-9.x", None),
        ("mysql-10.0", "mysql-9.7"),
        ("mysql-26.7", "mysql-9.7"),
        ("mysql-26.10.1", "mysql-9.7"),
        ("mysql-26.x", "mysql-9.7"),
        ("mariadb-11.8", None),
        ("mariadb-11.x", None),
        ("mariadb-12.0", "mariadb-11.8"),
        ("mariadb-13.1", "mariadb-11.8"),
    ],
)
def test_unknown_version_uses_newest_known_version_of_its_family(text: str, known: str | None) -> None:
    found = parse_version(text).known
    assert (None if found is None else str(found)) == known


def test_calendar_versions_are_newer() -> None:
    """MySQL 26.7 is newer than 9.7, and 26.10 is newer than 26.7. Server version strings are compared in the same way."""
    texts = ["mysql-9.7", "mysql-26.7", "mysql-26.10", "mysql-27.1"]
    assert sorted(texts, key=lambda text: parse_version(text).numbers) == texts
    assert tape_version("26.7.0") == Version("mysql", (26, 7, 0))
    assert "function-password" in names("mysql-5.7", "mysql-26.7")


def test_mariadb_and_mysql_before_8_0_sort_groups() -> None:
    texts = ("mysql-5.7", "mysql-8.0", "mysql-9.x", "mariadb-10.11", "mariadb-11.8")
    assert [sorts_groups(parse_version(text)) for text in texts] == [True, False, False, True, True]


def test_each_rule_is_complete_unique_and_compiles() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES) > 200
    for rule in RULES:
        assert rule.effect in EFFECTS, rule.name
        assert rule.where in ("text", "call", "value", "prepared"), rule.name
        assert rule.to in FAMILIES, rule.name
        assert rule.source in ("any", *FAMILIES), rule.name
        assert rule.advice.endswith((".", ")")), rule.name
        assert rule.manual, rule.name
        re.compile(rule.regex())
        re.compile(rule.unless)
    for word in words():
        assert word["mysql"] or word["mariadb"]
        re.compile(word["unless"])


def names(source: str | None, target: str) -> set[str]:
    """Return the names of the rules for an upgrade from one version to another."""
    start = None if source is None else parse_version(source)
    return {rule.name for rule in applicable(start, parse_version(target))}


def test_rule_applies_only_if_source_accepts_the_statement() -> None:
    assert "function-password" in names("mysql-5.7", "mysql-8.0")
    assert "function-password" not in names("mysql-8.0", "mysql-9.x")
    assert "reserved-word-rank" in names("mysql-5.7", "mysql-8.4")
    assert "reserved-word-rank" not in names("mysql-8.0", "mysql-9.x")
    assert "sql-calc-found-rows" in names("mysql-8.0", "mysql-9.x")
    assert "returning" in names("mariadb-11.8", "mysql-8.4")
    assert "returning" not in names("mysql-5.7", "mysql-8.4")
    assert "utf8mb4-0900" in names("mysql-8.0", "mariadb-10.11")
    assert "utf8mb4-0900" not in names("mysql-8.0", "mariadb-11.8")
    assert "reserved-word-offset" in names("mysql-8.0", "mariadb-10.11")
    assert {"returning", "function-password"} <= names(None, "mysql-8.0")


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[dict[str, Server]]:
    """Start one server of each version that is installed on this machine."""
    with ExitStack() as stack:
        found = {kind: stack.enter_context(start_server(kind)) for kind in KINDS if find_program(kind)}
        if len(found) < 2:
            skip_loudly(request, "the rules of lint: there are no two servers on this machine (make servers)")
        yield found


def version(server: Server) -> Version:
    """Return the version of the server's program. Its release may reserve more words than an earlier release of its
    series.
    """
    family = "MariaDB" if server.program.family == "mariadb" else ""
    found = tape_version(f"{server.program.version}-{family}")
    assert found is not None, server.program.version
    return found


class Trial:
    """A connection that runs examples, each on a table in its original state."""

    def __init__(self, server: Server, kind: str) -> None:
        self.server, self.kind, self.changed = server, kind, True
        self.con = server.connect()

    def outcome(self, text: str, prepared: bool = False) -> tuple[str, object]:
        """Return `error` with its number, or `ok` with the returned rows and the deprecation warnings."""
        if self.changed:
            self._fill()
        self.changed = not prepared and not text.upper().startswith(("SELECT", "SHOW", "SET "))
        try:
            return self._try(text, prepared)
        except pymysql.MySQLError as error:
            self.changed = False
            return "error", error.args[0]
        finally:
            with suppress(pymysql.MySQLError):
                self.con.cursor().execute("SET SESSION sql_mode = DEFAULT")

    def _try(self, text: str, prepared: bool) -> tuple[str, object]:
        with self.con.cursor() as cursor:
            if prepared:
                cursor.execute("PREPARE q FROM '" + text.replace("'", "''") + "'")
                return "ok", None
            cursor.execute(text)
            rows = cursor.fetchall()
            cursor.execute("SHOW WARNINGS")
            return "ok", (rows, sorted({row[1] for row in cursor.fetchall() if row[1] in DEPRECATED}))

    def _fill(self) -> None:
        self.con.close()
        self.con = self.server.connect()
        with self.con.cursor() as cursor:
            for user in ("lint_u", "lint_n", "lint_c"):
                with suppress(pymysql.MySQLError):
                    cursor.execute(f"DROP USER {user}@localhost")
            cursor.execute("DROP DATABASE IF EXISTS lint")
            cursor.execute("CREATE DATABASE lint")
            cursor.execute("USE lint")
            for text in TABLE:
                cursor.execute(text.format(json="JSON" if self.kind.startswith("mysql") else "LONGTEXT"))
            self.con.commit()


def is_source(rule: Rule, version: Version) -> bool:
    """Return whether a rule applies to traffic from this version."""
    if rule.source not in ("any", version.family):
        return False
    return version.family != rule.to or version.numbers < rule.since or rule.effect == "deprecated"


@pytest.mark.long
@pytest.mark.server
def test_each_example_on_the_servers(servers: dict[str, Server]) -> None:
    """On the target versions of its rule, each example fails, changes its result or raises a warning. On a source
    version it does not.
    """
    trials = {kind: Trial(server, kind) for kind, server in servers.items()}
    versions = {kind: version(server) for kind, server in servers.items()}
    wrong = []
    for rule in RULES:
        seen = {kind: trial.outcome(rule.example, rule.where == "prepared") for kind, trial in trials.items()}
        targets = [kind for kind in seen if applies(rule, versions[kind])]
        sources = [kind for kind in seen if is_source(rule, versions[kind])]
        for kind in targets:
            what, more = seen[kind]
            if rule.effect == "fails" and what == "ok":
                wrong.append(f"{rule.name}: works on {kind}")
            if rule.effect == "deprecated" and (what != "ok" or not more[1]):  # type: ignore[index]
                wrong.append(f"{rule.name}: no warning on {kind}: {more}")
            others = [seen[source] for source in sources if source != kind]
            if rule.effect != "deprecated" and others and all(other == seen[kind] for other in others):
                wrong.append(f"{rule.name}: the same on {kind} as before: {seen[kind]}")
    for trial in trials.values():
        trial.con.close()
    assert wrong == []


def applies(rule: Rule, version: Version) -> bool:
    """Return whether a rule applies to traffic to this version."""
    return (
        version.family == rule.to
        and version.numbers >= rule.since
        and (rule.until is None or version.numbers < rule.until)
    )


@pytest.mark.long
@pytest.mark.server
def test_each_reserved_word_on_the_servers(servers: dict[str, Server]) -> None:
    """A reserved word as a column name fails with error 1064 on exactly the versions that the word list names."""
    wrong = []
    for kind, server in servers.items():
        trial = Trial(server, kind)
        for word in words():
            name = word["word"]
            outcome = trial.outcome(f"SELECT {name} FROM (SELECT 1 AS `{name}`) AS t0")
            if name == "current_role" and kind.startswith("mariadb"):
                outcome = trial.outcome(f"SELECT 1 FROM (SELECT 1 AS y) AS {name}")  # a function without parentheses
            if (outcome[0] == "error") != reserved_since(word, version(server)):
                wrong.append(f"{name} on {kind}: {outcome}")
        trial.con.close()
    assert wrong == []


@pytest.mark.long
@pytest.mark.server
def test_no_reserved_word_of_a_newer_server_is_missing(servers: dict[str, Server]) -> None:
    """The word list contains each word that MySQL 9 reserves and 8.0 does not, according to information_schema."""
    found = {}
    for kind in ("mysql-8.0", "mysql-9"):
        if kind not in servers:
            return
        with servers[kind].connect() as con, con.cursor() as cursor:
            cursor.execute("SELECT lower(WORD) FROM information_schema.KEYWORDS WHERE RESERVED")
            found[kind] = {str(row[0]) for row in cursor.fetchall()}
    listed = {word["word"] for word in words() if word["mysql"] not in ("", "5.7", "8.0")}
    assert found["mysql-9"] - found["mysql-8.0"] == listed


def test_call_rule_matches_its_name_literally() -> None:
    """The name of a call in a lint rule is not a regular expression."""
    rule = replace(RULES[0], where="call", pattern="a.b")
    assert re.search(rule.regex(), "axb(") is None
