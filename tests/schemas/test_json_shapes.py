# SPDX-License-Identifier: Apache-2.0
"""The JSON of tapes and runs. Valid values are read. An invalid value is refused, and the message names its key."""

import json
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import FolderError
from querytape.schemas import check_shape, read_json
from querytape.schemas.json_shapes import SHAPES, fitting_keys

WRONG = [
    ("parts", {"a": 1}, "parts: expected a list, found an object"),
    ("parts", [{"file": 1, "rows": 1, "bytes": 1}], r"parts\[0\]\.file: expected a text, found 1"),
    ("parts", [{"rows": 1, "bytes": 1}], r"parts\[0\]\.file: missing"),
    ("counts", {"events": -1}, r"counts\.events: expected a whole number of at least 0, found -1"),
    ("counts", {"events": True}, r"counts\.events: expected a whole number of at least 0, found true"),
    ("counts", 7, "counts: expected an object, found 7"),
    ("warnings", [7], r"warnings\[0\]: expected an object"),
    ("first_ns", 2**63 - 1, "first_ns: expected a time"),
    ("finished", "yes", "finished: expected true or false"),
]


@pytest.mark.parametrize(("key", "value", "sentence"), WRONG)
def test_invalid_value_is_reported_with_its_key(key: str, value: Any, sentence: str) -> None:
    """Recovery of a damaged tape leaves out the keys with invalid values."""
    with pytest.raises(FolderError, match=sentence):
        check_shape("tape", Path("t.tape/tape.json"), {key: value})
    assert fitting_keys("tape", {key: value, "source": "slowlog"}) == {"source": "slowlog"}


@pytest.mark.parametrize("text", ["{", "[1]", "7", "null", '{"a": 1}', "[" * 100_000, "\xff", '{"a": NaN}'])
def test_invalid_json_is_refused(tmp_path: Path, text: str) -> None:
    """The JSON of a folder must be an object that has a version."""
    (tmp_path / "tape.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(FolderError, match="invalid JSON for a tape"):
        read_json("tape", tmp_path / "tape.json")


@pytest.mark.parametrize("value", ["1e999", str(2**70), '"\\ud800"', "[" * 60 + "]" * 60])
def test_unsupported_json_values_are_refused(tmp_path: Path, value: str) -> None:
    """Numbers above 64 bits, lone surrogates and deeply nested lists are refused anywhere in the JSON."""
    (tmp_path / "run.json").write_text(f'{{"format_version": 1, "more": {value}}}')
    with pytest.raises(FolderError, match=r"run\.json: invalid JSON for a run"):
        read_json("run", tmp_path / "run.json")


@pytest.mark.parametrize("kind", ["tape", "run", "plans"])
def test_any_value_of_a_key_is_accepted_or_refused(kind: str) -> None:
    """For any value, check_shape either accepts the value or raises FolderError with the key. It never raises another
    error.
    """
    values: list[Any] = [None, True, -1, 2**62, 0.5, "", "x", [], [None], [[1]], {}, {"a": None}, [{}], {"": {}}]
    for key in SHAPES[kind].keys() - {"finished"}:
        for value in values:
            said = ""
            try:
                check_shape(kind, Path("x"), {key: value})
            except FolderError as error:
                said = str(error)
            assert not said or said.startswith(f"x: {key}")


def test_finished_tape_needs_its_counts() -> None:
    """All readers of a finished tape rely on its counts."""
    info = json.loads('{"finished": true, "source": "x", "files": [], "counts": {"events": 1}}')
    with pytest.raises(FolderError, match=r"counts\.sessions: missing"):
        check_shape("tape", Path("x"), info)


TIME = 1 << 62
EDGES = [
    ("first_ns", [TIME, -TIME, 0, None], [TIME + 1, -TIME - 1, True, 1.0, "1"]),
    ("precision_ns", [0, 1, None], [-1, 0.0, False]),
    ("format_version", [1, -1], [None, True, 1.0]),
    ("finished", [False], [None, 0, 1]),
    ("created", ["", "x", None], [0, [], False]),
    ("input", [None, {}, {"a": []}], [[], 1]),
    ("problems", [{}, {"a": 0, "b": 7}], [None, {"a": -1}, {"a": None}, []]),
    ("known_columns", [[], ["a"]], [None, [None], [1], "a", {}]),
    ("pseudonymized", [None, True], [0, "x"]),
    ("server", [None, {}, {"port": 1}, {"port": None}, {"identity": [1]}, {"more": 5}], [[], {"port": "1"}, 1]),
    ("warnings", [[], [{"kind": "a", "text": "b"}]], [[{"kind": "a"}], [{"text": "b"}], [[]], None]),
    ("parts", [[{"file": "a", "rows": 0, "bytes": 0}]], [[{"file": "a", "rows": 0}], [{"file": "a", "bytes": 0}]]),
]
RUN_EDGES = [
    ("clock_pairs", [[], [[1, 2]], [[-1, 0], [5, 6]]], [[[1]], [[1, 2, 3]], [[1, "2"]], [[1, True]], [1], None]),
    ("accounting", [None, {}, {"executed": 0}, {"injected": None}, {"injected": 0.5}, {"balanced": False}],
     [{"executed": None}, {"executed": -1}, {"balanced": 1}, {"injected": "x"}, {"reasons": {"a": {"b": -1}}}, []]),
    ("drain", [None, {}, {"cut": 1, "waited_ns": 0.5, "x": None}], [{"cut": "1"}, {"cut": True}, 1]),
    ("sessions", [None, {}, {"opened": 0}], [{"opened": -1}, {"opened": None}, {"opened": 1.0}]),
    ("variables_changed", [None, {}, {"a": ["b", None]}], [{"a": "b"}, {"a": [1]}, []]),
    ("query_cache", [None, {}, {"before": {"qcache_hits": 0}, "after": None}], [{"before": {"x": -1}}, {"after": 1}, []]),
    ("server_counters", [None, {}, {"before": {"uptime": 1}, "after": None}], [{"before": {"x": -1}}, {"after": 1}, []]),
    ("lateness", [{"a": 1.5, "b": -1, "c": None}], [{"a": "x"}, {"a": False}]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "key", "good", "bad"), [("tape", *row) for row in EDGES] + [("run", *row) for row in RUN_EDGES]
)
def test_values_outside_the_limits_of_a_key_are_refused(kind: str, key: str, good: list[Any], bad: list[Any]) -> None:
    """Recovery of a damaged file keeps the values within the limits and leaves out the others."""
    for value in good:
        check_shape(kind, Path("x"), {key: value})
        assert fitting_keys(kind, {key: value, "more": [value]}) == {key: value, "more": [value]}
    for value in bad:
        with pytest.raises(FolderError, match=f"^x: {key}.*: (expected|missing)"):
            check_shape(kind, Path("x"), {key: value})
        assert fitting_keys(kind, {key: value, "more": 1}) == {"more": 1}


def test_recovery_keeps_unknown_keys() -> None:
    """An unknown key is left out only if its value cannot be written as JSON."""
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    info = {"mine": {"a": [1]}, "large": 1 << 63, "deep": deep, "half": {"\ud800": 1}, "finished": False}
    assert fitting_keys("tape", info) == {"mine": {"a": [1]}, "finished": False}
    assert fitting_keys("run", {"large": 1 << 63}) == {}


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (str(2**63 - 1), True), (str(2**63), False), (str(-(2**63)), True), (str(-(2**63) - 1), False),
        ("1e18", True), ("1e19", False), ("-1e19", False), ("Infinity", False), ("-Infinity", False), ("NaN", False),
        ("[" * 49 + "]" * 49, True), ("[" * 51 + "]" * 51, False), ('{"\\ud800": 1}', False), ('["\\ud83d\\ude00"]', True),
        ('{"a":' * 49 + "1" + "}" * 49, True), ('{"a":' * 51 + "1" + "}" * 51, False), ("[true, null, -0.5]", True),
    ],
)  # fmt: skip
def test_json_values_at_their_limits_are_read(tmp_path: Path, value: str, fits: bool) -> None:
    """Numbers of 64 bits and 50 nested levels are read. Larger numbers and deeper levels are refused."""
    (tmp_path / "run.json").write_text(f'{{"format_version": 1, "more": {value}}}')
    if fits:
        assert read_json("run", tmp_path / "run.json") == json.loads(f'{{"format_version": 1, "more": {value}}}')
    else:
        with pytest.raises(FolderError, match=r"run\.json: invalid JSON for a run: found "):
            read_json("run", tmp_path / "run.json")


