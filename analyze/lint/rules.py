# SPDX-License-Identifier: Apache-2.0
"""Read the rules of `querytape lint`, and choose those that apply to the step from one version to another."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from ...common.errors import QuerytapeError
from ..cause_table import gone_modes, of_error

FAMILIES = ("mysql", "mariadb")
EFFECTS = ("fails", "changes", "deprecated")
NEWEST = 999  # value of a missing version number: mysql-9 means the newest 9.x
# Newest versions that the rules cover, by test or by manual. The MySQL release after 9.7 is 26.7.
KNOWN = {"mysql": (9, 7), "mariadb": (11, 8)}

# Characters before and after a separate name. They exclude parts of other names, columns after a table, and variables.
BEFORE = r"(^|[^\w.@$\\])"
AFTER = r"($|[^\w$])"
WORDS_MANUAL = {
    "mysql": "MySQL, 11.3 Keywords and Reserved Words",
    "mariadb": "MariaDB Server documentation, Reserved Words",
}


class VersionError(QuerytapeError):
    """A text that is not a version, or a version of an unsupported family."""


@dataclass(frozen=True)
class Version:
    """A server's family and the numbers of its version."""

    family: str
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        """Return the version in the form of the command line."""
        return f"{self.family}-{'.'.join('x' if number == NEWEST else str(number) for number in self.numbers)}"

    @property
    def known(self) -> "Version | None":
        """Return the newest version that the rules cover if this version is newer, else None."""
        newest = KNOWN[self.family]
        is_known = self.numbers[:2] <= newest or self.numbers[:2] == (newest[0], NEWEST)
        return None if is_known else Version(self.family, newest)


@dataclass(frozen=True)
class Rule:
    """One line of rules.tsv, or one reserved word.

    `where` is the searched text. `text` and `call`: the statement without its strings and comments. `call` is used for
    function names. `value`: every whole statement. `prepared`: the text of prepared statements. Text that matches
    `unless` is ignored.
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
        """Return the regular expression (RE2) to search for in lower-case text."""
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
    """Read the version string of a server (`10.11.6-MariaDB-log`, `8.0.31`).

    Returns None if the text has no version.
    """
    match = re.search(r"(?:5\.5\.5-)?(\d+)\.(\d+)\.(\d+)", said or "")
    if match is None:
        return None
    family = "mariadb" if "mariadb" in (said or "").lower() else "mysql"
    return Version(family, tuple(int(part) for part in match.groups()))


def sorts_groups(version: Version) -> bool:
    """Return whether GROUP BY also sorts: always in MariaDB, before 8.0 in MySQL."""
    return version.family == "mariadb" or version.numbers < (8,)


def applicable(source: Version | None, target: Version) -> list[Rule]:
    """Return the rules for the step from `source` (None: unknown) to `target`.

    Rules that the source version already applies are left out, because statements of the source cannot break them.
    Deprecations are always included.
    """
    found = [rule for rule in all_rules() if _is_reached(rule, target) and _may_be_used(rule, source, target)]
    return found + list(_words(source, target))


def all_rules() -> Iterator[Rule]:
    """Yield every line of rules.tsv, and a rule for each SQL mode that the table of causes marks as removed."""
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
    """Return, as a sentence, the remedy that the table of causes lists for an error number."""
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
        advice=f"MySQL 8.0 removed the SQL mode {mode}. Remove {mode} from sql_mode.",
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
    """Return whether a version reserves the word of a line of reserved_words.tsv."""
    since = word[version.family]
    return bool(since) and version.numbers >= _numbers(since)


def words() -> list[dict[str, str]]:
    """Return every line of reserved_words.tsv."""
    return list(_lines("reserved_words.tsv"))


def _words(source: Version | None, target: Version) -> Iterator[Rule]:
    """Yield a rule for each word that the target reserves but the source does not reserve."""
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
