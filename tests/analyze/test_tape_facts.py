# SPDX-License-Identifier: Apache-2.0
"""Anonymous properties of a tape for bug reports: numbers only, without any text from outside."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from querytape.analyze import tape_facts
from querytape.capture.tools.deal import deal
from querytape.cli.commands.inspect_tape import inspect_command
from querytape.common.errors import OptionError

from tests.helpers.tapes import MS, make_tape

STRANGE = "zqkvbnmw"  # a word that querytape never uses


def tape_of_strange_words(path: Path) -> Path:
    """Write a tape that contains the strange word in each text that a tape can have."""
    event = {
        "user": STRANGE,
        "host": STRANGE,
        "db": STRANGE,
        "statement": f"SELECT '{STRANGE}' FROM {STRANGE}",
        "error": STRANGE,
        "params": f'["{STRANGE}"]',
        "class": "read",
        "duration_ns": MS,
    }
    events: list[dict[str, Any]] = [
        {**event, "session": 1 + number % 3, "start_ns": number * MS, "errno": 1064 * (number % 2), "flags": 8}
        for number in range(12)
    ]
    words: dict[str, Any] = {
        "source": f"{STRANGE} of A",
        "measuring_point": STRANGE.upper(),
        "server_version": f"10.11.6-MariaDB-{STRANGE}",
        "files": [{"path": f"/{STRANGE}/{STRANGE}.log", "bytes": 17}],
        "warnings": [{"kind": "stopped", "text": STRANGE}, {"kind": f"{STRANGE}!", "text": STRANGE}],
        "problems": {"unbalanced_quote": 2, f"{STRANGE} {STRANGE}": 1},
    }
    return make_tape(path, events, **words)


def strings(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {text for each in value.values() for text in strings(each)}
    if isinstance(value, list):
        return {text for each in value for text in strings(each)}
    return {value} if isinstance(value, str) else set()


def test_facts_contain_no_text_from_outside(tmp_path: Path) -> None:
    """The properties contain no words of an application, file name or server. They contain the numbers of the tape."""
    facts = tape_facts(tape_of_strange_words(tmp_path / "s.tape"))
    assert not [text for text in strings(facts) if STRANGE in text.lower()]
    assert all(re.fullmatch(r"[a-zA-Z0-9_. ]{1,40}", text) for text in strings(facts))
    assert (facts["source"], facts["server"]) == ("other", "10.11.6 MariaDB")
    assert facts["warnings"] == ["other", "stopped"]
    assert facts["problems"] == {"unbalanced_quote": 2, "other": 1}
    assert facts["errors"] == {"1064": 6}
    assert facts["flags"] == {"truncated": 12}
    assert facts["counts"]["events"] == 12
    assert facts["commands"]["query"]["events"] == 12
    assert facts["classes"]["read"]["events"] == 12
    assert (facts["values"]["user"], facts["values"]["checksum"]) == (12, 0)
    assert facts["totals"]["p99_ns"] is not None


def test_numbers_of_a_tape_set_equal_those_of_its_single_tape(tmp_path: Path) -> None:
    tape = tape_of_strange_words(tmp_path / "s.tape")
    deal(tape, 3, tmp_path / "s.set")
    mine, dealt = tape_facts(tape), tape_facts(tmp_path / "s.set")
    assert dealt.pop("tapes_of_a_set") == 3
    mine["counts"]["digests"] = mine["totals"]["digests"] = 1  # a constructed tape contains 0
    for facts in (mine, dealt):
        for of_files in ("parts", "part_bytes", "tapes_of_a_set", "written_by"):
            facts.pop(of_files, None)
    assert dealt == mine


def test_inspect_facts_command(tmp_path: Path) -> None:
    """`inspect --facts` prints the numbers and the library versions. Options that show more are refused."""
    tape = str(tape_of_strange_words(tmp_path / "s.tape"))
    done = CliRunner().invoke(inspect_command, [tape, "--facts"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["libraries"]
    for more in ("--samples", "--problems"):
        found = CliRunner().invoke(inspect_command, [tape, "--facts", more])
        assert isinstance(found.exception, OptionError)


@pytest.mark.parametrize("kept", ["0.1.0", "8.0.31", "5.7", "10.4.28.1"])
def test_only_the_numbers_in_a_version_string_are_kept(kept: str, tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}], server_version=f"{kept}-{STRANGE}")
    assert tape_facts(tape)["server"] == kept