def test_too_large_json_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A JSON file of the maximum size is read. A file with one more byte is refused."""
    text = '{"format_version": 1}'
    (tmp_path / "tape.json").write_text(text)
    monkeypatch.setattr("querytape.schemas.json_shapes.MAX_BYTES", len(text))
    assert read_json("tape", tmp_path / "tape.json") == {"format_version": 1}
    monkeypatch.setattr("querytape.schemas.json_shapes.MAX_BYTES", len(text) - 1)
    with pytest.raises(FolderError, match="expected the JSON of a tape, found more than 0 MiB"):
        read_json("tape", tmp_path / "tape.json")


@pytest.mark.parametrize("kind", ["tape", "run"])
def test_finished_folder_needs_all_required_keys(kind: str) -> None:
    """The message names a missing key. An unfinished tape or run does not need the keys."""
    counts = dict.fromkeys(("events", "sessions", "digests", "problems"), 0)
    whole: dict[str, Any] = {"source": "x", "files": [], "counts": counts, "tape": {}, "target": {}, "finished": True}
    check_shape(kind, Path("x"), whole)
    for key in {"tape": ("source", "files", "counts"), "run": ("tape", "target")}[kind]:
        for info in ({**whole, key: None}, {name: value for name, value in whole.items() if name != key}):
            with pytest.raises(FolderError, match=f"^x: {key}: (missing|expected)"):
                check_shape(kind, Path("x"), info)
        check_shape(kind, Path("x"), {"finished": False})
    for key in counts:
        info = {**whole, "counts": {name: 0 for name in counts if name != key}}
        if kind == "tape":
            with pytest.raises(FolderError, match=rf"^x: counts\.{key}: missing$"):
                check_shape("tape", Path("x"), info)
        else:
            check_shape("run", Path("x"), info)


def test_long_value_is_shortened_in_messages() -> None:
    """A message shows up to 40 characters of a value. It shows only the beginning of a longer value."""
    for length, shown in ((38, '"' + "y" * 38 + '"'), (39, '"' + "y" * 36 + "...")):
        with pytest.raises(FolderError) as error:
            check_shape("tape", Path("x"), {"finished": "y" * length})
        assert str(error.value) == f"x: finished: expected true or false, found {shown}"
