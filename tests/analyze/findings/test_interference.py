# SPDX-License-Identifier: Apache-2.0
"""What is said of other programs."""

from dataclasses import replace

import numpy as np
from querytape.analyze import Report
from querytape.analyze.findings.interference import conditions, interference
from querytape.analyze.verdicts.interference import NONE, UNKNOWN, Disturbance

FLAGS, CALM = np.ones(4, np.bool_), np.zeros(4, np.bool_)
TAKEN = {"a": 0.1, "b": 3.6}


def said(report: Report, disturbance: Disturbance) -> str:
    """Return the findings on a disturbance."""
    return " ".join(finding.text for finding in interference(replace(report, disturbance=disturbance)))


def test_findings(report: Report) -> None:
    """What others took, which blocks are left out, and the command that would tell; nothing of a quiet machine."""
    text = said(report, Disturbance(FLAGS, CALM, FLAGS, True, TAKEN, 4, 9))
    assert "during B other programs took 3.6 of 4 cores (A: 0.1)" in text
    assert "Of 9 blocks of time, 4 are left out of what says slower, 0" in text
    assert "querytape compare" in text
    assert "--rounds 5" in text
    assert said(report, NONE) == ""
    assert "--host-metrics" in said(report, UNKNOWN)
    assert "left no processor over" in said(report, Disturbance(CALM, CALM, CALM, True, TAKEN, 4, 9, True))


def test_conditions(report: Report) -> None:
    """What holds for all verdicts."""
    found = conditions(replace(report, disturbance=UNKNOWN))
    assert (found.doubt, found.disturbed, found.rounds) == (None, None, 1)
    assert found.unseen is not None
    assert conditions(replace(report, disturbance=NONE)).unseen is None
