# SPDX-License-Identifier: Apache-2.0
"""Compute fingerprints and query ids like Percona Toolkit 3.5, to join tapes with its query history.

The digests of querytape distinguish more statements (IS NULL, hints, ON DUPLICATE KEY) and are the default. This module
repeats each step of the Perl program on the bytes of a statement, including its oddities. It decodes statements as
latin1, one character per byte, like Perl without an encoding layer.
"""

import hashlib
import re

BACKSLASH_QUOTES = re.compile(r"\\[\"']")
DOUBLE_QUOTED = re.compile(r'([^\\])(".*?[^\\]?")', re.DOTALL)
SINGLE_QUOTED = re.compile(r"([^\\])('.*?[^\\]?')", re.DOTALL)
MYSQLDUMP = "SELECT /*!40001 SQL_NO_CACHE */ * FROM `"
OWN_TOOLS = re.compile(r"/\*\w+\.\w+:[0-9]/[0-9]\*/", re.ASCII)
CALL = re.compile(r"\A\s*(call\s+\S+)\(", re.IGNORECASE)
MULTI_INSERT = re.compile(r"\A((?:INSERT|REPLACE)(?: IGNORE)?\s+INTO.+?VALUES\s*\(.*?\))\s*,\s*\(", re.I | re.S)
COMMENT = re.compile(r"/\*[^!].*?\*/", re.DOTALL)
LINE_COMMENT = re.compile(r"(?:--|#)[^'\"\r\n]*(?=[\r\n]|\Z)")
USE = re.compile(r"\Ause \S+\Z", re.IGNORECASE)
BOOLEAN = re.compile(r"\b(?:true|false)\b", re.I | re.A)
NUMBER = re.compile(r"[0-9+-][0-9a-f.xb+-]*")
EMBEDDED = re.compile(r"\b[0-9+-][0-9a-f.xb+-]*", re.ASCII)
LEFTOVER = re.compile(r"[xb.+-]\?")
BLANKS = re.compile(r"[ \n\t\r\f]+")
NULL = re.compile(r"\bnull\b", re.ASCII)
LISTS = re.compile(r"\b(in|values?)(?:[\s,]*\([\s?,]*\))+", re.I | re.A)
UNION = re.compile(r"\b(select\s.*?)(?:(\sunion(?:\sall)?)\s\1)+", re.I | re.S | re.A)
LIMIT = re.compile(r"\blimit \?(?:, ?\?| offset \?)?", re.ASCII)
ORDER_BY = re.compile(r"\border by (.+?)(?=\Z)", re.I | re.S | re.A)
ASC = re.compile(r"\s+asc\b", re.I | re.A)


def pt_fingerprint(statement: bytes, keep_embedded_numbers: bool = False) -> bytes:
    """Return the fingerprint of a statement. `keep_embedded_numbers` has the effect of --preserve-embedded-numbers."""
    text = statement.decode("latin-1")
    if text.startswith(MYSQLDUMP):
        return b"mysqldump"
    if OWN_TOOLS.search(text):
        return b"percona-toolkit"
    if text.startswith("administrator command: "):
        return statement
    if match := CALL.match(text):
        return _lower(match[1]).encode("latin-1")
    if match := MULTI_INSERT.match(text):
        text = match[1]
    text = LINE_COMMENT.sub("", COMMENT.sub("", text))
    if USE.match(text):
        return b"use ?"
    text = BACKSLASH_QUOTES.sub("", text.replace("\\\\", ""))
    text = SINGLE_QUOTED.sub(r"\1?", DOUBLE_QUOTED.sub(r"\1?", text))
    text = BOOLEAN.sub("?", text)
    text = (EMBEDDED if keep_embedded_numbers else NUMBER).sub("?", text)
    text = LEFTOVER.sub("?", text)
    text = text.lstrip(" \t\n\r\f\v").removesuffix("\n")
    text = NULL.sub("?", _lower(BLANKS.sub(" ", text)))
    text = LISTS.sub(r"\1(?+)", text)
    if " union" in text:
        text = UNION.sub(r"\1 /*repeat\2*/", text)
    text = LIMIT.sub("limit ?", text, count=1)
    text = ORDER_BY.sub(lambda match: ASC.sub("", match[0]), text)
    return text.encode("latin-1")


def _lower(text: str) -> str:
    """Convert ASCII letters to lower case. Other letters stay unchanged, as in Perl without a locale."""
    return text.encode("latin-1").lower().decode("latin-1")


def pt_id(fingerprint: bytes) -> str:
    """Return the query id of a fingerprint: 32 upper-case hexadecimal digits.

    Percona Toolkit before 3.0.11 prints only the last 16 digits.
    """
    return hashlib.md5(fingerprint, usedforsecurity=False).hexdigest().upper()
