# SPDX-License-Identifier: Apache-2.0
"""Types for the JSON files of tapes, runs and plans, as described in docs/format.md, and checks of files against them.

Unknown keys may have any value. Known keys may be missing. In the entries of a list, keys that cannot be null must be
present.
"""

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict, get_args, get_origin, is_typeddict

from ..common.errors import FolderError
from ..common.files import open_regular

MAX_BYTES = 256 << 20
MAX_TIMES = 1_000_000  # maximum number of source files with the same name
MAX_INT = 1 << 63

# Types that are checked more strictly than their Python type. NAMES describes the checks.
Count = Annotated[int, "count"]
Few = Annotated[int, "few"]
Time = Annotated[int, "time"]
Pair = Annotated[list[int], "pair"]


class FileEntry(TypedDict, total=False):
    """A Parquet file of a folder."""

    file: str
    rows: Count
    bytes: Count
    sha256: str | None
    first_ns: Time | None
    last_ns: Time | None


class SourceFile(TypedDict, total=False):
    """A source file of a tape. `times`: number of files with the same name."""

    path: str
    bytes: Count | None
    sha256: str | None
    xxh3: str | None
    times: Few | None


class ServerInfo(TypedDict, total=False):
    """A server and the properties that it reported."""

    name: str | None
    host: str | None
    port: int | None
    socket: str | None
    user: str | None
    db: str | None
    version: str | None
    version_comment: str | None
    variables: dict[str, str | None] | None
    identity: Any
    time_zone: str | None


class Followed(TypedDict, total=False):
    """The part of a growing tape that a run has read."""

    tape: str
    begun_last_ns: Time
    begun_events: Count
    last_ns: Time | None
    events: Count
    lost: Count
    ended: str | None


class Asked(TypedDict, total=False):
    """The part of a workload that `compare --quick` executed, or omitted for one reason."""

    digests: Count
    events: Count
    tape_ns: Count


class QuickInfo(TypedDict, total=False):
    """Properties of a tape of samples and of its original tape.

    `tape_ns`: execution time on the original tape by digest.
    """

    asked: Asked
    not_asked: dict[str, Asked]
    share_not_asked: float
    of_events: Count | None
    tape_ns: dict[str, Count]


class TapeCounts(TypedDict, total=False):
    """Row counts of the tables of a tape."""

    events: Count
    sessions: Count
    digests: Count
    problems: Count


class OpenSessions(TypedDict, total=False):
    """Sessions that were open when a capture began."""

    sessions: Count
    found: Count
    carried: Count
    prepared: Count
    asked: str
    not_restored: dict[str, Count]
    not_shown: list[str]


class Published(TypedDict, total=False):
    """The progress of a growing tape."""

    at: str | None
    part_every_ns: Count | None
    last_ns: Time | None
    events: Count
    bytes_read: Count
    file: str | None
    file_bytes: Count | None


class Dropped(TypedDict, total=False):
    """Data that a tape with a limited keep time has dropped."""

    parts: Count
    events: Count
    problems: Count
    before_ns: Time
    keep_ns: Count | None


class Warned(TypedDict, total=False):
    """A warning of the capture about missing data."""

    kind: str
    text: str


class Ended(TypedDict, total=False):
    """A session that `--renew-idle` ended."""

    thread_id: int
    account: str
    at: str


class Renewed(TypedDict, total=False):
    """The result of `--renew-idle`."""

    rate: float
    ended: list[Ended]
    refused: str | None


class Coverage(TypedDict, total=False):
    """The fraction of the workload that a log contains."""

    basis: str
    executed: Count
    logged: Count
    share: float
    silent_sessions: Count
    silent_statements: Count | None


class MemberTape(TypedDict, total=False):
    """An entry for one tape of a set: its folder and its id."""

    folder: str
    id: str


