# SPDX-License-Identifier: Apache-2.0
"""Files that are generated from names.toml."""

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
    """A fixture: the declarations in names.toml."""
    return tomllib.loads((checkout / "schemas" / "names.toml").read_text(encoding="utf-8"))


def test_generated_files_are_up_to_date() -> None:
    """If this test fails, run `make names`."""
    assert [path.name for path, text in generate.made().items() if path.read_text(encoding="utf-8") != text] == []


def test_extension_has_the_numbers_of_names_toml(names: dict[str, Any]) -> None:
    """The built extension has a constant for each number in names.toml. The name of the constant starts with the prefix
    of its section.
    """
    for section, (prefix, _) in generate.C_SECTIONS.items():
        for name, number in generate.numbers(names, section).items():
            assert getattr(lib, f"{prefix}{name.upper()}") == number


def test_numbers_of_a_section_are_unique(names: dict[str, Any]) -> None:
    for section in generate.C_SECTIONS.keys() - {"shifts"}:
        found = list(generate.numbers(names, section).values())
        assert len(set(found)) == len(found), section


def test_reasons_have_a_status_and_a_text(names: dict[str, Any]) -> None:
    """Each reason explains at least one status. Only a reason for skipped events can count as a loss."""
    assert names["reasons"].keys() == REASONS.keys()
    for name, entry in names["reasons"].items():
        assert entry["words"], name
        assert any(status in entry for status in STATUSES), name
        assert entry.keys() <= {*STATUSES, "words", "lost", "engine"}, name
        assert not entry.get("lost") or "skipped" in entry, name
        assert not entry.get("engine") or "not_sent" in entry, name


def test_every_reason_is_set_by_some_code(names: dict[str, Any], checkout: Path) -> None:
    """The plan, the run or the engine sets each reason."""
    folders = (checkout / "replay", checkout / "schemas")
    files = [path for folder in folders for path in folder.rglob("*.*") if path.suffix in (".py", ".sql")]
    plan = "".join(path.read_text() for path in files if path.stem != "names")
    engine = "".join(path.read_text() for path in (checkout / "native" / "engine").glob("*.c"))
    for name, entry in names["reasons"].items():
        of_engine = re.search(rf"\bQT_{name.upper()}\b", engine)
        assert bool(of_engine) == entry.get("engine", False), name
        assert of_engine or f"'{name}'" in plan or f'"{name}"' in plan, name


def test_engine_checks_the_limits_of_its_options(names: dict[str, Any]) -> None:
    """A value one below the minimum or one above the maximum is refused. The message names the option."""
    for name, entry in names["engine_options"].items():
        least, most = generate.bounds(names, name)
        for bound, step, text in ((least, -1, f"at least {least}"), (most, 1, f"at most {most}")):
            if bound is not None and entry["type"] != "choice":
                given: dict[str, Any] = {name: bound + step}
                with pytest.raises(NativeFault, match=f"{name} of {text}"):
                    Engine(EngineOptions(host="127.0.0.1", **given))


def test_choices_are_numbered_from_zero(names: dict[str, Any]) -> None:
    """The engine accepts numbers from the first to the last choice."""
    for section in generate.CHOICES:
        assert list(generate.numbers(names, section).values()) == list(range(len(names[section])))


def test_page_without_generator_marks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "format.md").write_text("# Formats", encoding="utf-8")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="expected the marks"):
        generate.made()
