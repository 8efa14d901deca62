# SPDX-License-Identifier: Apache-2.0
"""Reasons in words: every reason that docs/format.md has, has some."""

import re
from pathlib import Path

from querytape.analyze.findings.reasons import REASONS, reason_words


def test_every_reason_has_words(checkout: Path) -> None:
    """No code of a reason is left to the reader of a report."""
    rows = re.findall(
        r"^\| (?:filtered|skipped|not_sent) \| ([^|]+) \|", (checkout / "docs/format.md").read_text(), re.M
    )
    codes = {code for row in rows for code in re.findall(r"`([\w:]+)`", row)} - {"danger:NAME"}
    assert len(codes) > 30
    assert codes == set(REASONS)


def test_words() -> None:
    """Dangers name their option; none is nothing; what is not known stays as it is."""
    assert reason_words("danger:kill").endswith("--allow-statement kill was not given")
    assert reason_words(None) == ""
    assert reason_words("of a later release") == "of a later release"