class TapeInfo(TypedDict, total=False):
    """The content of tape.json. `tapes`: the tapes of a set, if the tape is a set."""

    format_version: int
    finished: bool
    created: str | None
    source: str | None
    measuring_point: str | None
    files: list[SourceFile]
    parts: list[FileEntry]
    tables: list[FileEntry]
    counts: TapeCounts
    first_ns: Time | None
    last_ns: Time | None
    set_first_ns: Time | None
    set_last_ns: Time | None
    precision_ns: Count | None
    server_version: str | None
    log_timezone_ns: Time | None
    input: dict[str, Any] | None
    problems: dict[str, Count]
    pseudonymized: bool | None
    carried: Count | None
    open_sessions: OpenSessions | None
    snapshot_of: str | None
    published: Published | None
    followed: Followed | None
    dropped: Dropped | None
    read_in_several_ways: Count | None
    quick: QuickInfo | None
    warnings: list[Warned]
    known_columns: list[str]
    server: ServerInfo | None
    renewed: Renewed | None
    coverage: Coverage | None
    tapes: Any
    tool_version: Any
    largest_event: Any
    not_understood_bytes: Any


class PlayedTape(TypedDict, total=False):
    """The tape that a run replayed."""

    path: str | None
    id: str | None
    events: Count | None
    sessions: Count | None
    first_ns: Time | None
    last_ns: Time | None


class Parameters(TypedDict, total=False):
    """The options of a run that a report reads. A run has more options."""

    speed: Any
    pace: Any
    order: Any
    now: Any
    allow_writes: Any


class Accounting(TypedDict, total=False):
    """How many events of a tape a replay sent, filtered and skipped, and the counters of the replay."""

    tape_events: Count
    executed: Count
    filtered: Count
    skipped: Count
    not_sent: Count
    reasons: dict[str, dict[str, Count]]
    balanced: bool
    injected: float | None
    order_waits: float | None
    order_broken: float | None
    order_wait_ns: float | None
    overload_waits: float | None
    overload_drops: float | None
    sent_unknown: Count | None
    overrides_failed: Any


class Generator(TypedDict, total=False):
    """Properties of the host that generated the load of a run."""

    warnings: list[str]
    cpu_ns: float | None
    cores: float | None


class SpeedChange(TypedDict, total=False):
    """A change of the speed of a run, and its time."""

    at_ns: Time | None


class Counted(TypedDict, total=False):
    """Counters of a server before and after a run."""

    before: dict[str, Count] | None
    after: dict[str, Count] | None


class Restored(TypedDict, total=False):
    """Counts of the carried events of a run: restored, failed (by error number), and not sent (by reason)."""

    restored: Count
    failed: dict[str, Count]
    not_sent: dict[str, Count]


class PlanInfo(TypedDict, total=False):
    """Properties of the plan of a run, known before the run starts."""

    planned: Any
    ids_unknown: Any


class PreparedInfo(TypedDict, total=False):
    """XA transactions that a run left prepared."""

    rolled_back: Any
    left: Any


class DriverInfo(TypedDict, total=False):
    """One driver of a run with several drivers."""

    number: Count
    host: str
    tapes: list[str]
    events: Count | None
    planned: Count | None
    replaces: Count | None
    begin_ns: Time | None
    lost: str | None
    partial: str | None
    offset_ns: int | None
    bound_ns: Count | None


class TargetClock(TypedDict, total=False):
    """How far the target's clock was ahead of the replaying host's at the start of a run, with its largest error."""

    ahead_ns: Time
    bound_ns: Time


class RunInfo(TypedDict, total=False):
    """The content of run.json."""

    format_version: int
    finished: bool
    created: str | None
    files: list[FileEntry]
    tape: PlayedTape
    target: ServerInfo | None
    read_target: ServerInfo | None
    parameters: Parameters
    started_ns: Time | None
    elapsed_ns: Time | None
    measuring_point: str | None
    target_clock: TargetClock | None
    partial: str | None
    accounting: Accounting | None
    lateness: dict[str, float | None] | None
    generator: Generator | None
    clock_pairs: list[Pair]
    speed_changes: list[SpeedChange]
    variables_changed: dict[str, list[str | None]] | None
    summaries: list[str]
    query_plans: Count | None
    query_cache: Counted | None
    server_counters: Counted | None
    sampling_problem: str | None
    drain: dict[str, float | None] | None
    sessions: dict[str, Count] | None
    follow: Followed | None
    state: Restored | None
    plan: PlanInfo | None
    prepared: Any
    drivers: list[DriverInfo]


