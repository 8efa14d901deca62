# SPDX-License-Identifier: Apache-2.0
"""Check what the JSON file of a tape or run says, before anything is done with it: docs/format.md as types.

A shape is the name of a type ("?" behind it: or null), {key: shape} for an object, {"*": shape} for an object with any
keys, [shape] for a list. Keys that a shape does not name may hold anything; keys that it names may be missing.
"""

import json
from pathlib import Path
from typing import Any

from ..common.errors import FolderError
from ..common.files import open_regular

MAX_BYTES = 256 << 20
MAX_TIMES = 1_000_000  # files that had one name
MAX_INT = 1 << 63

FILES = [
    {"file": "text", "rows": "count", "bytes": "count", "sha256": "text?", "first_ns": "time?", "last_ns": "time?"}
]
SERVER = {
    "?": True,
    "name": "text?",
    "host": "text?",
    "port": "int?",
    "socket": "text?",
    "user": "text?",
    "db": "text?",
    "version": "text?",
    "version_comment": "text?",
    "variables": {"?": True, "*": "text?"},
    "identity": "any",
    "time_zone": "text?",
}
FOLLOWED = {
    "?": True,
    "tape": "text",
    "begun_last_ns": "time",
    "begun_events": "count",
    "last_ns": "time?",
    "events": "count",
    "lost": "count",
    "ended": "text?",
}
ASKED = {"digests": "count", "events": "count", "tape_ns": "count"}
SHAPES: dict[str, dict[str, Any]] = {
    "tape": {
        "format_version": "int",
        "finished": "bool",
        "created": "text?",
        "source": "text?",
        "measuring_point": "text?",
        "files": [{"path": "text", "bytes": "count?", "sha256": "text?", "xxh3": "text?", "times": "few?"}],
        "parts": FILES,
        "tables": FILES,
        "counts": {"events": "count", "sessions": "count", "digests": "count", "problems": "count"},
        "first_ns": "time?",
        "last_ns": "time?",
        "precision_ns": "count?",
        "server_version": "text?",
        "log_timezone_ns": "time?",
        "input": {"?": True},
        "problems": {"*": "count"},
        "pseudonymized": "bool?",
        "carried": "count?",
        "open_sessions": {
            "?": True,
            **dict.fromkeys(("sessions", "found", "carried", "prepared"), "count"),
            "asked": "text",
            "not_restored": {"*": "count"},
            "not_shown": ["text"],
        },
        "snapshot_of": "text?",
        "published": {
            "?": True,
            "at": "text?",
            "part_every_ns": "count?",
            "last_ns": "time?",
            "events": "count",
            "bytes_read": "count",
            "file": "text?",
            "file_bytes": "count?",
        },
        "followed": FOLLOWED,
        "dropped": {
            "?": True,
            "parts": "count",
            "events": "count",
            "problems": "count",
            "before_ns": "time",
            "keep_ns": "count?",
        },
        "read_in_several_ways": "count?",
        "quick": {
            "?": True,
            "asked": ASKED,
            "not_asked": {"*": ASKED},
            "share_not_asked": "number",
            "of_events": "count?",
            "tape_ns": {"*": "count"},
        },
        "warnings": [{"kind": "text", "text": "text"}],
        "known_columns": ["text"],
        "server": SERVER,
        "renewed": {
            "?": True,
            "rate": "number",
            "ended": [{"thread_id": "int", "account": "text", "at": "text"}],
            "refused": "text?",
        },
        "coverage": {
            "?": True,
            "basis": "text",
            "executed": "count",
            "logged": "count",
            "share": "number",
            "silent_sessions": "count",
            "silent_statements": "count?",
        },
    },
    "run": {
        "format_version": "int",
        "finished": "bool",
        "created": "text?",
        "files": FILES,
        "tape": {
            "path": "text?",
            "id": "text?",
            "events": "count?",
            "sessions": "count?",
            "first_ns": "time?",
            "last_ns": "time?",
        },
        "target": SERVER,
        "read_target": SERVER,
        "parameters": {},
        "started_ns": "time?",
        "elapsed_ns": "time?",
        "measuring_point": "text?",
        "partial": "text?",
        "accounting": {
            "?": True,
            **dict.fromkeys(("tape_events", "executed", "filtered", "skipped", "not_sent"), "count"),
            "reasons": {"*": {"*": "count"}},
            "balanced": "bool",
            **dict.fromkeys(
                ("injected", "order_waits", "order_broken", "order_wait_ns", "overload_waits", "overload_drops"),
                "number?",
            ),
            "sent_unknown": "count?",
        },
        "lateness": {"?": True, "*": "number?"},
        "generator": {"?": True, "warnings": ["text"], "cpu_ns": "number?", "cores": "number?"},
        "clock_pairs": ["pair"],
        "speed_changes": [{"at_ns": "time?"}],
        "variables_changed": {"?": True, "*": ["text?"]},
        "summaries": ["text"],
        "query_plans": "count?",
        "query_cache": {"?": True, "before": {"?": True, "*": "count"}, "after": {"?": True, "*": "count"}},
        "server_counters": {"?": True, "before": {"?": True, "*": "count"}, "after": {"?": True, "*": "count"}},
        "sampling_problem": "text?",
        "drain": {"?": True, "*": "number?"},
        "sessions": {"?": True, "*": "count"},
        "follow": FOLLOWED,
        "state": {"?": True, "restored": "count", "failed": {"*": "count"}, "not_sent": {"*": "count"}},
        "plan": {"?": True},
        "drivers": [
            {
                "number": "count",
                "host": "text",
                "tapes": ["text"],
                "events": "count?",
                "planned": "count?",
                "lost": "text?",
                "partial": "text?",
                "offset_ns": "int?",
                "bound_ns": "count?",
            }
        ],
    },
    "plans": {
        "format_version": "int",
        "finished": "bool",
        "created": "text?",
        "files": FILES,
        "tape": {"path": "text?", "id": "text?"},
        "a": SERVER,
        "b": SERVER,
        "digests": "count?",
        "without_samples": "count?",
        "not_asked": "count?",
        "problems": ["text"],
    },
}
SHAPES["set"] = {
    "format_version": "int",
    "finished": "bool",
    "created": "text?",
    "dealt_from": "text?",
    "tapes": [{"folder": "text", "id": "text"}],
    "digests": FILES,
    "tape": SHAPES["tape"],
}
# What a finished tape or run cannot do without.
NEEDED = {
    "tape": ("source", "files", "counts"),
    "run": ("tape", "target"),
    "plans": ("tape", "a", "b"),
    "set": ("tape", "tapes", "digests"),
}
NEEDED_COUNTS = ("events", "sessions", "digests", "problems")
NAMES = {
    "text": "a text",
    "int": "a whole number",
    "count": "a whole number from 0",
    "few": "a whole number from 1 to 1,000,000",
    "time": "a time in nanoseconds",
    "number": "a number",
    "bool": "true or false",
    "pair": "a pair of whole numbers",
}


