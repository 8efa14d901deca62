# SPDX-License-Identifier: Apache-2.0
"""The report as a JUnit file."""

from xml.etree import ElementTree

from querytape.analyze import Report, as_junit

from tests.helpers.shapes import entry_of
from tests.helpers.simulated import digest_name


def test_junit_has_a_case_for_each_digest_and_the_gate(report: Report) -> None:
    tree = ElementTree.fromstring(as_junit(report, ["slower > 0"]).split("\n", 1)[1])
    assert (tree.get("tests"), tree.get("failures")) == ("9", "2")
    named = [case.get("name", "")[:16] for case in tree if case.find("failure") is not None]
    assert named == [digest_name(5), "--fail-on"]


def test_control_characters_and_lone_surrogates_are_removed_from_junit(report: Report) -> None:
    entry = entry_of(report.digests[0], {"verdict": "inconclusive", "why": "a\x00b", "text": "c\ud800\x1bd"})
    text = as_junit(Report(report.tape, report.a, report.b, digests=[entry]), [])
    case = ElementTree.fromstring(text.split("\n", 1)[1])[0]
    assert (case.get("name") or "").endswith(" c? d")
    assert case.find("skipped").get("message") == "a b"  # type: ignore[union-attr]
