# SPDX-License-Identifier: Apache-2.0
"""Checks before DDL is tried. tests/cli/commands/test_try_ddl.py tests the trial itself."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from querytape.analyze import build
from querytape.common.errors import InputError
from querytape.experiments.try_ddl import Copies, check_ddl, check_room, sentences, size_of, usual_schema

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


def test_only_ddl_is_tried() -> None:
    """A statement that changes rows, accounts or the server is refused before a server is started."""
    check_ddl(
        ["ALTER TABLE t ADD INDEX k (a)", "create unique index k on t (a)", "DROP INDEX k ON t", "ANALYZE TABLE t"]
    )
    for text in ("SELECT 1", "DELETE FROM t", "SET GLOBAL a = 1", "SHUTDOWN", "GRANT ALL ON *.* TO a", "", "COMMIT"):
        with pytest.raises(InputError, match="--ddl: expected a DDL statement"):
            check_ddl(["ALTER TABLE t ADD INDEX k (a)", text])


def test_data_folder_must_be_usable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder must belong to a server that is not running. The disk must have space for three copies."""
    with pytest.raises(InputError, match="expected the data folder of a stopped server"):
        check_room(tmp_path)
    (tmp_path / "ibdata1").write_bytes(b"x" * 1_000_000)
    check_room(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=2_000_000))
    with pytest.raises(InputError, match="three copies of this folder need 3 MB, but /tmp has only 2 MB free"):
        check_room(tmp_path)
    monkeypatch.undo()
    (tmp_path / "host.pid").write_text("1")
    with pytest.raises(InputError, match="a server is probably using the folder"):
        check_room(tmp_path)
    assert size_of(tmp_path) == 1_000_001


def test_ddl_runs_in_the_schema_with_the_most_statements(tmp_path: Path) -> None:
    """The schema of the DDL is found by counting the tape's statements. If the tape contains no schemas, no schema is
    used.
    """
    events = [{"statement": f"SELECT {n}", "db": db} for n, db in enumerate(("a", "b", "b", "", None))]
    assert usual_schema(make_tape(tmp_path / "t.tape", events)) == "b"
    assert usual_schema(make_tape(tmp_path / "u.tape", [{"statement": "SELECT 1"}])) is None


@pytest.mark.slow
def test_reads_and_writes_are_counted_separately(tmp_path: Path) -> None:
    """Each changed digest is named. If no digest is faster, the answer states that."""
    events = [
        *({"statement": "SELECT a FROM t", "digest": f"{1:016x}"} for _ in range(200)),
        *({"statement": "UPDATE t SET a = 1", "class": "write", "digest": f"{2:016x}"} for _ in range(200)),
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    sides: list[list[Path]] = []
    for side, read_ns, write_ns in (("a", 9_000_000, 1_000_000), ("b", 1_000_000, 3_000_000)):
        times = [read_ns] * 200 + [write_ns] * 200
        rows = [{"sent_ns": n * 10**7, "done_ns": n * 10**7 + ns + n % 7 * 1000} for n, ns in enumerate(times)]
        sides.append([make_run(tmp_path / f"{side}{k}.run", tape, rows) for k in range(4)])
    made = Copies({}, [("ALTER TABLE t ADD INDEX k (a)", 2_000_000_000)], 5_000_000)
    text = "\n".join(sentences(build(tape, sides[0], sides[1]), made))
    assert "DDL: ALTER TABLE t ADD INDEX k (a) (duration 2.00s); data size increased by 5.0 MB" in text
    assert "reads: 1 faster\nwrites: 1 slower" in text
    assert "slower write: update t set a = " in text
    assert "faster read: select a from t (takes 0.1" in text
    assert "no digest has the verdict" not in text
    same = "\n".join(sentences(build(tape, sides[0][:3], sides[0][:3]), made))
    assert "no digest has the verdict 'faster'" in same
