# SPDX-License-Identifier: Apache-2.0
"""The options of `querytape report` and `capture` for a Ray cluster. tests/cluster has the tests with a cluster."""

from pathlib import Path

import click
import pytest
from querytape.cli.cluster_options import own_folder, parse_memory

from ..helpers.processes import run_command
from ..helpers.runs import make_run
from ..helpers.tapes import make_tape, reads


@pytest.mark.parametrize(("text", "size"), [("1500MB", 1_500_000_000), ("1GiB", 1 << 30)])
def test_memory_is_that_of_the_database(text: str, size: int) -> None:
    assert parse_memory(text) == size


def test_invalid_memory_is_refused() -> None:
    with pytest.raises(click.UsageError, match="expected a size"):
        parse_memory("much")


def test_folder_of_the_tasks_is_private_and_removed(tmp_path: Path) -> None:
    with own_folder(tmp_path) as own:
        assert own.stat().st_mode & 0o077 == 0
        (own / "file").touch()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--cluster", "ray"), "--cluster requires --cluster-folder FOLDER"),
        (("--cluster-folder", "."), "--cluster-folder requires --cluster"),
        (("--insecure-cluster",), "--insecure-cluster requires --cluster"),
        (("--cluster", "dask"), "expected ray or ray:ADDRESS"),
        (("--cluster", "ray", "--cluster-folder", "s3://b/x"), "expected a path on this machine"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "a.tape", reads(4))
    run = make_run(tmp_path / "a.run", tape, [{}] * 4)
    done = run_command("report", tape, run, *words, check=False)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a.log", "--insecure-cluster"), "--insecure-cluster requires --cluster"),
        (("a.log", "--cluster-folder", "."), "--cluster-folder requires --cluster"),
        (("a.log", "--cluster", "ray", "--follow"), "--cluster: expected only names of files, found --follow"),
        (("-", "--cluster", "ray"), "--cluster: expected only names of files, found another input"),
        (("a.log", "--cluster", "ray"), "--cluster ray: this command runs without RAY_AUTH_MODE=token"),
    ],
)
def test_capture_on_a_cluster_needs_plain_files(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    (tmp_path / "a.log").write_text("x\n")
    done = run_command("capture", "slowlog", *words, "-o", "all.set", check=False)
    assert done.returncode != 0
    assert said in done.stderr
    assert not (tmp_path / "all.set").exists()
