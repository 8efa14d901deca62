# SPDX-License-Identifier: Apache-2.0
"""Audit logs as JSON: Percona's audit_log and the audit log filters."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.capture import SOURCES, Settings, capture_source, detect_source
from querytape.common.errors import InputError

from tests.helpers.reading import tape_of

pytestmark = pytest.mark.slow

FILTER: list[dict[str, Any]] = [
    {
        "class": "connection",
        "event": "connect",
        "account": {"user": "app", "host": "web1"},
        "connection_data": {"status": 0, "db": "shop"},
    },
    {
        "class": "general",
        "event": "status",
        "account": {"user": "app", "host": "web1"},
        "general_data": {
            "command": "Query",
            "query": "SELECT 'a\nb'",
            "status": 1146,
            "query_statistics": {"query_time": 0.25, "rows_sent": 7},
        },
    },
    {"class": "table_access", "event": "read"},
    {"class": "connection", "event": "disconnect", "connection_data": {"status": 0}},
]


def numbered() -> list[dict[str, Any]]:
    """Return rows of audit_log_filter with times and ids."""
    return [
        {"timestamp": f"2024-06-10 06:13:2{n}", "id": n, "connection_id": 13, **row} for n, row in enumerate(FILTER)
    ]


def test_audit_log_filter_array_is_read(tmp_path: Path) -> None:
    """The server is still writing, so the JSON array is not closed yet. The log also has an invalid line and rows that
    are not commands.
    """
    path = tmp_path / "audit.json"
    path.write_text("[\n" + ",\n".join(map(json.dumps, numbered())) + ",\nnot json at all\n")
    assert detect_source(str(path), SOURCES.values()).name == "audit-json"
    found, info = tape_of("audit-json", path, tmp_path)
    assert [row[:3] for row in found] == [("connect", None, 13), ("query", b"SELECT 'a\nb'", 13), ("quit", None, 13)]
    assert found[1][4:] == (250_000_000, "app", "web1", None, 1146, 7)
    assert info["problems"] == {"not_understood": 1}


def test_percona_audit_log_is_read(tmp_path: Path) -> None:
    """Each line is one record. An Execute row with values in its text becomes a query. An Execute row with `?` stays an
    execution. Times include a zone.
    """
    base = {
        "timestamp": "2026-11-20T15:21:05Z",
        "connection_id": "5",
        "status": 0,
        "user": "app[app] @ web1 []",
        "db": "shop",
    }
    rows = [
        {**base, "name": "Connect", "user": "app", "host": "web1"},
        {**base, "name": "Execute", "sqltext": "SELECT 1"},
        {**base, "name": "Execute", "sqltext": "SELECT ?"},
        {**base, "name": "Quit"},
    ]
    path = tmp_path / "audit.log"
    path.write_text("".join(json.dumps({"audit_record": row}) + "\n" for row in rows))
    assert detect_source(str(path), SOURCES.values()).name == "audit-json"
    found, info = tape_of("audit-json", path, tmp_path)
    assert [row[:2] for row in found][:2] == [("connect", None), ("query", b"SELECT 1")]
    assert [row[0] for row in found][2:] == ["execute", "quit"]
    assert {row[5] for row in found} == {"app"}
    assert info["precision_ns"] == 1_000_000_000


def test_unreadable_values_are_problems(tmp_path: Path) -> None:
    """The test covers both forms of JSON keys. A row without a connection id is kept."""
    rows = [
        {"audit_record": {"name": "Query", "timestamp": "2026-11-22T10:00:07 UTC", "connection_id": "#7", "status": "bad"}},
        {
            "timestamp": "2026-11-22 10:00:08", "class": "general", "event": "status", "connection_id": 7,
            "general_data": {"command": "Query", "query": "SELECT 1", "query_statistics": {"query_time": "quick"}},
        },
    ]  # fmt: skip
    path = tmp_path / "a.json"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    found, info = tape_of("audit-json", path, tmp_path)
    assert info["problems"] == {"unread_duration": 1, "unread_errno": 1, "unread_thread_id": 1}
    assert len(found) == 2


def pretty(row: dict[str, Any]) -> str:
    """Return an object as Percona Server writes it: over several lines, with each inner object on one line."""
    lines = [f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in row.items()]
    return "  {\n" + ",\n".join(lines) + "\n  }"


LAYOUTS: dict[str, Callable[[list[dict[str, Any]]], str]] = {
    "lines": lambda rows: "\n".join(map(json.dumps, rows)),
    "array": lambda rows: "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n",
    "commas first": lambda rows: "[" + "\n,".join(map(json.dumps, rows)),
    "one line": lambda rows: json.dumps(rows),
    "consecutive objects": lambda rows: "".join(map(json.dumps, rows)),
    "percona": lambda rows: "[\n" + ",\n".join(map(pretty, rows)),
    "windows": lambda rows: ("[\n" + ",\n".join(map(pretty, rows)) + "\n]").replace("\n", "\r\n"),
    "indented": lambda rows: json.dumps(rows, indent=2),
    "sorted": lambda rows: json.dumps(rows, indent="\t", sort_keys=True),
    "one value per line": lambda rows: json.dumps(rows, indent=1).replace("{", "\n{\n").replace(": ", "\n:\n"),
    "consecutive arrays": lambda rows: "\n".join(json.dumps([row], indent=1) for row in rows),
}


@pytest.fixture(scope="module")
def events_of_lines(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Return the events of the log with one object per line."""
    folder = tmp_path_factory.mktemp("lines")
    path = folder / "audit.json"
    path.write_text(LAYOUTS["lines"](numbered()))
    found, _ = tape_of("audit-json", path, folder)
    assert len(found) == 3
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("layout", LAYOUTS)
def test_json_formatting_does_not_change_the_tape(layout: str, events_of_lines: list[Any], tmp_path: Path) -> None:
    """The kind of log is detected for each JSON formatting."""
    path = tmp_path / "audit.json"
    path.write_text(LAYOUTS[layout](numbered()), newline="")
    assert detect_source(str(path), SOURCES.values()).name == "audit-json"
    found, info = tape_of("audit-json", path, tmp_path)
    assert found == events_of_lines
    assert info["problems"] == {}


