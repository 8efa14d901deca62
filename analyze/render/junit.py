# SPDX-License-Identifier: Apache-2.0
"""Write a report as a JUnit file with one test case per digest, plus one for the gate.

A case fails if its digest is slower or has new errors.
"""

from xml.etree import ElementTree

from ..model import DigestEntry, Report
from ..verdicts.verdict import ERRORS, INCONCLUSIVE, SLOWER

MAX_NAME = 200
# Control characters that XML 1.0 does not allow. They are replaced by spaces.
NOT_IN_XML = {code: " " for code in range(32) if code not in (9, 10, 13)}


def as_junit(report: Report, failed_gates: list[str]) -> str:
    """Return the XML. `failed_gates`: the true parts of --fail-on."""
    gate = ElementTree.Element("testcase", classname="querytape.gate", name="--fail-on")
    if failed_gates:
        ElementTree.SubElement(gate, "failure", message=_xml_text(", ".join(failed_gates)))
    cases = [*(_case(entry) for entry in report.digests), gate]
    failures = sum(1 for case in cases if case.find("failure") is not None)
    skipped = sum(1 for case in cases if case.find("skipped") is not None)
    suite = ElementTree.Element(
        "testsuite", name="querytape", tests=str(len(cases)), failures=str(failures), skipped=str(skipped), errors="0"
    )
    suite.extend(cases)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _case(entry: DigestEntry) -> ElementTree.Element:
    name = _xml_text(f"{entry['digest']} {entry['text']}"[:MAX_NAME])
    case = ElementTree.Element("testcase", classname="querytape.digest", name=name)
    if entry["verdict"] in (SLOWER, ERRORS):
        failure = ElementTree.SubElement(case, "failure", message=_xml_text(f"{entry['verdict']}: {entry['why']}"))
        failure.text = _xml_text(entry["text"])
    elif entry["verdict"] == INCONCLUSIVE:
        ElementTree.SubElement(case, "skipped", message=_xml_text(entry["why"]))
    return case


def _xml_text(text: str) -> str:
    return text.translate(NOT_IN_XML).encode("utf-8", "replace").decode("utf-8")