def read_json(kind: str, marker: Path) -> dict[str, Any]:
    """Return what tape.json or run.json says. Raises FolderError where it is not JSON of the shape that `kind` has."""
    with open_regular(marker, FolderError) as handle:
        raw = handle.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise FolderError(f"{marker}: expected a {kind}'s JSON, found more than {MAX_BYTES >> 20} MiB")
    try:
        info = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
        _check_plain(info, 0)
        if not isinstance(info, dict):
            raise ValueError(f"found {_shown(info)}")
        if "format_version" not in info:
            raise ValueError("found no format_version")
    except (ValueError, RecursionError) as error:
        raise FolderError(f"{marker}: expected a {kind}'s JSON, found something else ({error})") from error
    return info


def check_shape(kind: str, marker: Path, info: dict[str, Any]) -> None:
    """Raise FolderError where a key of the JSON holds what it cannot, or a finished tape or run lacks one."""
    try:
        _check(SHAPES[kind], info, "")
        if info.get("finished"):
            if missing := [key for key in NEEDED[kind] if info.get(key) is None]:
                raise ValueError(f"{missing[0]}: missing")
            if kind == "tape" and (missing := [key for key in NEEDED_COUNTS if key not in info["counts"]]):
                raise ValueError(f"counts.{missing[0]}: missing")
    except ValueError as error:
        raise FolderError(f"{marker}: {error}") from error


def fitting_keys(kind: str, info: dict[str, Any]) -> dict[str, Any]:
    """Return what of a damaged JSON is of the shape that `kind` has: the keys that hold what they can."""
    fitting = {}
    for key, value in info.items():
        try:
            _check_plain(value, 0)
            _check(SHAPES[kind].get(key, "any"), value, key)
            fitting[key] = value
        except (ValueError, RecursionError):
            continue
    return fitting


def _check(shape: Any, value: Any, where: str) -> None:
    if isinstance(shape, str):
        if not _fits(shape.removesuffix("?"), value) and not (value is None and shape.endswith("?")):
            raise ValueError(f"{where}: expected {NAMES[shape.removesuffix('?')]}, found {_shown(value)}")
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise ValueError(f"{where}: expected a list, found {_shown(value)}")
        for number, each in enumerate(value):
            _check(shape[0], each, f"{where}[{number}]")
    elif value is None and shape.get("?"):
        return
    elif not isinstance(value, dict):
        raise ValueError(f"{where}: expected an object, found {_shown(value)}")
    else:
        for key, each in value.items():
            inner = shape.get(key, shape.get("*"))
            if inner is not None and key not in ("?", "*"):
                _check(inner, each, f"{where}.{key}" if where else key)
        _check_entry(shape, value, where)


def _check_entry(shape: dict[str, Any], value: dict[str, Any], where: str) -> None:
    """Raise ValueError where an entry of a list lacks what every entry has."""
    if where.endswith("]"):
        for key, inner in shape.items():
            if isinstance(inner, str) and not inner.endswith("?") and key not in value:
                raise ValueError(f"{where}.{key}: missing")


def _fits(name: str, value: Any) -> bool:
    is_int = isinstance(value, int) and not isinstance(value, bool)
    if name == "pair":
        return isinstance(value, list) and len(value) == 2 and all(_fits("int", each) for each in value)
    return {
        "any": True,
        "text": isinstance(value, str),
        "int": is_int,
        "count": is_int and value >= 0,
        "few": is_int and 1 <= value <= MAX_TIMES,
        "time": is_int and abs(value) <= MAX_INT >> 1,
        "number": is_int or isinstance(value, float),
        "bool": isinstance(value, bool),
    }[name]


def _check_plain(value: Any, depth: int) -> None:
    """Raise ValueError where a number does not fit 64 bits, a text cannot be written, or lists are too deep."""
    if depth > 50:
        raise ValueError("found more than 50 lists or objects inside each other")
    if isinstance(value, dict):
        for key, each in value.items():
            _check_plain(key, depth)
            _check_plain(each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            _check_plain(each, depth + 1)
    elif isinstance(value, str):
        if not value.isascii():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                raise ValueError("found a text with half a character") from None
    elif isinstance(value, (int, float)) and not -MAX_INT <= value < MAX_INT:
        raise ValueError("found a number that is too large")


def _no_constant(name: str) -> Any:
    raise ValueError(f"found {name}")


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