@pytest.mark.long
@pytest.mark.parametrize("layout", ["lines", "one line", "percona", "one value per line"])
def test_cut_json_log_keeps_whole_objects(layout: str, tmp_path: Path) -> None:
    """The log is cut at its start or end, anywhere in its text. A partial JSON object is a problem."""
    whole = LAYOUTS[layout](numbered())
    decoder, objects, place = json.JSONDecoder(), [], 0
    while (place := whole.find("{", place)) >= 0:
        row, end = decoder.raw_decode(whole, place)
        objects.append((place, end, row["class"] != "table_access"))
        place = end
    for number, cut in enumerate(range(objects[0][1] + 7, len(whole), len(whole) // 4)):
        for side, (begin, end) in enumerate(((0, cut), (cut, len(whole)))):
            expected = sum(kept for first, last, kept in objects if begin <= first and last <= end)
            in_two = any(first < cut < last for first, last, _ in objects)
            folder = tmp_path / f"{number}.{side}"
            folder.mkdir()
            path = folder / "audit.json"
            path.write_text(whole[begin:end], newline="")
            if not expected:
                with pytest.raises(InputError):
                    tape_of("audit-json", path, folder)
                continue
            found, info = tape_of("audit-json", path, folder)
            assert len(found) == expected
            assert (info["problems"] != {}) == in_two


def test_json_objects_other_than_records_are_problems(tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    rows = [json.dumps(row) for row in numbered()]
    path.write_text("\n".join([*rows, '{"log": "starting", "timestamp": "2024-06-10 06:13:29"}', '{"a":\n 1}']))
    found, info = tape_of("audit-json", path, tmp_path)
    assert len(found) == 3
    assert info["problems"] == {"not_understood": 2}


@pytest.mark.parametrize("name", ["audit_log_strategy", "audit_log_filter_strategy", "audit_log_filter.strategy"])
@pytest.mark.parametrize(
    ("strategy", "kinds"),
    [("PERFORMANCE", ["buffered"]), ("ASYNCHRONOUS", []), ("SEMISYNCHRONOUS", []), ("SYNCHRONOUS", []), (None, [])],
)
def test_audit_strategy_performance_gives_a_warning(
    strategy: str | None, kinds: list[str], name: str, tmp_path: Path
) -> None:
    """Only the strategy PERFORMANCE of the audit log drops rows. If the server's strategy is unknown, there is no
    warning.
    """
    rows = [{"timestamp": "2024-06-10 06:13:20", "id": 1, "connection_id": 13, **row} for row in FILTER]
    (tmp_path / "audit.log").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = Settings(server={"variables": {} if strategy is None else {name: strategy}})
    info = capture_source(SOURCES["audit-json"], [str(tmp_path / "audit.log")], tmp_path / "t.tape", settings)
    assert [warning["kind"] for warning in info["warnings"]] == kinds
