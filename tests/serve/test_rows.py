# SPDX-License-Identifier: Apache-2.0
"""The rows in the list of all entries."""

import json
from pathlib import Path

import pytest
from querytape.common.files import hold
from querytape.serve.rows import groups, host_of, line_of, plain, sentences, url_of
from querytape.serve.shelf import Found, Shelf

from .conftest import Everything


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("mysql://app:secret@10.0.0.7:3306/shop?ssl=1", "10.0.0.7:3306/shop"),
        ("mysql://app@host/", "host"),
        ("sandbox:mysql-8.0", "sandbox:mysql-8.0"),
        ("mysql://[", "a server"),
        ("", "a server"),
        ("x?password=secret", "x"),
    ],
)
def test_target_is_shown_without_user_and_password(target: str, shown: str) -> None:
    assert host_of(target) == shown


def test_entries_are_listed_under_the_title_of_their_kind(everything: Everything) -> None:
    """Runs in progress come first. Nested entries come last and are collapsed. Nights are not listed. Two complete runs
    can be compared.
    """
    shelf = Shelf(everything.root)
    found = {group.title: group for group in groups(shelf, shelf.find())}
    assert next(iter(found)) == "Under way"
    assert [line.name for line in found["Under way"].lines] == ["live.run"]
    assert [line.name for line in found["Nightly comparisons"].lines] == ["nights"]
    assert {line.name for line in found["Comparisons"].lines} == {"bad.compare", "u.compare"}
    assert found["Runs"].to_pair
    assert not found["Tapes"].to_pair
    inside = next(reversed(found.values()))
    assert inside.folded
    assert {line.name for line in inside.lines} == {"u.compare/a1.run", "u.compare/b1.run"}
    assert list(sentences(shelf.find())) == []
    assert len(list(sentences(Found(more=True, unreadable=2)))) == 2


def test_row_describes_its_entry(everything: Everything, tmp_path: Path) -> None:
    """A row has the size and source of a tape, or the targets and state of a run. An unreadable entry shows the reason
    without a local path.
    """
    shelf = Shelf(everything.root)
    assert line_of(shelf, shelf.entry("shop.tape")).what.startswith("60 events, 1 session, ")
    assert line_of(shelf, shelf.entry("x.run")).what.startswith("shop.tape on x (10.11.6-MariaDB), 60 executed, ")
    assert line_of(shelf, shelf.entry("u.compare")).what == "shop.tape: A x, B y, 1 of 1 round"
    nights = line_of(shelf, shelf.entry("nights"))
    assert (nights.what, nights.when) == ("14 nights, 14 complete", "2026-11-14 02:00")
    killed = line_of(shelf, shelf.entry("killed.run"))
    assert (killed.state, killed.url) == ("cut off", "/live/killed.run")
    for name in ("bad.tape", "bad.run", "bad.compare"):
        line = line_of(shelf, shelf.entry(name))
        assert line.state == "can't be read"
        assert str(everything.root) not in line.what
    assert plain(shelf, f"{everything.root}/a: x\x1b[1m") == "a: x [1m"
    assert url_of("run", "a b/<c>?#%") == "/run/a%20b/%3Cc%3E%3F%23%25"


def test_state_of_a_tape_is_captured_cut_off_or_complete(tmp_path: Path) -> None:
    folder = tmp_path / "a.tape"
    folder.mkdir()
    (folder / "tape.json").write_text(json.dumps({"format_version": 1, "finished": False}))
    shelf = Shelf(tmp_path)
    with hold(folder):
        assert line_of(shelf, shelf.entry("a.tape")).state == "capturing"
    assert line_of(shelf, shelf.entry("a.tape")).state == "cut off"


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [{"a": 1}], {"counts": 1, "name": ["<b>"]}])
def test_row_tolerates_any_json_value(tmp_path: Path, value: object) -> None:
    for kind in ("tape", "run"):
        folder = tmp_path / f"a.{kind}"
        folder.mkdir()
        keys = (
            "tape",
            "target",
            "counts",
            "source",
            "first_ns",
            "last_ns",
            "created",
            "partial",
            "accounting",
            "elapsed_ns",
        )
        info = {"format_version": 1, "finished": True, **dict.fromkeys(keys, value)}
        (folder / f"{kind}.json").write_text(json.dumps(info))
        shelf = Shelf(tmp_path)
        assert line_of(shelf, shelf.entry(f"a.{kind}")).name == f"a.{kind}"
