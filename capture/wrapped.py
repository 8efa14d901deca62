# SPDX-License-Identifier: Apache-2.0
"""Recognise logs that another program has wrapped, and name the command that unwraps them.

Wrapped are logs from `docker compose logs`, `kubectl logs --prefix`, CloudWatch, journald and the like: each line or
each record has something in front of it. Read as they are, records would become part of the statement before them.
"""

import re
import shlex

TIME = rb"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # of UTF-8
# Quotes are of SQL: a statement may hold a log's text.
MARKS = (
    re.compile(
        rb"^(?P<prefix>[^#\n'\"`;][^\n'\"`;]{0,300}?)"
        rb"(?P<mark># (?:Time|User@Host|Query_time): )(?:\d{6} |\d{4}-\d\d-|\d+\.|\w+\[)",
        re.MULTILINE,
    ),
    re.compile(
        rb"^(?P<prefix>[^\n'\"`;]{1,300}?)(?<![\d:.+-])(?P<mark>)"
        + TIME
        + rb"\t *\d+ (?:Connect|Query|Quit|Prepare)\b",
        re.MULTILINE,
    ),
)
XML = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<AUDIT>")
CLOUDWATCH = re.compile(rb'\s*\{\s*"(?:events|searchedLogStreams)"\s*:')
CLOUD_SQL = re.compile(rb'\s*\[\s*\{.*"@type"\s*:\s*"type\.googleapis\.com/', re.DOTALL)


def unwrapping(name: str, head: bytes, known_at: int) -> str | None:
    """Return what to do with a file before it can be captured, None where nothing wraps it.

    `head`: its first bytes; `known_at`: where in them the first mark of a kind is, -1 = there is none.
    """
    head = head.removeprefix(BYTE_ORDER_MARK)
    file = shlex.quote(f"./{name}" if name.startswith("-") else name)
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"the text is UTF-16: iconv -f UTF-16 -t UTF-8 {file} > plain.log; then capture plain.log"
    if XML.match(head):
        return "audit logs in XML are not read: set audit_log_format = JSON on the server, and record again"
    if CLOUDWATCH.match(head):
        return (
            f"this is what `aws logs` prints: jq -r '.events[].message' {file} > plain.log takes the log out of it;"
            " then capture plain.log"
        )
    if CLOUD_SQL.match(head):
        return f"this is a JSON array: jq -c '.[]' {file} > plain.json writes one entry a line; then capture plain.json"
    for mark in MARKS:
        found = mark.search(head)
        if found is None or re.search(rb"^" + (found["mark"] or TIME + rb"\t"), head, re.MULTILINE):
            continue  # some are as the server wrote them
        if not 0 <= known_at < found.start():
            prefix = found["prefix"]
            return (
                f"each record begins with {prefix.decode('utf-8', 'backslashreplace')!r}, which is not the server's:"
                f" sed -E 's/^{_shape(prefix)}//' {file} > plain.log removes it; then capture plain.log"
            )
    return None


def _shape(prefix: bytes) -> str:
    """Return an extended regular expression for such a prefix: numbers and blanks may be others."""
    text = re.sub(r"([].[^$*+?(){}|\\/])", r"\\\1", prefix.decode("utf-8", "replace")).replace("'", ".")
    return re.sub(r" +", " +", re.sub(r"\d+", "[0-9]+", text))
