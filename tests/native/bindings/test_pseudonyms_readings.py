# SPDX-License-Identifier: Apache-2.0
"""Pseudonyms under every sql_mode and character set. Every literal value of a statement must be replaced, even if
querytape does not know the session's mode.

The generated statements are complete in one reading and contain secrets only in values.
"""

import random
import re
from dataclasses import dataclass

import pytest

from .test_pseudonyms import counted, replaced

WIDE = {"narrow": b"\xc3\xa9", "gbk": b"\x95\x5c", "sjis": b"\x95\x5c", "big5": b"\xa5\x5c"}
MORE_WIDE = {"narrow": b"\xe4\xb8\xad", "gbk": b"\xd5\x60", "sjis": b"\x83\x5c", "big5": b"\xa4\x5c"}
STATEMENTS = 400


@dataclass
class Maker:
    """Generates statements for one reading: a setting of NO_BACKSLASH_ESCAPES, a setting of ANSI_QUOTES, and a
    character set.
    """

    chance: random.Random
    no_backslash: bool
    ansi: bool
    charset: str

    def __post_init__(self) -> None:
        self.secrets: list[bytes] = []

    def secret(self) -> bytes:
        """Return a unique secret value."""
        letters = bytes(self.chance.choice(b"bcdfghjklmnpqrstvwxz") for _ in range(9))
        self.secrets.append(letters)
        return letters

    def literal(self) -> bytes:
        """Return a literal that contains a secret and characters that are hard to parse."""
        quote = b"'" if self.ansi or self.chance.random() < 0.6 else b'"'
        other = b'"' if quote == b"'" else b"'"
        pieces = [quote * 2, other, b"/*", b"*/", b"-- ", b"#", b"`", b" ", b", ", WIDE[self.charset],
                  MORE_WIDE[self.charset], WIDE[self.charset] + b" ", b"%", b"="]  # fmt: skip
        if self.no_backslash:
            pieces += [b"\\", b"\\\\", b"C:\\", b"\\" + quote * 2]
        else:
            pieces += [b"\\\\", b"\\" + quote, b"\\'", b'\\"', b"\\n"]
        made = [self.chance.choice(pieces) for _ in range(self.chance.randrange(6))]
        made.insert(self.chance.randrange(len(made) + 1), self.secret())
        if self.no_backslash and self.chance.random() < 0.3:
            made.append(b"\\")
        return quote + b"".join(made) + quote

    def make(self) -> tuple[bytes, list[bytes]]:
        """Return a statement and its secrets."""
        self.secrets = []
        return self.statement(), self.secrets

    def statement(self) -> bytes:
        """Return a statement with several literals, comments and names."""
        name = b'"col"' if self.ansi and self.chance.random() < 0.5 else b"`col`"
        parts = [b"SELECT " + name, self.literal(), b"COUNT(*) FROM t WHERE a = 5"]
        for _ in range(self.chance.randrange(4)):
            parts.append(
                self.chance.choice(
                    [
                        b"AND b = " + self.literal(),
                        b"/* " + self.secret() + b" */",
                        b"AND c IN (" + self.literal() + b"," + self.literal() + b")",
                        b"-- " + self.secret() + b"\n",
                        b"/*!40101 AND d = " + self.literal().replace(b"*/", b"").replace(b"/*", b"") + b" */",
                    ]
                )
            )
        if self.chance.random() < 0.2:
            return b"SET sql_mode = " + self.literal()
        return b" ".join(parts)


@pytest.mark.parametrize("charset", list(WIDE))
@pytest.mark.parametrize("ansi", [False, True])
@pytest.mark.parametrize("no_backslash", [False, True])
def test_no_secret_remains_in_any_reading(no_backslash: bool, ansi: bool, charset: str) -> None:
    maker = Maker(random.Random(f"{no_backslash} {ansi} {charset}"), no_backslash, ansi, charset)
    kept = [maker.make() for _ in range(STATEMENTS)]
    found = replaced([statement for statement, _ in kept])
    for (statement, secrets), now in zip(kept, found, strict=True):
        if statement.startswith(b"SET"):
            continue  # settings are not replaced
        left = [secret for secret in secrets if secret in now]
        assert not left, (statement, now, left)


def test_unambiguous_statement_changes_only_in_its_values() -> None:
    """An unambiguous statement is not counted as ambiguous."""
    clear = [
        b"SELECT 'it\\'s', b FROM t WHERE c = 'that\\'s'",
        b'SELECT "a", "b\\"c" FROM t',
        "SELECT 'Müller', 'naïve\\n' FROM `größe`".encode(),
        b"INSERT INTO t VALUES ('x\\\\', 'y')",
    ]
    found, ambiguous = counted(clear)
    outside = [re.sub(rb"'(\\.|[^'])*'|\"(\\.|[^\"])*\"", b"?", text) for text in (*clear, *found)]
    assert outside[: len(clear)] == outside[len(clear) :]
    assert ambiguous == 0


def test_truncated_statement_keeps_no_value() -> None:
    """The log truncates a statement inside a literal. No word of that literal may remain in another reading."""
    (found,) = replaced([rb"INSERT INTO t VALUES ('a\'b', 'secrettext and more"])
    assert b"secrettext" not in found


HARD = ("O'Hara{}", "{} for key 'x", "a'{}'b", "{}", "'{}", "{}'", "{0} '{0}' {0}")
MESSAGES = (
    "Duplicate entry '{}' for key 'users.email'",
    "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right"
    " syntax to use near '{}' at line 1",
    "Data too long for column '{}' at row 12",
    "Table '{}' doesn't exist",
    "{}",
    "Incorrect datetime value: '{}' for column 'd' at row 100",
    "Access denied for user '{}'@'10.0.0.1' (using password: YES)",
)


@pytest.mark.parametrize("template", MESSAGES)
def test_no_value_remains_in_a_message(template: str) -> None:
    """Values may contain quotes, and messages may lack quotes. The fixed words of a server message are not replaced."""
    texts = [template.format(hard.format("zqkvbnmw")) for hard in HARD]
    found = [text.decode() for text in replaced([text.encode() for text in texts], "m")]
    assert not [text for text in found if "zqkvbnmw" in text or "Hara" in text]
    said = re.findall(r"\b(?:for key|at row 12|at row 100|doesn't exist|Access denied for user)\b", template)
    assert all(each in found[HARD.index("{}")] for each in said)
