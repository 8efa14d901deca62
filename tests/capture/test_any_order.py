# SPDX-License-Identifier: Apache-2.0
"""Tapes do not depend on the number of threads, the query optimizer, or the order of rows without ORDER BY."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.capture import Settings, capture
from querytape.capture.tools.deal import deal
from querytape.capture.tools.derive import derive
from querytape.capture.tools.export import FORMATS, export
from querytape.capture.tools.gather import gather
from querytape.capture.tools.pseudonymize import pseudonymize
from querytape.common.duck import sql_text
from querytape.schemas.event_filter import EventFilter

from tests.helpers.any_order import VARIANTS, answering, shuffle_files
from tests.helpers.duck import query
from tests.helpers.tapes import SECOND, T0, make_tape

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1]
SAMPLES = json.loads((TESTS / "samples" / "samples.json").read_text(encoding="utf-8"))
PORTS = tuple(sample["port"] for sample in SAMPLES.values())
INPUTS = sorted(
    path
    for folder in ("samples", "capture/sources/logs")
    for path in (TESTS / folder).iterdir()
    if path.suffix != ".json"
)


def tables(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of each Parquet file in a folder, in file order. Rows of the events' files are sorted."""
    found = {
        str(file.relative_to(folder)): query(f"FROM read_parquet({sql_text(file)})")
        for file in sorted(folder.rglob("*.parquet"))
    }
    return {name: sorted(rows, key=repr) if "events" in name else rows for name, rows in found.items()}


@pytest.mark.sampled
@pytest.mark.parametrize("log", INPUTS, ids=lambda path: path.name)
def test_repeated_captures_give_the_same_tape(log: Path, tmp_path: Path) -> None:
    """Each kind of log, and each capture file of packets, is captured several times."""
    settings = Settings(extra={"port": PORTS} if log.suffix == ".pcap" else {})
    capture(log, tmp_path / "usual.tape", options=settings)
    for variant in VARIANTS:
        with answering(variant):
            capture(log, tmp_path / f"{variant}.tape", options=settings)
        assert tables(tmp_path / f"{variant}.tape") == tables(tmp_path / "usual.tape")


def whole_seconds(path: Path, seed: int) -> Path:
    """Write a tape with times in whole seconds. Many events have equal times, and several have equal file offsets."""
    events = [
        {
            "session": 1 + (number * seed) % 7,
            "start_ns": T0 + number // 40 * SECOND,
            "duration_ns": number % 3 * SECOND,
            "statement": f"SELECT {number} FROM t{number % 4}",
            "digest": f"{number % 4:016x}",
            "user": f"u{number % 3}",
            "db": f"d{number % 2}",
            "offset": number // 5,
        }
        for number in range(400)
    ]  # fmt: skip
    return make_tape(path, events, 3, precision_ns=SECOND)


def dealt(tapes: list[Path], out: Path) -> None:
    """Distribute the sessions of a tape to three tapes."""
    deal(tapes[0], 3, out)


def merged(tapes: list[Path], out: Path) -> None:
    """Merge the tapes."""
    derive(tapes, out, EventFilter())


def filtered(tapes: list[Path], out: Path) -> None:
    """Keep the events of one user."""
    derive(tapes[:1], out, EventFilter(users=("u1",)))


def pseudonymized(tapes: list[Path], out: Path) -> None:
    """Replace values that may identify a person."""
    pseudonymize(tapes[0], out, b"k" * 16, accounts=True)


def gathered(tapes: list[Path], out: Path) -> None:
    """Gather merged tapes into a set."""
    out.mkdir()
    for number, tape in enumerate(tapes):
        derive([tape], out / f"{number}.tape", EventFilter())
    gather(out)


def exported(tapes: list[Path], out: Path) -> None:
    """Export the tape in each format. Return each line of the files as one row."""
    out.mkdir()
    for name in FORMATS:
        if name != "parquet":
            with (out / f"{name}.txt").open("wb") as file:
                export(tapes[0], name, file, out)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "tool", [dealt, merged, filtered, pseudonymized, gathered, exported], ids=lambda tool: tool.__name__
)
def test_tools_do_not_depend_on_row_order(tool: Callable[[list[Path], Path], None], tmp_path: Path) -> None:
    """Each tool gives the same result for any order of the rows in a tape's files."""
    tapes = [whole_seconds(tmp_path / f"{seed}.tape", seed) for seed in (1, 3)]
    tool(tapes, tmp_path / "usual")
    texts = {file.name: file.read_bytes() for file in (tmp_path / "usual").glob("*.txt")}
    for variant in VARIANTS:
        for tape in tapes:
            shuffle_files(tape, variant)
        out = tmp_path / f"out-{variant}"
        with answering(variant):
            tool(tapes, out)
        assert tables(out) == tables(tmp_path / "usual")
        assert {file.name: file.read_bytes() for file in out.glob("*.txt")} == texts
