# SPDX-License-Identifier: Apache-2.0
"""Detect logs that another program has wrapped, and suggest a command to unwrap them.

`docker compose logs`, `kubectl logs --prefix`, CloudWatch, journald and similar programs add a prefix to each line or
record. The parser would read a prefixed record as a part of the previous statement.
"""

import json
import re
import shlex
from bisect import bisect_right
from datetime import UTC, datetime
from pathlib import Path

from .sources.duck_rows import objects

TIME = rb"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # the byte order mark encoded in UTF-8
# A row of server_audit after the time of the row: serverhost,user,host,connection,query,OPERATION
AUDIT_ROW = (
    rb"[^ ,\n]*,[^,\n]*,[^,\n]*,\d+,\d+,(?:QUERY|CONNECT|DISCONNECT|FAILED_CONNECT|CHANGEUSER|PROXY_CONNECT|READ|WRITE"
    rb"|CREATE|ALTER|RENAME|DROP),"
)
# Equals the time formats in native/logs/server_audit.c.
AUDIT_TIME = (
    rb"(?:\d{14,16}|\d{4}[-/. ]?(?:\d\d|[A-Z][a-z]{2})[-/. ]*\d{1,2}[ T]?\d\d:?\d\d:?\d\d)"
    rb"(?:\.\d{1,9})?(?: ?(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?"
)
# Times of syslog and journald: `Mar 4 09:15:00`, or `2026-03-04T09:15:00Z` with a prefix of RFC 5424 or journald.
SYSLOG = re.compile(
    rb"^(?P<lead>(?:<\d+>)?(?:1 )?(?:[A-Z][a-z]{2} (?=\d{4}-))?)"
    rb"(?:[A-Z][a-z]{2} [ \d]\d (?P<year>)[\d:.]+|\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z| ?(?:UTC|GMT)| ?[+-][\d:]+)?)"
    rb" (?:[^ ,:\[\n]+ )?(?P<ident>[^ ,:\[\n]*)[^,\n]* " + AUDIT_ROW,
    re.MULTILINE,
)
JOURNAL = re.compile(rb'^\{[^\n]*"MESSAGE"\s*:\s*"[^"\n]*' + AUDIT_ROW, re.MULTILINE)
TIMELESS = re.compile(rb"^(?:[^,\n]* )?" + AUDIT_ROW, re.MULTILINE)
OTHER_TIME = re.compile(rb"^(?!" + AUDIT_TIME + rb",)[^\n]{1,80}," + AUDIT_ROW, re.MULTILINE)
# A prefix must not contain SQL quotes, because a statement may contain lines of a log.
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
    re.compile(
        rb"^(?P<prefix>[^\n'\"`;,]{1,300}?)(?<![\d:.+-])(?P<mark>)\d{8} \d\d:\d\d:\d\d," + AUDIT_ROW, re.MULTILINE
    ),
)
MOST_MATCHES = 64
# Literals and comments of SQL. A literal or comment without an end extends to the end of the text.
LITERAL = re.compile(
    rb"'(?:[^'\\]|\\.)*(?:'|\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\Z)|`[^`]*(?:`|\Z)|/\*.*?(?:\*/|\Z)|(?:--[ \t]|#)[^\n]*",
    re.DOTALL,
)
LOG_LINE = re.compile(
    rb"# (?:Time|User@Host|Query_time): (?:\d{6} |\d{4}-\d\d-|\d+\.|\w+\[)|"
    + TIME
    + rb"\t *\d+ (?:Connect|Query|Quit|Prepare)\b|\d{8} \d\d:\d\d:\d\d,"
    + AUDIT_ROW
)
# A line of a container log. P means that the next line continues the text.
KUBERNETES = re.compile(TIME + rb" (?:stdout|stderr) [FP](?::[^ \n]*)? ")
JOINED = r'{ends = $3 !~ /^P/; sub(/^[^ ]+ [^ ]+ [^ ]+ /, ""); printf "%s%s", $0, ends ? "\n" : ""}'
XML = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<AUDIT>")
CLOUDWATCH = re.compile(rb'\s*\{\s*"(?:events|searchedLogStreams)"\s*:')
AZURE = re.compile(rb'\s*\{\s*"records"\s*:\s*\[')


