# SPDX-License-Identifier: Apache-2.0
"""Percona Toolkit's fingerprints and ids, which must be equal byte for byte, and their columns on a tape."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.pt_fingerprint import pt_fingerprint, pt_id

from tests.helpers.duck import query

from ..helpers.dialogue import Dialogue, rows, write_pcap

CASES = {
    b"SELECT c FROM t WHERE id=1": (b"select c from t where id=?", "5F47280C0D7DCF5CCB5621E548E5497F"),
    b"SELECT a - 1 FROM t": (b"select a ? ? from t", "02D5F77E681DC476E0C5EAFC3C500840"),
    b"select sleep(2) from n": (b"select sleep(?) from n", "AE9D6BB6AF470B997F7D57ACDD8A346E"),
}


@pytest.mark.parametrize("statement", sorted(CASES))
def test_known_statements_have_the_right_fingerprints_and_ids(statement: bytes) -> None:
    """Each fingerprint has a text and an id of 32 digits."""
    text, name = CASES[statement]
    assert pt_fingerprint(statement) == text
    assert pt_id(text) == name


def test_fingerprints_equal_those_of_percona_toolkit(samples: Path) -> None:
    """The sample has 95 statements with the results of the Perl program: the texts in both modes, and the ids in both
    lengths.
    """
    lines = (samples / "expected" / "fingerprints.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 95
    for line in lines:
        case = json.loads(line)
        statement = case["query"].encode()
        text = pt_fingerprint(statement)
        assert text == case["pt_3.5.7"].encode()
        assert (
            pt_fingerprint(statement, keep_embedded_numbers=True) == case["pt_3.5.7_preserve_embedded_numbers"].encode()
        )
        assert (pt_id(text), pt_id(text)[16:]) == (case["pt_checksum32"], case["id16"])


def test_digests_on_a_tape_have_percona_ids(tmp_path: Path) -> None:
    """The Percona id of a digest is computed from the digest's sample statement. If the sample is too long, the digest
    has no Percona id.
    """
    dialogue = Dialogue().logged_in().ask(b"SELECT c FROM t WHERE id=1", rows([b"1"]))
    dialogue.ask(b"SELECT '" + b"x" * 20_000 + b"'", rows([b"1"])).close()
    capture_source(
        SOURCES["packets"], [str(write_pcap(tmp_path / "a.pcap", [dialogue]))], tmp_path / "a.tape", Settings()
    )
    found = query(f"SELECT pt_id FROM '{tmp_path}/a.tape/digests.parquet' ORDER BY sample_bytes")
    assert found == [("5F47280C0D7DCF5CCB5621E548E5497F",), (None,)]


def test_command_prints_ids_and_texts() -> None:
    """For each statement, the output has one line with querytape's or Percona's fingerprint."""
    command = [sys.executable, "-m", "querytape", "fingerprint"]
    text = b"SELECT c FROM t WHERE id=1\n\n"
    done = subprocess.run([*command, "--pt16"], input=text, capture_output=True, timeout=60)
    assert done.stdout == b"CB5621E548E5497F  select c from t where id=?\n"
    done = subprocess.run(command, input=text, capture_output=True, timeout=60)
    assert done.stdout.endswith(b"  select c from t where id = ?\n")
