# SPDX-License-Identifier: Apache-2.0
"""Page orders: the input for a page, or the reason why no page can be made."""

import json
from pathlib import Path

import pytest
from querytape.common.errors import QuerytapeError
from querytape.common.files import hold
from querytape.schemas import tape_id
from querytape.serve.orders import Order, order_of, pair_of, tape_said
from querytape.serve.shelf import Shelf

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """Create a folder with a tape, two runs and a comparison of one round."""
    tape = make_tape(tmp_path / "a.tape", [{"statement": "SELECT 1"}])
    for name in ("x.run", "y.run", "u.compare/a1.run", "u.compare/b1.run"):
        make_run(tmp_path / name, tape, [{}])
    plan = f'tape = "{tape}"\nrounds = 1\nddl = ["ALTER"]\n[target]\na = "x"\nb = "y"\n'
    (tmp_path / "u.compare" / "plan.toml").write_text(plan)
    return Shelf(tmp_path)


def test_page_orders_name_their_input(shelf: Shelf) -> None:
    """A page order is for a tape, a run, a comparison or two runs. Each order arrives unchanged in the maker process."""
    root = shelf.root
    tape = str(root / "a.tape")
    tape_order = order_of(shelf, shelf.entry("a.tape"))
    assert (tape_order.kind, tape_order.tape) == ("tape", tape)
    run = order_of(shelf, shelf.entry("x.run"))
    assert (run.kind, run.tape, run.a, run.b) == ("report", tape, (str(root / "x.run"),), ())
    both = order_of(shelf, shelf.entry("u.compare"))
    assert both.a == (str(root / "u.compare/a1.run"),)
    assert both.b == (str(root / "u.compare/b1.run"),)
    assert (both.ddl, both.plans) == (("ALTER",), None)
    (root / "u.compare" / "plans").mkdir()
    assert order_of(shelf, shelf.entry("u.compare")).plans == str(root / "u.compare/plans")
    pair = pair_of(shelf, shelf.entry("y.run"), shelf.entry("x.run"))
    assert (pair.a, pair.b) == ((str(root / "y.run"),), (str(root / "x.run"),))
    for order in (tape_order, run, both, pair):
        assert Order.from_json(order.as_json()) == order


def test_page_order_changes_with_its_input_files(shelf: Shelf) -> None:
    """A changed run.json, tape.json or plans.json changes the page order, so that the page is made again."""
    root = shelf.root
    (root / "u.compare" / "plans").mkdir()
    seen = set()
    for file in (None, "a.tape/tape.json", "u.compare/a1.run/run.json", "u.compare/b1.run/run.json"):
        if file is not None:
            (root / file).write_text((root / file).read_text() + " ")
        seen.add(order_of(shelf, shelf.entry("u.compare")))
    (root / "u.compare" / "plans" / "plans.json").write_text("{}")
    seen.add(order_of(shelf, shelf.entry("u.compare")))
    assert len(seen) == 5


def test_unfinished_run_has_an_explanation_instead_of_a_report(shelf: Shelf) -> None:
    root = shelf.root
    for name, sentence in (("a.tape", "the capture is running"), ("x.run", "the replay is running")):
        with hold(root / name), pytest.raises(QuerytapeError, match=sentence):
            order_of(shelf, shelf.entry(name))
    for name, file, sentence in (
        ("a.tape", "tape.json", "the capture was killed"),
        ("x.run", "run.json", "the replay was killed"),
    ):
        info = json.loads((root / name / file).read_text())
        (root / name / file).write_text(json.dumps({**info, "finished": False}))
        with pytest.raises(QuerytapeError, match=sentence):
            order_of(shelf, shelf.entry(name))
    (root / "u.compare" / "b1.run" / "run.json").unlink()
    with pytest.raises(QuerytapeError, match="no round is complete"):
        order_of(shelf, shelf.entry("u.compare"))
    with pytest.raises(QuerytapeError, match="not a run"):
        pair_of(shelf, shelf.entry("y.run"), shelf.entry("u.compare"))
    with pytest.raises(QuerytapeError, match="two different runs"):
        pair_of(shelf, shelf.entry("y.run"), shelf.entry("y.run"))


def test_files_outside_the_folder_are_not_read(shelf: Shelf, tmp_path: Path) -> None:
    """In the first case the run names a tape outside the folder. In other cases the run or tape contains links, or the
    plan is a link.
    """
    root = shelf.root
    outside = make_tape(tmp_path.parent / "outside.tape", [{"statement": "SELECT 1"}])
    info = json.loads((root / "x.run" / "run.json").read_text())
    info["tape"]["path"] = str(outside)
    (root / "x.run" / "run.json").write_text(json.dumps(info))
    with pytest.raises(QuerytapeError, match="is not in the served folder"):
        order_of(shelf, shelf.entry("x.run"))
    info["tape"]["id"] = tape_id(json.loads((root / "a.tape" / "tape.json").read_text()))
    (root / "x.run" / "run.json").write_text(json.dumps(info))
    assert order_of(shelf, shelf.entry("x.run")).tape == str(root / "a.tape")
    (root / "y.run" / "outcomes" / "part-1.parquet").symlink_to(outside / "tape.json")
    with pytest.raises(QuerytapeError, match="symbolic link"):
        order_of(shelf, shelf.entry("y.run"))
    (root / "u.compare" / "a1.run").rename(tmp_path.parent / "moved.run")
    (root / "u.compare" / "a1.run").symlink_to(tmp_path.parent / "moved.run")
    with pytest.raises(QuerytapeError, match="symbolic link"):
        order_of(shelf, shelf.entry("u.compare"))


@pytest.mark.parametrize("said", [None, 1, "x", [], {"path": 1, "id": []}])
def test_tape_name_in_a_run_must_be_a_text(tmp_path: Path, said: object) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"format_version": 1, "tape": said}))
    assert tape_said(tmp_path) == {}
