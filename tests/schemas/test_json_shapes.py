# SPDX-License-Identifier: Apache-2.0
"""JSON of tapes and runs: what fits is read, anything else is refused with the key that holds it."""

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
    ("counts", {"events": -1}, r"counts\.events: expected a whole number from 0, found -1"),
    ("counts", {"events": True}, r"counts\.events: expected a whole number from 0, found true"),
    ("counts", 7, "counts: expected an object, found 7"),
    ("warnings", [7], r"warnings\[0\]: expected an object"),
    ("first_ns", 2**63 - 1, "first_ns: expected a time"),
    ("finished", "yes", "finished: expected true or false"),
]


@pytest.mark.parametrize(("key", "value", "sentence"), WRONG)
def test_the_key_is_named(key: str, value: Any, sentence: str) -> None:
    """Each key that holds what it cannot is named, and left out where a damaged tape is saved."""
    with pytest.raises(FolderError, match=sentence):
        check_shape("tape", Path("t.tape/tape.json"), {key: value})
    assert fitting_keys("tape", {key: value, "source": "slowlog"}) == {"source": "slowlog"}


@pytest.mark.parametrize("text", ["{", "[1]", "7", "null", '{"a": 1}', "[" * 100_000, "\xff", '{"a": NaN}'])
def test_what_is_no_json(tmp_path: Path, text: str) -> None:
    """Anything else than an object with a version is refused at once."""
    (tmp_path / "tape.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(FolderError, match="expected a tape's JSON"):
        read_json("tape", tmp_path / "tape.json")


@pytest.mark.parametrize("value", ["1e999", str(2**70), '"\\ud800"', "[" * 60 + "]" * 60])
def test_values_that_nothing_can_hold(tmp_path: Path, value: str) -> None:
    """Numbers past 64 bits, half characters and deep lists are refused wherever they are."""
    (tmp_path / "run.json").write_text(f'{{"format_version": 1, "more": {value}}}')
    with pytest.raises(FolderError, match=r"run\.json: expected a run's JSON"):
        read_json("run", tmp_path / "run.json")


@pytest.mark.parametrize("kind", ["tape", "run"])
def test_any_key_of_any_type(kind: str) -> None:
    """Whatever value a key has, the answer is a sentence or nothing."""
    values: list[Any] = [None, True, -1, 2**62, 0.5, "", "x", [], [None], [[1]], {}, {"a": None}, [{}], {"": {}}]
    for key in SHAPES[kind].keys() - {"finished"}:
        for value in values:
            said = ""
            try:
                check_shape(kind, Path("x"), {key: value})
            except FolderError as error:
                said = str(error)
            assert not said or said.startswith(f"x: {key}")


def test_a_finished_tape_needs_its_counts() -> None:
    """What every reader of a finished tape relies on must be there."""
    info = json.loads('{"finished": true, "source": "x", "files": [], "counts": {"events": 1}}')
    with pytest.raises(FolderError, match=r"counts\.sessions: missing"):
        check_shape("tape", Path("x"), info)
