# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that a machine can check: imports, numbers in C and Python, licences, sizes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from querytape.schemas import CLASSES, DANGERS, FLAGS

# docs/design.md has this table too. Every part may import itself.
MAY_IMPORT = {
    "schemas": set(),
    "native": set(),
    "errors": set(),
    "signals": set(),
    "servers": {"errors"},
    "capture": {"schemas", "native", "servers", "errors", "signals"},
    "replay": {"schemas", "native", "servers", "errors", "signals"},
    "analyze": {"schemas", "errors"},
    "demo": {"replay", "errors", "signals"},
}
IGNORED = {".venv", ".servers", "build", "dist", ".git"}


def ours(checkout: Path, *patterns: str) -> Iterator[Path]:
    """Yield the files of the checkout that are ours, by pattern."""
    for pattern in patterns:
        for path in sorted(checkout.rglob(pattern)):
            inside = path.relative_to(checkout)
            if not IGNORED & set(inside.parts) and path.name != "_querytape.c":
                yield path


def imported_parts(path: Path, checkout: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, part of querytape) for each import of ours in a file, relative or absolute."""
    place = ("querytape", *path.relative_to(checkout).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = place[: len(place) - node.level + 1] if node.level else ()
            names = [(*base, *(node.module or "").split("."))] if node.module else []
            if not node.module or tuple(names[0]) == ("querytape",):
                names = [(*(base or ("querytape",)), alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [tuple(alias.name.split(".")) for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] == "querytape" and len(name) > 1:
                yield node.lineno, name[1]


@pytest.mark.parametrize("part", sorted(MAY_IMPORT))
def test_imports_follow_the_design(part: str, checkout: Path) -> None:
    """A part imports only what the design's table lets it."""
    files = [checkout / f"{part}.py"] if (checkout / f"{part}.py").exists() else ours(checkout / part, "*.py")
    wrong = [
        f"{path.relative_to(checkout)}:{line} imports {imported}"
        for path in files
        for line, imported in imported_parts(path, checkout)
        if imported not in MAY_IMPORT[part] | {part, "__version__"}
    ]
    assert not wrong


def test_the_walk_sees_imports(checkout: Path) -> None:
    """The walk above finds relative imports of every form: it is not passing on nothing."""
    seen = {name for _, name in imported_parts(checkout / "cli.py", checkout)}
    assert {"schemas", "native", "errors", "lazy"} <= seen
    assert ("schemas") in {name for _, name in imported_parts(checkout / "capture/recorder.py", checkout)}


def header_numbers(checkout: Path, prefix: str) -> dict[str, int]:
    """Return the names (lower case, without prefix) and numbers that the native header gives."""
    text = (checkout / "native" / "querytape.h").read_text(encoding="utf-8")
    found = re.findall(rf"^(?:#define |\s+){prefix}([A-Z_]+)(?: =)? (\d+)", text, re.M)
    return {name.lower(): int(value) for name, value in found}


def test_flags_are_equal_in_c_and_python(checkout: Path) -> None:
    """The tape's flag bits have one meaning."""
    assert header_numbers(checkout, "QT_F_") == FLAGS


def test_dangers_are_equal_in_c_and_python(checkout: Path) -> None:
    """The danger codes have one meaning."""
    assert header_numbers(checkout, "QT_DANGER_") == DANGERS


def test_classes_are_equal_in_c_and_python(checkout: Path) -> None:
    """The classes of statements have one order."""
    assert header_numbers(checkout, "QT_CLASS_") == {name: number for number, name in enumerate(CLASSES)}


def test_every_source_file_names_its_licence(checkout: Path) -> None:
    """One SPDX line a file, in its first three lines."""
    scripts = [path for folder in ("scripts", ".ci") for path in (checkout / folder).iterdir() if path.is_file()]
    without = [
        str(path.relative_to(checkout))
        for path in [*ours(checkout, "*.py", "*.c", "*.h", "*.sql", "Makefile"), *scripts]
        if path.stat().st_size
        and "SPDX-License-Identifier: Apache-2.0" not in "".join(path.open(encoding="utf-8").readlines()[:3])
    ]
    assert not without


def test_ci_calls_only_make_targets(checkout: Path) -> None:
    """What CI does can be done by hand: its targets are those of `make help`."""
    called = re.findall(r"^make ([a-z-]+)", (checkout / ".ci" / "run").read_text(encoding="utf-8"), re.M)
    targets = re.findall(r"^([a-z-]+):.*## ", (checkout / "Makefile").read_text(encoding="utf-8"), re.M)
    assert "test" in called
    assert set(called) <= set(targets)


def test_files_and_functions_stay_short(checkout: Path) -> None:
    """No Python file of ours has 400 lines, no function 60."""
    long = []
    for path in ours(checkout, "*.py"):
        text = path.read_text(encoding="utf-8")
        if text.count("\n") >= 400:
            long.append(str(path.relative_to(checkout)))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 60:
                long.append(f"{path.relative_to(checkout)}: {node.name}")
    assert not long
