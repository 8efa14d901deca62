# SPDX-License-Identifier: Apache-2.0
"""Tests of report options: settings, refused values and the output file."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import pytest
from querytape.analyze import Margin
from querytape.cli.report_options import settings_of, write, write_or_print
from querytape.common.errors import InputError

OPTIONS: dict[str, Any] = {
    "fail_on": None,
    "open_it": False,
    "html": None,
    "tables": None,
    "charts": None,
    "margin": Fraction(1, 10),
    "margin_time": 50_000,
    "samples": False,
    "exclude_warmup": 0,
    "memory": "1500MB",
    "undisturbed": False,
}


def test_command_defaults_equal_library_defaults() -> None:
    settings = settings_of(OPTIONS)
    assert settings.margin == Margin()
    assert not settings.samples


def test_invalid_report_options_are_refused_before_reading_runs(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="unknown 'slowerr'"):
        settings_of({**OPTIONS, "fail_on": "slowerr > 0"})
    with pytest.raises(click.UsageError, match="--open: expected --html FILE"):
        settings_of({**OPTIONS, "open_it": True})
    with pytest.raises(InputError, match="already exists"):
        settings_of({**OPTIONS, "tables": tmp_path})


def test_output_dash_writes_the_report_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    write_or_print(Path("-"), "text")
    assert capsys.readouterr().out == "text"


def test_report_file_is_private_and_replaces_a_symbolic_link(tmp_path: Path) -> None:
    """The link's target stays unchanged. Only the owner can read the report. If the write fails, no file remains."""
    victim, link = tmp_path / "victim", tmp_path / "report.html"
    victim.write_text("mine")
    link.symlink_to(victim)
    write(link, "report")
    assert (victim.read_text(), link.read_text(), link.is_symlink()) == ("mine", "report", False)
    assert link.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        write(tmp_path / "none" / "x", "report")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "victim"]
    write(Path("/dev/null"), "report")
    assert Path("/dev/null").is_char_device()
