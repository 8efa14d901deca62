# SPDX-License-Identifier: Apache-2.0
"""The creation of one page in a separate process."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from querytape.analyze import summary
from querytape.common.errors import FolderError
from querytape.serve.maker import answer, sweep
from querytape.serve.orders import Order
from querytape.serve.page_cache import PROGRAM

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow

LEVEL = {"sessions": 1, "statements": 9, "errors": 0, "elapsed_ns": 10**9, "p50_ns": 5, "p95_ns": None, "p99_ns": 7}


def orders(root: Path) -> dict[str, Order]:
    tape = make_tape(root / "a.tape", [{"statement": "SELECT '<b>'"} for _ in range(40)])
    runs = [str(make_run(root / f"{name}.run", tape, [{}] * 40)) for name in "xy"]
    (root / "s.sweep").mkdir()
    (root / "s.sweep" / "sweep.json").write_text(json.dumps({"tape": "a", "target": "<i>", "levels": [LEVEL]}))
    (root / "nights").mkdir()
    return {
        "tape": Order("tape", str(tape)),
        "report": Order("report", str(tape), (runs[0],), (runs[1],)),
        "sweep": Order("sweep", str(root / "s.sweep")),
        "nights": Order("nights", str(root / "nights")),
    }


def test_maker_makes_each_kind_of_page(tmp_path: Path) -> None:
    """Reports are complete pages, and the history is JSON. Damaged or missing input leads to an error message."""
    made = {kind: answer(order, "500MB") for kind, order in orders(tmp_path).items()}
    assert [problem for problem, _ in made.values()] == [None] * 4
    for kind in ("tape", "report", "sweep"):
        assert made[kind][1].startswith("<!doctype html>")
        assert made[kind][1].rstrip().endswith("</html>")
        assert "<i>" not in made[kind][1]
    assert json.loads(made["nights"][1])["nights"] == []
    part = next((tmp_path / "a.tape").glob("events/*.parquet"))
    part.write_bytes(part.read_bytes()[:50])
    problem, page = answer(Order("tape", str(tmp_path / "a.tape")), "500MB")
    assert problem
    assert page == ""
    assert answer(Order("report", "/missing", ("/x",)), "500MB")[0] == "/missing: no such tape"


def test_pages_write_nothing_into_the_served_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report of the command line keeps the counts of many events in the folder of a run."""
    monkeypatch.setattr(summary, "KEPT_EVENTS", 0)
    given = orders(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for order in given.values():
        assert answer(order, "500MB")[0] is None
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "said",
    [
        *(None, [], {}, {"levels": []}, {"tape": "a", "target": "b", "levels": [{}]}),
        *(
            {"tape": "a", "target": "b", "levels": [{**LEVEL, "sessions": value}]}
            for value in ("<", -1, True, 1.5, None)
        ),
    ],
)
def test_invalid_sweep_json_is_an_error_message(tmp_path: Path, said: object) -> None:
    (tmp_path / "sweep.json").write_text(json.dumps(said))
    with pytest.raises(FolderError, match="not a valid file of a sweep"):
        sweep(tmp_path)


def test_maker_process_answers_and_ends(tmp_path: Path) -> None:
    """The maker process writes one line of JSON, then the page. The temporary folder is empty afterwards."""
    order = orders(tmp_path / "d")["tape"]
    (tmp_path / "tmp").mkdir()
    line = json.dumps({"order": order.as_json(), "memory": "500MB"}).encode() + b"\n"
    with subprocess.Popen(
        PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        head, page = process.stdout.readline(), process.stdout.read()
    assert json.loads(head) == {"problem": None}
    assert page.startswith(b"<!doctype html>")
    assert (process.returncode, list((tmp_path / "tmp").iterdir())) == (0, [])


def test_maker_process_ends_with_its_server(tmp_path: Path) -> None:
    """The maker process ends when its standard input closes while the page is made. Its temporary files are removed."""
    tape = make_tape(tmp_path / "a.tape", "SELECT 1 AS session, n + 1 AS seq, 'query' AS command, n * 1000 AS start_ns,"
                     " 1000 AS precision_ns, 0 AS file, n AS \"offset\", 0 AS flags, 'SELECT 1'::BLOB AS statement,"
                     " 'read' AS class, 0 AS actions, printf('%016x', n % 50000) AS digest, 5 AS duration_ns"
                     " FROM range(400000) t(n)")  # fmt: skip
    (tmp_path / "tmp").mkdir()
    line = json.dumps({"order": Order("tape", str(tape)).as_json(), "memory": "500MB"}).encode() + b"\n"
    process = subprocess.Popen(
        PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    )
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()
    while not any((tmp_path / "tmp").iterdir()):
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()  # the process ignores the signal
    time.sleep(0.05)
    assert process.poll() is None
    process.stdin.close()
    assert process.wait(60) == 1
    assert process.stdout is not None
    assert process.stdout.read() == b""
    assert list((tmp_path / "tmp").iterdir()) == []
    process.stdout.close()
    assert subprocess.run(PROGRAM, stdin=subprocess.DEVNULL, capture_output=True, timeout=60).stdout == b""
