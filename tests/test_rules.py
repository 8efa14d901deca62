# SPDX-License-Identifier: Apache-2.0
"""The rules for tests that a machine can check: docs/testing.md has all of them."""

import ast
import json
import re
from pathlib import Path

from tests.helpers.golden import as_lines

AGAIN = re.compile(r"\b(?:for|in) (?:attempt|ATTEMPTS)\b|\brange\((?:ATTEMPTS|RETRIES)\)|mark\.flaky|--reruns")


def test_nothing_is_tried_until_it_passes(checkout: Path) -> None:
    """No test repeats itself until it passes; what is about chance is in the long tier."""
    by_chance = 0
    for path in sorted((checkout / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if path == Path(__file__):
            continue
        assert not AGAIN.search(text), path
        if re.search(r"^pytestmark = .*\blong\b", text, re.M) or "import repeated" not in text:
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and "repeated(" in ast.unparse(node):
                assert "pytest.mark.long" in [ast.unparse(each) for each in node.decorator_list], (path, node.name)
                by_chance += 1
    assert by_chance > 0


def test_golden_files_are_for_reading(checkout: Path) -> None:
    """A golden file has a row a line, as tests/helpers/golden.py writes it, and no hashes of what it does not show."""
    tests = checkout / "tests"
    goldens = [*tests.rglob("golden*.json"), *(tests / "capture/sources/golden").glob("*.json")]
    assert len(goldens) >= 6
    for path in goldens:
        text = path.read_text(encoding="utf-8")
        assert text in {as_lines(json.loads(text), sort) + "\n" for sort in (True, False)}, path
        assert not re.search(r'"[0-9a-f]{32,}"|"(?:[0-9a-f]{4} ){4}', text), path