def unwrapping(name: str, head: bytes, known_at: int) -> str | None:
    """Return instructions to unwrap a file before its capture, or None if the file is not wrapped.

    `head`: the first bytes of the file. `known_at`: offset of the first mark of a source kind in `head`, or -1.
    """
    head = head.removeprefix(BYTE_ORDER_MARK)
    file = shlex.quote(f"./{name}" if name.startswith("-") else name)
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return (
            f"the text is UTF-16. Convert it with: iconv -f UTF-16 -t UTF-8 {file} > plain.log; then capture plain.log"
        )
    if XML.match(head):
        return "XML audit logs are not supported. Set audit_log_format = JSON on the server, and capture again"
    if CLOUDWATCH.match(head):
        return (
            "this is output of `aws logs`. Extract the log with:"
            f" jq -r '.events[].message' {file} > plain.log; then capture plain.log"
        )
    if AZURE.match(head):
        return (
            f"the log entries are inside `records`. Extract the entries with: jq -c '.records[]' {file} > plain.json;"
            " then capture plain.json"
        )
    found = _find_prefix(head)
    if found is not None and not 0 <= known_at < found[0]:
        prefix = found[1]
        if KUBERNETES.fullmatch(prefix):
            return (
                "Kubernetes added a prefix to each line and split long lines. Restore the log with:"
                f" awk '{JOINED}' {file} > plain.log; then capture plain.log"
            )
        return (
            f"another program added the prefix {prefix.decode('utf-8', 'backslashreplace')!r} to each record. Remove"
            " the"
            f" prefix with: sed -E 's/^{_shape(prefix)}//' {file} > plain.log; then capture plain.log"
        )
    return _json(file, head) or _audit(name, file, head) if known_at < 0 else None


def _find_prefix(head: bytes) -> tuple[int, bytes] | None:
    """Return the offset and the prefix of the first wrapped record. Return None if some records have no prefix.

    A literal may contain log records with another prefix or without a prefix. Each line of a wrapped log has the true
    prefix. If the log starts with a record, its first line has the true prefix. Records inside literals are then
    ignored.
    """
    matches = sorted((match for mark in MARKS for match in mark.finditer(head)), key=lambda match: match.start())
    if not matches:
        return None
    for match in sorted(matches[:MOST_MATCHES], key=lambda match: len(match["prefix"])):
        if _is_on_each_line(match["prefix"], head) and not _bare(match, head):
            return match.start(), match["prefix"]
    literals = [match.span() for match in LITERAL.finditer(head) if match[0][:1] in b"'\"`/"]
    starts = [start for start, _ in literals]

    def is_inside(place: int) -> bool:
        before = bisect_right(starts, place) - 1
        return before >= 0 and place < literals[before][1]

    if matches[0].start() == 0:
        own = all(is_inside(place) for place in _bare(matches[0], head))
        return (0, matches[0]["prefix"]) if own else None
    for mark in MARKS:
        of_mark = [match for match in matches if match.re is mark]
        if of_mark and not _bare(of_mark[0], head):
            first = next((match for match in of_mark if not is_inside(match.start())), of_mark[0])
            return first.start(), first["prefix"]
    return None


def _bare(match: re.Match[bytes], head: bytes) -> list[int]:
    """Return the offsets of the lines that start with the mark of this match and have no prefix."""
    mark = match["mark"] or TIME + rb"\t"
    return [found.start() for found in re.finditer(rb"^" + mark, head, re.MULTILINE)]


