# SPDX-License-Identifier: Apache-2.0
"""What is made from names.toml."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import NativeFault
from querytape.native._querytape import lib
from querytape.native.bindings.engine import Engine, EngineOptions
from querytape.schemas import generate
from querytape.schemas.names import REASONS

STATUSES = ("filtered", "skipped", "not_sent")


@pytest.fixture
def names(checkout: Path) -> dict[str, Any]:
    """The declarations."""
    return tomllib.loads((checkout / "schemas" / "names.toml").read_text(encoding="utf-8"))


def test_files_are_as_declared() -> None:
    """Each file is what it would be if it was written now: `make names`."""
    assert [path.name for path, text in generate.made().items() if path.read_text(encoding="utf-8") != text] == []


def test_c_has_the_same_numbers(names: dict[str, Any]) -> None:
    """The built extension has each number, under the prefix of its section."""
    for section, (prefix, _) in generate.C_SECTIONS.items():
        for name, number in generate.numbers(names, section).items():
            assert getattr(lib, f"{prefix}{name.upper()}") == number


def test_no_number_stands_twice(names: dict[str, Any]) -> None:
    """A number has one name in its section."""
    for section in generate.C_SECTIONS.keys() - {"shifts"}:
        found = list(generate.numbers(names, section).values())
        assert len(set(found)) == len(found), section


def test_reasons_have_a_status_and_words(names: dict[str, Any]) -> None:
    """Each reason has words, and says why for at least one status; only what was left out can count as lost."""
    assert names["reasons"].keys() == REASONS.keys()
    for name, entry in names["reasons"].items():
        assert entry["words"], name
        assert any(status in entry for status in STATUSES), name
        assert entry.keys() <= {*STATUSES, "words", "lost", "engine"}, name
        assert not entry.get("lost") or "skipped" in entry, name
        assert not entry.get("engine") or "not_sent" in entry, name


def test_every_reason_is_given(names: dict[str, Any], checkout: Path) -> None:
    """The plan, the run or the engine gives each reason: none is only declared."""
    folders = (checkout / "replay", checkout / "schemas")
    files = [path for folder in folders for path in folder.rglob("*.*") if path.suffix in (".py", ".sql")]
    plan = "".join(path.read_text() for path in files if path.stem != "names")
    engine = "".join(path.read_text() for path in (checkout / "native" / "engine").glob("*.c"))
    for name, entry in names["reasons"].items():
        of_engine = re.search(rf"\bQT_{name.upper()}\b", engine)
        assert bool(of_engine) == entry.get("engine", False), name
        assert of_engine or f"'{name}'" in plan or f'"{name}"' in plan, name


def test_the_engine_keeps_the_bounds_of_its_options(names: dict[str, Any]) -> None:
    """It refuses one less than the least, and one more than the most, and names the option."""
    for name, entry in names["engine_options"].items():
        least, most = generate.bounds(names, name)
        for bound, step, text in ((least, -1, f"at least {least}"), (most, 1, f"at most {most}")):
            if bound is not None and entry["type"] != "choice":
                given: dict[str, Any] = {name: bound + step}
                with pytest.raises(NativeFault, match=f"{name} of {text}"):
                    Engine(EngineOptions(host="127.0.0.1", **given))


def test_choices_are_numbered_from_zero(names: dict[str, Any]) -> None:
    """The engine's bounds of a choice are its first and its last number."""
    for section in generate.CHOICES:
        assert list(generate.numbers(names, section).values()) == list(range(len(names[section])))


def test_missing_marks_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page without the marks is refused, not left as it is."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "format.md").write_text("# Formats", encoding="utf-8")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="expected the marks"):
        generate.made()
