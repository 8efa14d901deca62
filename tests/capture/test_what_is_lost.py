# SPDX-License-Identifier: Apache-2.0
"""What is certainly not on a tape stands in its summary and in the exit code, whatever else the input holds."""

from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source

from tests.helpers.command_line import run_here
from tests.helpers.log_writers import KINDS, make_statements

NATIVE = ["slow", "general", "audit", "binlog"]  # ProxySQL's refuses files of two kinds


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "other"), [(a, b) for a in NATIVE for b in [*NATIVE, "proxysql"] if a != b])
def test_a_file_of_another_kind_among_several_is_said(name: str, other: str, tmp_path: Path) -> None:
    """Nothing of it is on the tape: the second line says so, once, and the exit code is 4."""
    kind, write, extra = KINDS[name]
    (tmp_path / "a.log").write_bytes(write(make_statements([100, 200, 3000], 1)))
    (tmp_path / "b.log").write_bytes(KINDS[other][1](make_statements([150, 900, 80, 60, 5000], 2)))
    info = capture_source(
        SOURCES[kind], [str(tmp_path / "a.log"), str(tmp_path / "b.log")], tmp_path / "t", Settings(extra=extra)
    )
    assert info["problems"]["foreign_file"] == 1
    done = run_here("capture", kind, str(tmp_path / "a.log"), str(tmp_path / "b.log"), "-o", str(tmp_path / "o.tape"))
    assert done.code == 4
    lines = [line for line in done.out.splitlines() if not line.startswith("capture:")]
    assert "NOT ALL OF THE INPUT IS ON THE TAPE: 1 file has no event" in lines[1]


def test_a_loss_behind_many_harmless_problems_is_said(tmp_path: Path) -> None:
    """Ten thousand problems of each kind are listed; none of a kind keeps another kind from being told."""
    rows = [b"2024-06-10T06:13:20.%06dZ\t    7 Query\tSELECT 'it's'\n" % number for number in range(12_000)]
    (tmp_path / "a.log").write_bytes(b"".join(rows) + b"2024-06-10T06:13:21.000000Z\t 7 Quit\t\nno row at all\n")
    done = run_here("capture", "general", str(tmp_path / "a.log"), "-o", str(tmp_path / "o.tape"))
    assert done.code == 4
    assert "10,000 unbalanced_quote" in done.out
    assert "1 more_problems" in done.out
    assert "1 place was not understood" in done.out
