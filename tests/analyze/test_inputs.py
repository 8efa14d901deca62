# SPDX-License-Identifier: Apache-2.0
"""The views of a report's inputs, also of shares of the sessions."""

from contextlib import closing
from pathlib import Path

import pytest
from querytape.analyze import Settings
from querytape.analyze.database import open_analysis
from querytape.analyze.inputs import Share, create_views, open_report, set_variables, without_events
from querytape.common.errors import InputError

from ..helpers.runs import make_run
from ..helpers.tapes import make_tape, reads
from .test_any_order import varied

VIEWS = ("tape_event", "every_outcome", "run_session")


@pytest.mark.parametrize(("of", "seed"), [(1, 0), (2, 0), (2, 9), (7, 3)])
def test_each_session_is_in_one_share(of: int, seed: int, tmp_path: Path) -> None:
    report = open_report(*varied(tmp_path), Settings())
    counted = []
    for number in range(of):
        with closing(open_analysis()) as database:
            set_variables(database, report)
            create_views(database, report, Share(number, of, seed))
            found = {view: database.con.execute(f"SELECT session FROM {view}").fetchall() for view in VIEWS}
        counted.append(found)
    with closing(open_analysis()) as database:
        create_views(database, report)
        for view in VIEWS:
            whole = database.con.execute(f"SELECT session FROM {view}").fetchall()
            assert sorted(row for found in counted for row in found[view]) == sorted(whole)
    sessions = [{row for view in VIEWS for row in found[view]} for found in counted]
    assert sum(map(len, sessions)) == len(set.union(*sessions))


def test_views_without_events_keep_their_columns(tmp_path: Path) -> None:
    report = open_report(*varied(tmp_path), Settings())
    with closing(open_analysis()) as database:
        create_views(database, report)
        columns = [database.con.execute(f"DESCRIBE {view}").fetchall() for view in VIEWS[:2]]
        without_events(database, report)
        assert [database.con.execute(f"DESCRIBE {view}").fetchall() for view in VIEWS[:2]] == columns
        assert [database.con.execute(f"FROM {view}").fetchall() for view in VIEWS[:2]] == [[], []]


def test_run_of_another_tape_is_refused(tmp_path: Path) -> None:
    tape, other = make_tape(tmp_path / "a.tape", reads(4)), make_tape(tmp_path / "b.tape", reads(9))
    run = make_run(tmp_path / "b.run", other, [{}] * 9)
    with pytest.raises(InputError, match="is a run of another tape"):
        open_report(tape, [run], [], Settings())
