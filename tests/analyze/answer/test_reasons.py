# SPDX-License-Identifier: Apache-2.0
"""What to do about results that differ."""

import re
from pathlib import Path

from querytape.analyze.answer.reasons import REMEDIES, UNKNOWN, remedy_of
from querytape.analyze.findings.results import KINDS


def test_every_reason_has_a_remedy(checkout: Path) -> None:
    """Each that the SQL names, and each kind without a reason."""
    folder = checkout / "analyze" / "sql"
    text = (folder / "prelude.sql").read_text() + (folder / "report" / "results.sql").read_text()
    named = set(re.findall(r"THEN '([^']{3,})'", text))
    assert named - set(KINDS) == set(REMEDIES)
    assert set(UNKNOWN) == set(KINDS) - {"warnings"}
    assert remedy_of({"reason": "random", "kind": "rows"}) == REMEDIES["random"]
    assert remedy_of({"reason": None, "kind": "order"}) == UNKNOWN["order"]
