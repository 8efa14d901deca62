# SPDX-License-Identifier: Apache-2.0
"""Read the rules of `querytape lint`, and choose those that matter on the way from one version to another."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from ...common.errors import QuerytapeError
from ..cause_table import gone_modes, of_error

FAMILIES = ("mysql", "mariadb")
EFFECTS = ("fails", "changes", "deprecated")
NEWEST = 999  # of a version's number that is left out: mysql-9 is the newest 9
# The newest that rules were tried on, or read of in the manuals. MySQL's next release after 9.7 is 26.7.
KNOWN = {"mysql": (9, 7), "mariadb": (11, 8)}

# What stands around a name on its own: it is no part of another name, no column behind its table, no variable.
BEFORE = r"(^|[^\w.@$\\])"
AFTER = r"($|[^\w$])"
WORDS_MANUAL = {
    "mysql": "MySQL, 11.3 Keywords and Reserved Words",
    "mariadb": "MariaDB Server documentation, Reserved Words",
}


class VersionError(QuerytapeError):
    """A version that is none, or of no family that there are rules for."""


@dataclass(frozen=True)
class Version:
    """A server's family, and its version's numbers."""

    family: str
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        """Write it as on the command line."""
        return f"{self.family}-{'.'.join('x' if number == NEWEST else str(number) for number in self.numbers)}"

    @property
    def known(self) -> "Version | None":
        """The newest version of the family that the rules know, where this one is newer; else None."""
        newest = KNOWN[self.family]
        is_known = self.numbers[:2] <= newest or self.numbers[:2] == (newest[0], NEWEST)
        return None if is_known else Version(self.family, newest)


@dataclass(frozen=True)
class Rule:
    """One line of rules.tsv, or one reserved word.

    `where`: `text` is looked for in the statement without its strings and comments, `call` is a function's name,
    `value` is looked for in every whole statement, `prepared` in the text of prepared statements. What `unless` finds
    does not count.
    """

    name: str
    to: str
    since: tuple[int, ...]
    until: tuple[int, ...] | None
    source: str
    effect: str
    where: str
    pattern: str
    unless: str
    example: str
    advice: str
    manual: str

    def regex(self) -> str:
        """Return the regular expression (RE2) that is looked for in lower-case text."""
        if self.where == "call":
            return rf"{BEFORE}{re.escape(self.pattern)}\s*\("
        return self.pattern


def parse_version(text: str) -> Version:
    """Read `mysql-8.4`, `mysql-9.x` or `mariadb-11.8`. Raises VersionError."""
    match = re.fullmatch(r"(mysql|mariadb)-(\d+)(?:\.(\d+|x))?(?:\.(\d+|x))?", text.strip().lower())
    if match is None:
        raise VersionError(f"invalid version {text!r}: expected mysql-8.4, mysql-9.x or mariadb-11.8")
    numbers = [NEWEST if part in (None, "x") else int(part) for part in match.groups()[1:]]
    return Version(match[1], tuple(numbers[:2] if match[4] is None else numbers))


def tape_version(said: str | None) -> Version | None:
    """Read the version that a server said of itself (`10.11.6-MariaDB-log`, `8.0.31`); None where it is none."""
    match = re.search(r"(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)", said or "")
    if match is None:
        return None
    family = "mariadb" if "mariadb" in (said or "").lower() else "mysql"
    return Version(family, tuple(int(part) for part in match.groups()))


def sorts_groups(version: Version) -> bool:
    """Whether GROUP BY also sorts: MariaDB's does, MySQL's did before 8.0."""
    return version.family == "mariadb" or version.numbers < (8,)


def applicable(source: Version | None, target: Version) -> list[Rule]:
    """Return the rules for the way from `source` (None: unknown) to `target`.

    What the source already refused cannot have been used there: such rules are left out, but not what is deprecated.
    """
    found = [rule for rule in all_rules() if _is_reached(rule, target) and _may_be_used(rule, source, target)]
    return found + list(_words(source, target))


def all_rules() -> Iterator[Rule]:
    """Return every line of rules.tsv, and a rule for each mode that the table of causes has as gone."""
    yield from map(_mode_rule, sorted(gone_modes()))
    for row in _lines("rules.tsv"):
        yield Rule(
            name=row["rule"],
            to=row["to"],
            since=_numbers(row["since"]),
            until=_numbers(row["until"]) if row["until"] else None,
            source=row["from"],
            effect=row["effect"],
            where=row["where"],
            pattern=row["pattern"],
            unless=row["unless"],
            example=row["example"],
            advice=re.sub(r"\{(\d+)\}", _remedy, row["advice"]),
            manual=row["manual"],
        )


def _remedy(number: re.Match[str]) -> str:
    """Return what the table of causes tells to do about an error number, as a sentence."""
    line = of_error(int(number[1]))
    assert line is not None
    return f"{line.remedy[:1].upper()}{line.remedy[1:]}"


def _mode_rule(mode: str) -> Rule:
    return Rule(
        name=f"sql-mode-{mode.lower().replace('_', '-')}",
        to="mysql",
        since=(8, 0),
        until=None,
        source="any",
        effect="fails",
        where="value",
        pattern=rf"\bsql_mode\b[^;]*\b{mode.lower()}\b",
        unless="",
        example=f"SET SESSION sql_mode = '{mode}'",
        advice=f"MySQL 8.0 removed the SQL mode {mode}. Remove it from sql_mode.",
        manual="MySQL 8.0, 1.3 What Is New in MySQL 8.0: Features Removed",
    )


def _is_reached(rule: Rule, target: Version) -> bool:
    return (
        rule.to == target.family
        and target.numbers >= rule.since
        and (rule.until is None or target.numbers < rule.until)
    )


def _may_be_used(rule: Rule, source: Version | None, target: Version) -> bool:
    if source is None:
        return True
    if source.family == target.family:
        return rule.source in ("any", source.family) and (rule.effect == "deprecated" or source.numbers < rule.since)
    return rule.source in ("any", source.family)


def reserved_since(word: dict[str, str], version: Version) -> bool:
    """Whether a line of reserved_words.tsv is reserved in a version."""
    since = word[version.family]
    return bool(since) and version.numbers >= _numbers(since)


def words() -> list[dict[str, str]]:
    """Return every line of reserved_words.tsv."""
    return list(_lines("reserved_words.tsv"))


def _words(source: Version | None, target: Version) -> Iterator[Rule]:
    """Return a rule for each word that the target reserves and the source does not."""
    for word in words():
        if not reserved_since(word, target) or (source is not None and reserved_since(word, source)):
            continue
        name = word["word"]
        yield Rule(
            name=f"reserved-word-{name.replace('_', '-')}",
            to=target.family,
            since=_numbers(word[target.family]),
            until=None,
            source="any",
            effect="fails",
            where="text",
            pattern=f"{BEFORE}{name}{AFTER}",
            unless=word["unless"],
            example=f"SELECT {name} FROM (SELECT 1 AS `{name}`) AS t0",
            advice=f"{name.upper()} is a reserved word. Quote the name: `{name}`.",
            manual=WORDS_MANUAL[target.family],
        )


def _lines(name: str) -> Iterator[dict[str, str]]:
    text = files(__package__).joinpath(name).read_text()
    yield from csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
