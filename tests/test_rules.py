# SPDX-License-Identifier: Apache-2.0
"""Automatic checks of the rules for tests, which docs/testing.md lists."""

import ast
import json
import re
from pathlib import Path

from tests.helpers.golden import as_lines

AGAIN = re.compile(r"\b(?:for|in) (?:attempt|ATTEMPTS)\b|\brange\((?:ATTEMPTS|RETRIES)\)|mark\.flaky|--reruns")


def test_tests_are_not_retried_until_they_pass(checkout: Path) -> None:
    """A test that depends on chance belongs in the long tier."""
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


def test_golden_files_are_readable(checkout: Path) -> None:
    """A golden file has one line per row, as tests/helpers/golden.py writes it. It has no hashes of content that is not
    shown.
    """
    tests = checkout / "tests"
    goldens = [*tests.rglob("golden*.json"), *(tests / "capture/sources/golden").glob("*.json")]
    assert len(goldens) >= 6
    for path in goldens:
        text = path.read_text(encoding="utf-8")
        assert text in {as_lines(json.loads(text), sort) + "\n" for sort in (True, False)}, path
        assert not re.search(r'"[0-9a-f]{32,}"|"(?:[0-9a-f]{4} ){4}', text), path