class PlansTape(TypedDict, total=False):
    """The tape that a folder of query plans belongs to."""

    path: str | None
    id: str | None


class PlansInfo(TypedDict, total=False):
    """The content of plans.json."""

    format_version: int
    finished: bool
    created: str | None
    files: list[FileEntry]
    tape: PlansTape
    a: ServerInfo | None
    b: ServerInfo | None
    digests: Count | None
    without_samples: Count | None
    not_asked: Count | None
    problems: list[str]


class SetInfo(TypedDict, total=False):
    """The content of set.json."""

    format_version: int
    finished: bool
    created: str | None
    dealt_from: str | None
    tapes: list[MemberTape]
    digests: list[FileEntry]
    tape: TapeInfo


def _shape(hint: Any) -> Any:
    """Return a type in the form that the check uses.

    - a type name from NAMES, with "?" appended if null is allowed
    - {key: shape} for an object
    - {"*": shape} for an object with any keys; it also has the key "?" if null is allowed
    - [shape] for a list
    """
    inside = get_args(hint)
    if type(None) in inside:
        shape = _shape(next(each for each in inside if each is not type(None)))
        return f"{shape}?" if isinstance(shape, str) else {"?": True, **shape}
    if get_origin(hint) is Annotated:
        return inside[1]
    if is_typeddict(hint):
        return {key: _shape(each) for key, each in hint.__annotations__.items()}
    if get_origin(hint) is dict:
        return {} if inside[1] is Any else {"*": _shape(inside[1])}
    if get_origin(hint) is list:
        return [_shape(inside[0])]
    return {str: "text", int: "int", float: "number", bool: "bool", Any: "any"}[hint]


SHAPES: dict[str, dict[str, Any]] = {
    kind: _shape(hint) for kind, hint in (("tape", TapeInfo), ("run", RunInfo), ("plans", PlansInfo), ("set", SetInfo))
}
# Required keys of a finished tape, run, folder of plans or set.
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
    "count": "a whole number of at least 0",
    "few": "a whole number from 1 to 1,000,000",
    "time": "a time in nanoseconds",
    "number": "a number",
    "bool": "true or false",
    "pair": "a pair of whole numbers",
}


def read_json(kind: str, marker: Path) -> dict[str, Any]:
    """Return the content of tape.json, run.json or a similar file. Raises FolderError if the file is invalid."""
    with open_regular(marker, FolderError) as handle:
        raw = handle.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise FolderError(f"{marker}: expected the JSON of a {kind}, found more than {MAX_BYTES >> 20} MiB")
    try:
        info = json.loads(raw.decode("utf-8"), parse_constant=_no_constant)
        _check_plain(info, 0)
        if not isinstance(info, dict):
            raise ValueError(f"found {_shown(info)}")
        if "format_version" not in info:
            raise ValueError("found no format_version")
    except (ValueError, RecursionError) as error:
        raise FolderError(f"{marker}: invalid JSON for a {kind}: {error}") from error
    return info


def check_shape(kind: str, marker: Path, info: dict[str, Any]) -> None:
    """Raise FolderError if a value in the JSON has the wrong type, or if a finished folder lacks a required key."""
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
    """Return the valid keys of a damaged JSON object."""
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
    """Raise ValueError if an entry of a list lacks a required key."""
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
    """Raise ValueError if a number exceeds 64 bits, a text is invalid Unicode, or the nesting is too deep."""
    if depth > 50:
        raise ValueError("found more than 50 levels of nested lists or objects")
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
                raise ValueError("found a text that is not valid Unicode") from None
    elif isinstance(value, (int, float)) and not -MAX_INT <= value < MAX_INT:
        raise ValueError("found a number that is too large")


def _no_constant(name: str) -> Any:
    raise ValueError(f"found {name}")


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
