# SPDX-License-Identifier: Apache-2.0
"""Tests of the mutants: how source text is changed, and which tests are chosen for a file."""

from pathlib import Path

import pytest

from .mutations import python_mutants, text_mutants
from .rooms import ROOMS, c_tests, python_tests, room_of
from .run import CHECKOUT

C = "/* a < b */\nint f(int a)\n{\n    if (a < 1 && a != '<')\n        return 0;\n    return a + 1;\n}\n"
SQL = "-- a < b\nSELECT min(a) FROM t WHERE a <= 1 AND b = '<'\n"


@pytest.mark.parametrize(
    ("name", "text", "wanted", "kept"),
    [
        (
            "x.c",
            C,
            ["a <= 1", "a < 1 ||", "a == '<'", "if (0 && a", "return 1;", "return a - 1", "return a;"],
            "a <= b",
        ),
        ("x.sql", SQL, ["max(a)", "a < 1 AND", "a <= 1 OR", "b <> '<'"], "-- a <= b"),
    ],
)
def test_mutations_are_outside_comments_and_strings(
    tmp_path: Path, name: str, text: str, wanted: list[str], kept: str
) -> None:
    """Each mutant differs from the original text in one place."""
    (tmp_path / name).write_text(text)
    made = [mutant.text() for mutant in text_mutants(name, tmp_path / name, "gates")]
    assert len(set(made)) == len(made)
    for part in wanted:
        assert sum(part in one for one in made) == 1, part
    assert not any(kept in one or "'<='" in one for one in made)


def test_minimum_expression_is_not_mutated(tmp_path: Path) -> None:
    """A conditional expression that is not a minimum is mutated."""
    (tmp_path / "x.c").write_text(
        "x = a->n < 32 ? a->n : 32;\ny = b > c ? c : b;\nz = d < e ? e : 1;\nw = f < g ? f : g->h;\n"
    )
    made = [mutant.text() for mutant in text_mutants("x.c", tmp_path / "x.c", "gates")]
    assert len(made) == 2
    assert [("d <= e" in one, "f <= g" in one) for one in made] == [(True, False), (False, True)]


def test_python_mutants_have_one_change_and_stable_names(tmp_path: Path) -> None:
    body = "def f(a: int) -> bool:\n    return a < 1 and a > -9\n"
    (tmp_path / "x.py").write_text(body)
    first = {mutant.name: mutant.text() for mutant in python_mutants("x.py", tmp_path / "x.py", "gates")}
    assert any("a <= 1 and" in text for text in first.values())
    assert any("a < 1 or" in text for text in first.values())
    (tmp_path / "x.py").write_text("X = 1\n\n\n" + body)
    assert {mutant.name for mutant in python_mutants("x.py", tmp_path / "x.py", "gates")} == set(first)


def test_each_room_pattern_has_files_and_tests() -> None:
    for name, patterns in ROOMS.items():
        for pattern in patterns:
            found = [str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob(pattern) if path.name != "__init__.py"]
            assert found, (name, pattern)
            for path in found:
                assert room_of(path) is not None
                assert any(c_tests(path, CHECKOUT) + python_tests(path, CHECKOUT)), path


@pytest.mark.parametrize(
    ("path", "programs", "files"),
    [
        ("replay/plan/pacing.py", [], ["tests/replay/plan/test_pacing.py"]),
        ("native/slowlog/slowlog_header.c", [], ["tests/capture/sources/test_slowlog_header.py"]),
        ("native/engine/pace.c", ["engine_pace"], []),
        ("native/reader/input.c", [], ["tests/native/bindings/test_inputs.py"]),
    ],
)
def test_tests_named_after_the_file_run_first(path: str, programs: list[str], files: list[str]) -> None:
    assert (c_tests(path, CHECKOUT)[0], python_tests(path, CHECKOUT)[0]) == (programs, files)
