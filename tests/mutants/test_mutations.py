# SPDX-License-Identifier: Apache-2.0
"""Mutants: what is made of which text, and which tests are asked."""

from pathlib import Path

import pytest

from .mutations import of_python, of_text
from .rooms import ROOMS, asked, room_of
from .run import CHECKOUT, survivors

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
def test_operators_are_changed_outside_comments(
    tmp_path: Path, name: str, text: str, wanted: list[str], kept: str
) -> None:
    """Each mutant differs in one place; comments and texts stay."""
    (tmp_path / name).write_text(text)
    made = [mutant.text() for mutant in of_text(name, tmp_path / name, "gates")]
    assert len(set(made)) == len(made)
    for part in wanted:
        assert sum(part in one for one in made) == 1, part
    assert not any(kept in one or "'<='" in one for one in made)


def test_what_is_the_same_either_way_is_no_mutant(tmp_path: Path) -> None:
    """The smaller or larger of two is the same where they are equal; of other choices it is not."""
    (tmp_path / "x.c").write_text(
        "x = a->n < 32 ? a->n : 32;\ny = b > c ? c : b;\nz = d < e ? e : 1;\nw = f < g ? f : g->h;\n"
    )
    made = [mutant.text() for mutant in of_text("x.c", tmp_path / "x.c", "gates")]
    assert len(made) == 2
    assert [("d <= e" in one, "f <= g" in one) for one in made] == [(True, False), (False, True)]


def test_python_is_changed_by_mutmut(tmp_path: Path) -> None:
    """A mutant is a whole file with one change; names stay the same while other code moves."""
    body = "def f(a: int) -> bool:\n    return a < 1 and a > -9\n"
    (tmp_path / "x.py").write_text(body)
    first = {mutant.name: mutant.text() for mutant in of_python("x.py", tmp_path / "x.py", "gates")}
    assert any("a <= 1 and" in text for text in first.values())
    assert any("a < 1 or" in text for text in first.values())
    (tmp_path / "x.py").write_text("X = 1\n\n\n" + body)
    assert {mutant.name for mutant in of_python("x.py", tmp_path / "x.py", "gates")} == set(first)


def test_each_room_has_files_and_tests() -> None:
    """Patterns of rooms find something; a file's own tests are asked first; survivors have a reason."""
    for name, parts in ROOMS.items():
        for test in (one for part in parts for one in part.tests):
            assert test.startswith("native:") or (CHECKOUT / test.split("::")[0]).exists(), (name, test)
        for pattern in (one for part in parts for one in part.files):
            found = [path for path in CHECKOUT.glob(pattern) if path.name != "__init__.py"]
            assert found, (name, pattern)
            assert room_of(str(found[0].relative_to(CHECKOUT))) is not None
    assert asked("replay/plan/pacing.py", CHECKOUT)[0] == ["tests/replay/plan/test_pacing.py"]
    assert asked("native/slowlog/slowlog_header.c", CHECKOUT)[0] == ["tests/capture/sources/test_slowlog_header.py"]
    assert asked("native/engine/pace.c", CHECKOUT) == (["native:engine_pace"], ["native:engine"])
    assert asked("native/protocol/login.c", CHECKOUT)[0] == ["tests/capture/sources/test_packets_golden.py"]
    assert asked("native/reader/input.c", CHECKOUT)[0] == ["tests/native/bindings/test_inputs.py"]
    assert all(reason.strip() for reason in survivors().values())
