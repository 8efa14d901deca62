# SPDX-License-Identifier: Apache-2.0
"""What to do about results that differ."""

import re
from pathlib import Path

from querytape.analyze.answer.reasons import REMEDIES, UNKNOWN, remedy_of
from querytape.analyze.findings.results import KINDS, PERHAPS, SERVER_WRITES


def test_every_reason_has_a_remedy(checkout: Path) -> None:
    """Each that the SQL names, and each kind without a reason."""
    text = (checkout / "analyze" / "sql" / "report" / "results.sql").read_text()
    table = text.partition("(VALUES")[2].partition(") AS t(property")[0]
    named = {line.split("'")[1] for line in table.splitlines() if line.startswith("    ('")}
    last = text.rpartition("AS known, CASE")[2]
    assert named | set(re.findall(r"THEN '([^']{3,})'", last)) == set(REMEDIES) - {SERVER_WRITES}
    assert set(PERHAPS) <= set(REMEDIES)
    assert set(UNKNOWN) == set(KINDS) - {"warnings"}
    assert remedy_of({"reason": "random", "kind": "rows"}) == REMEDIES["random"]
    assert remedy_of({"reason": None, "kind": "order"}) == UNKNOWN["order"]
