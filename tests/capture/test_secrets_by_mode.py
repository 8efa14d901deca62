# SPDX-License-Identifier: Apache-2.0
"""Secrets never reach a tape, however a session reads literals. Tested are combinations of sql_mode, quotes, escapes
and character set.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.tools.pseudonymize import new_key, pseudonymize
from querytape.native.bindings.statements import Mode, Normalizer

from tests.helpers.dialogue import CLIENT, SERVER, Dialogue, ok, packet, write_pcap
from tests.helpers.duck import query

SECRET = b"zqkvbnmw"
# Multibyte characters whose last byte equals a backslash or a backquote.
WIDE = {"gbk": (b"\xbf\x5c", b"\x81\x60"), "big5": (b"\xa5\x5c", b"\xa6\x60"), "sjis": (b"\x83\x5c", b"\x83\x60")}
TEMPLATES = (
    b"CREATE USER {L} IDENTIFIED BY {S}",
    b"ALTER USER {N}@{L} IDENTIFIED BY {S}",
    b"SET PASSWORD FOR {L} = {S}",
    b"SET GLOBAL a = {L}, my_secret = {S}",
    b"SELECT {L}, SHA2({S}, 256)",
    b"SELECT {L}, {L} FROM {N} WHERE a = AES_ENCRYPT({L}, {S})",
    b"SELECT {L} /* password={B} */, {L} FROM {N}",
    b"SELECT {L} FROM {N} -- token: {B}",
    b"GRANT ALL ON {N}.* TO {L} IDENTIFIED BY {S}",
    b"CREATE SERVER {N} FOREIGN DATA WRAPPER mysql OPTIONS (HOST {L}, PASSWORD {S})",
)


Way = tuple[bool, bool, str]
Sessions = list[tuple[Way, list[bytes]]]


@dataclass
class Maker:
    """A generator of statements that are valid in one reading mode. In most other modes they have a different meaning."""

    chance: random.Random
    no_backslash: bool
    ansi: bool
    charset: str

    def inside(self, quote: bytes) -> bytes:
        """Return random content of a literal that is valid in this reading mode."""
        tricks = [quote * 2, b"x", b" -- ", b" /* ", b"#", b", ", b"(", b'"' if quote == b"'" else b"'"]
        if self.no_backslash:
            tricks += [b"\\"] * 3
        else:
            tricks += [b"\\" + quote, b"\\\\", b"\\n"] * 2
        if self.charset in WIDE:
            tricks += [WIDE[self.charset][0]] * 2 + [b"\xb0\xa1"]
        text = b"".join(self.chance.choices(tricks, k=self.chance.randrange(5)))
        if self.no_backslash and self.chance.random() < 0.5:
            text += b"\\"
        elif self.charset in WIDE and self.chance.random() < 0.5:
            text += WIDE[self.charset][0]
        return text

    def literal(self, secret: bytes = b"") -> bytes:
        """Return a literal in any quotes that the reading mode allows."""
        quote = b"'" if self.ansi or self.chance.random() < 0.6 else b'"'
        return quote + self.inside(quote) + secret + self.inside(quote) + quote

    def name(self) -> bytes:
        """Return a quoted name."""
        if self.ansi and self.chance.random() < 0.5:
            return b'"' + self.chance.choice([b"t", b"t\\", b"it's"]) + b'"'
        wide = WIDE[self.charset][1] if self.charset in WIDE else b""
        return b"`" + self.chance.choice([b"t", wide + b"t", b"t\\" if self.charset == "utf8mb4" else b"t"]) + b"`"

    def statement(self, template: bytes) -> bytes:
        """Return a statement with the secret."""
        text = template.replace(b"{B}", SECRET).replace(b"{S}", self.literal(SECRET))
        while b"{L}" in text:
            text = text.replace(b"{L}", self.literal(), 1)
        return text.replace(b"{N}", self.name())


def ways() -> Iterator[Way]:
    """Yield each reading mode."""
    return ((n, a, c) for n in (False, True) for a in (False, True) for c in ("utf8mb4", *WIDE))


def settings(no_backslash: bool, ansi: bool, charset: str) -> list[bytes]:
    """Return the SET statements of a session in this mode."""
    modes = ",".join([*["NO_BACKSLASH_ESCAPES"] * no_backslash, *["ANSI_QUOTES"] * ansi])
    return [f"SET SESSION sql_mode = '{modes}'".encode(), f"SET NAMES {charset}".encode()]


def packets(path: Path, told: bool, sessions: Sessions) -> list[str]:
    """Write the packets of the sessions. If `told`, the packets contain the SET statements. Otherwise, the capture
    joins after them.
    """
    dialogues = []
    for way, statements in sessions:
        dialogue = Dialogue().logged_in() if told else Dialogue()
        for statement in [*(settings(*way) if told else []), *statements]:
            dialogue.say(CLIENT, packet(0, b"\3" + statement)).say(SERVER, ok(1, status=2 | (512 if way[0] else 0)))
        dialogues.append(dialogue)
    return [str(write_pcap(path, dialogues))]


def general(path: Path, told: bool, sessions: Sessions) -> list[str]:
    """Write the general log of the sessions."""
    out = b"/usr/sbin/mysqld, Version: 8.0.31 (MySQL). started with:\nTime                 Id Command    Argument\n"
    for thread, (way, statements) in enumerate(sessions, 7):
        for text in [*(settings(*way) if told else []), *statements]:
            out += b"2026-11-22T07:00:00.000000Z\t   %d Query\t%b\n" % (thread, text)
    path.write_bytes(out)
    return [str(path)]


def slowlog(path: Path, told: bool, sessions: Sessions) -> list[str]:
    """Write the slow log of the sessions."""
    out = b""
    for thread, (way, statements) in enumerate(sessions, 7):
        for text in [*(settings(*way) if told else []), *statements]:
            out += (
                b"# Time: 2026-11-22T07:00:00.000000Z\n# User@Host: app[app] @  [10.0.0.1]  Id: %5d\n"
                b"# Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
                b"SET timestamp=1795330800;\n%b;\n" % (thread, text)
            )
    path.write_bytes(out)
    return [str(path)]


WRITERS = {"packets": packets, "general": general, "slowlog": slowlog}


def everything(tape: Path) -> bytes:
    """Return every value of every table of the tape, and tape.json."""
    out = b"".join(path.read_bytes() for path in tape.rglob("*.json"))
    for path in tape.rglob("*.parquet"):
        for row in query(f"SELECT * FROM '{path}'"):
            out += b"\n".join(value if isinstance(value, bytes) else str(value).encode() for value in row)
    return out


def capture(source: str, told: bool, sessions: Sessions, tmp_path: Path) -> Path:
    """Capture the sessions from a source of the given kind. Return the tape."""
    paths = WRITERS[source](tmp_path / "a.in", told, sessions)
    extra = {"port": (3306,)} if source == "packets" else {}
    capture_source(SOURCES[source], paths, tmp_path / "a.tape", Settings(extra=extra))
    return tmp_path / "a.tape"


@pytest.mark.parametrize("source", WRITERS)
@pytest.mark.parametrize("told", [True, False])
def test_secrets_are_not_on_the_tape(source: str, told: bool, tmp_path: Path) -> None:
    """The test checks statements, digests, problems and errors, with known and unknown sql_mode and character set."""
    sessions = []
    for way in ways():
        maker = Maker(random.Random(f"{source} {told} {way}"), *way)
        sessions.append((way, [maker.statement(template) for template in TEMPLATES * 6]))
    found = everything(capture(source, told, sessions, tmp_path))
    assert [found[max(0, at.start() - 100) :][:150] for at in re.finditer(SECRET, found)] == []


@pytest.mark.parametrize("source", ["packets", "general"])
def test_known_reading_mode_gives_exact_digests(source: str, tmp_path: Path) -> None:
    """Statements that differ only in their literals have one digest. Harmless statements have no flags."""
    sessions = []
    for way in ways():
        maker = Maker(random.Random(f"{way}"), *way)
        texts = [b"SELECT a FROM t WHERE b = " + maker.literal() + b" AND c = " + maker.literal() for _ in range(40)]
        sessions.append((way, texts + [b'SELECT a FROM "t" WHERE b = 1 AND c = 2'] * way[1]))
    tape = capture(source, True, sessions, tmp_path)
    digests = query(f"SELECT normalized, class, tables, events FROM '{tape}/digests.parquet'")
    flags = query(f"SELECT DISTINCT flags FROM '{tape}/events/*.parquet' WHERE hex(statement) LIKE '53454C%'")
    selects = [row for row in digests if row[0].startswith("select")]
    assert selects == [("select a from t where b = ? and c = ?", "read", ["t"], 16 * 40 + 8)]
    assert flags == [(0,)]


@pytest.mark.parametrize("told", [True, False])
def test_pseudonyms_replace_all_literals(told: bool, tmp_path: Path) -> None:
    """The sessions read literals in all ways. Their settings are known on some tapes and unknown on others."""
    sessions = []
    for way in ways():
        maker = Maker(random.Random(f"pseudonyms {told} {way}"), *way)
        texts = [b"SELECT " + maker.literal() + b", a FROM t WHERE b = " + maker.literal(SECRET) for _ in range(60)]
        sessions.append((way, texts))
    tape = capture("slowlog", told, sessions, tmp_path)
    pseudonymize(tape, tmp_path / "out.tape", new_key())
    assert SECRET not in everything(tmp_path / "out.tape")


SETS = (
    (b"SET sql_mode = ''", Mode(0, 0, 3)),
    (b"SET sql_mode = 'no_backslash_escapes,ansi'", Mode(3, 0, 3)),
    (b"SET @old = @@sql_mode, sql_mode = 'ANSI_QUOTES', NAMES sjis", Mode(2, 3, 7)),
    (b"/*!40101 SET @OLD=@@SQL_MODE, SQL_MODE='NO_BACKSLASH_ESCAPES' */", Mode(1, 0, 3)),
    (b"/*!80099 SET sql_mode = 'ANSI_QUOTES' */", Mode(2, 0, 0)),
    (b"SET @@session.sql_mode = 1048580", Mode(3, 0, 3)),
    (b"SET LOCAL sql_mode := ANSI", Mode(2, 0, 3)),
    (b"SET @@local.character_set_client = 28", Mode(0, 1, 4)),
    (b"SET character_set_client = big5, @a = 1", Mode(0, 2, 4)),
    (b"SET CHARACTER SET 'cp932'", Mode(0, 3, 4)),
    (b"SET NAMES utf8mb4 COLLATE utf8mb4_bin", Mode(0, 0, 4)),
    (b"set names gb18030; select 1", Mode(0, 1, 4)),
    (b"SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')", Mode(2, 0, 2)),
    (b"SET sql_mode = CONCAT('ANSI_QUOTES,', 'STRICT_TRANS_TABLES')", Mode(2, 0, 3)),
    (b"SET sql_mode = REPLACE(@@sql_mode, 'ANSI_QUOTES', '')", Mode()),
    (b"SET sql_mode = @old", Mode()),
    (b"SET sql_mode = DEFAULT", Mode()),
    (b"SET sql_mode = 'NEWER_MODE'", Mode()),
    (b"SET sql_mode = ?", Mode()),
    (b"SET NAMES DEFAULT", Mode()),
    (b"SET GLOBAL sql_mode = 'ANSI_QUOTES'", Mode()),
    (b"SET @@global.sql_mode = 'ANSI_QUOTES', @@global.character_set_client = gbk", Mode()),
    (b"SET @sql_mode = 'ANSI_QUOTES'", Mode()),
    (b"SET STATEMENT sql_mode = 'ANSI_QUOTES' FOR SELECT 1", Mode()),
    (b"CREATE PROCEDURE p() BEGIN SET sql_mode = 'ANSI_QUOTES'; END", Mode()),
    (b"SET @a = 'x\\', sql_mode = ''NO_BACKSLASH_ESCAPES''', sql_mode = ''", Mode()),
)


@pytest.mark.parametrize(("statement", "mode"), SETS)
def test_set_statements_change_the_reading_mode(statement: bytes, mode: Mode) -> None:
    """The reader follows a SET with a constant value. A SET with any other value makes the sql_mode unknown. A
    statement that may not have run changes nothing.
    """
    normalizer = Normalizer()
    assert normalizer.follow(Mode(), statement) == mode
    assert normalizer.follow(Mode(), statement, 0).known == 0
    assert normalizer.follow(Mode(3, 1, 7), statement, -1) in (Mode(3, 1, 7), Mode(3, 1, 0))


@pytest.mark.parametrize("between", [b";", b";;", b" ; ;/* x */; ", b"; SELECT ';';", b"; -- x\n ;"])
@pytest.mark.parametrize(("statement", "mode"), SETS[:8])
def test_each_set_of_a_multi_statement_counts(statement: bytes, mode: Mode, between: bytes) -> None:
    """The multi-statement has empty statements before, between and after the SETs."""
    normalizer = Normalizer()
    expected = normalizer.follow(mode, b"SET NAMES gbk")
    assert normalizer.follow(Mode(), between[:1] + statement + between + b"SET NAMES gbk" + between) == expected
    assert normalizer.follow(Mode(3, 1, 7), b";;" + statement + b";;", -1) in (Mode(3, 1, 7), Mode(3, 1, 0))
    assert normalizer.follow(Mode(3, 1, 7), b";SET NAMES gbk;", -1) == Mode(3, 1, 7)


@pytest.mark.parametrize(
    "statement", [b"EXECUTE s", b"EXECUTE IMMEDIATE 'x'", b"BEGIN NOT ATOMIC SET sql_mode = ''; END"]
)
def test_possible_set_in_a_block_makes_the_mode_unknown(statement: bytes) -> None:
    """The text of a prepared statement or a block may contain a SET."""
    assert Normalizer().follow(Mode(1, 1, 7), statement).known == 0