def _is_on_each_line(prefix: bytes, head: bytes) -> bool:
    """Return whether all lines start with such a prefix. The first and last line may be incomplete and are ignored."""
    shape = re.compile(_shape(prefix).encode())
    lines = head.split(b"\n")[1:-1]
    # Other programs may strip the last blank of a prefix from an empty line.
    return bool(lines) and all(shape.match(line) or shape.match(line + b" ") for line in lines)


def _json(file: str, head: bytes) -> str | None:
    """Return a command to extract a log from JSON objects, such as those of Docker, Loki and Fluentd."""
    for _, line in objects(head):
        try:
            found = _key(json.loads(line))
        except (ValueError, RecursionError):
            continue  # the object continues after `head`
        if found is not None:
            key, ends = found
            each = ".[]" if head.lstrip().startswith(b"[") else ""
            command = f"jq -{'j' if ends else 'r'} {shlex.quote(each + key)} {file}"
            return (
                f"the lines of the log are inside JSON objects. Extract the lines with: {command} > plain.log;"
                " then capture plain.log"
            )
    return None


def _key(value: object, path: str = "") -> tuple[str, bool] | None:
    """Return the jq path of a log line inside a JSON value, and whether the line ends with a newline."""
    if isinstance(value, str) and LOG_LINE.match(value.encode("utf-8", "replace")):
        return path, value.endswith("\n")
    for key, inner in value.items() if isinstance(value, dict) else ():
        plain = key.isidentifier() and key.isascii()
        if found := _key(inner, path + (f".{key}" if plain else f".{json.dumps(key)}")):
            return found
    return None


def _audit(name: str, file: str, head: bytes) -> str | None:
    """Return instructions for server_audit rows that start without a time or with an unknown time format."""
    if found := SYSLOG.search(head):
        if found["year"] is None:
            time, year, row, why = r"([0-9-]+[T ][0-9:.]+(Z| ?(UTC|GMT)| ?[+-][0-9:]+)?)", "", r"\4", ""
        else:
            path = Path(name)
            at = datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.is_file() else datetime.now(UTC)
            time, year, row = "([A-Z][a-z]+ [ 0-9][0-9] [0-9:.]+)", f"{at.year} ", r"\2"
            why = f" (the command adds the year {at.year}: first split a log that spans two years)"
        lead = re.sub(r"[A-Z][a-z]+", "[A-Z][a-z]+", _shape(found["lead"]))
        command = f"s/^{lead}{time} [^,]*{_shape(found['ident'])}[^,]* ([^ ,]*,)/{year}\\1,{row}/p"
        return (
            f"only the syslog prefix of these audit rows contains their times. Copy the times into the rows with:"
            f" sed -nE '{command}' {file} > plain.log; then capture plain.log{why}"
        )
    if JOURNAL.search(head) and b'"__REALTIME_TIMESTAMP"' in head:
        command = """.__REALTIME_TIMESTAMP + "," + (.MESSAGE | sub("^[^,]* "; ""))"""
        return (
            f"this is output of `journalctl -o json`. Extract the log with: jq -r '{command}' {file} > plain.log;"
            " then capture plain.log"
        )
    if TIMELESS.search(head):
        return "these audit rows have no times. Run `journalctl -o short-iso-precise` to print them with their times"
    if OTHER_TIME.search(head):
        return (
            "the times of these audit rows have an unknown format (expected year, month, day, hour, minute, second)."
            " Set server_audit_timestamp_format = '%Y%m%d %H:%i:%s.%f', and capture again"
        )
    return None


def _shape(prefix: bytes) -> str:
    """Return an extended regular expression that matches the prefix with any numbers and with additional blanks."""
    text = re.sub(r"([].[^$*+?(){}|\\/])", r"\\\1", prefix.decode("utf-8", "replace")).replace("'", ".")
    text = re.sub(r" +", " +", re.sub(r"\d+", "[0-9]+", text))
    return re.sub(r"[\x01-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", text)  # GNU sed reads \xNN as a byte
