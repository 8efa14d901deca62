# SPDX-License-Identifier: Apache-2.0
"""The workload as sections. Each entry has a cell for each column head, and empty sections are omitted."""

from pathlib import Path
from typing import Any

import pytest
from querytape.analyze import summarise_tape
from querytape.analyze.database import WORKLOAD
from querytape.analyze.render.workload_sections import SECTIONS, sections_of, without_values

from tests.analyze.workload.test_workload import buy, event
from tests.helpers.tapes import MS, SECOND, make_tape


def test_every_section_is_an_analysis_of_its_own() -> None:
    """Each section shows rows of database.WORKLOAD. The parse statistics have no section."""
    assert set(SECTIONS) <= set(WORKLOAD)
    assert all(len(section.widths) <= len(section.heads) for section in SECTIONS.values())


@pytest.mark.parametrize("samples", [False, True])
def test_entries_have_a_cell_for_each_column_head(samples: bool, tmp_path: Path) -> None:
    """Entries of statement lists have a name and a text. Entries of tables have neither."""
    events = [*buy(1, 1), *buy(2, 2, "ROLLBACK"), *buy(3, 3, ""), {"session": 3, "command": "quit"}]
    events += [event(4, "SELECT id FROM orders WHERE day = 1", rows_sent=3)] * 2
    events += [event(4, f"SELECT b FROM customer WHERE id = {n}") for n in range(12)]
    events += [
        event(5, text) for text in ("BEGIN", "DELETE FROM line WHERE o = 1", "DELETE FROM stock WHERE id = 1", "COMMIT")
    ]
    events += [
        event(n, "UPDATE stock SET a = 1 WHERE id = 77", lock_ns=5 * MS, start_ns=20 * SECOND) for n in (7, 8, 9)
    ]
    workload = summarise_tape(make_tape(tmp_path / "t.tape", events)).workload
    found = sections_of(workload, samples)
    assert len(found) >= 7
    for section, rows in found:
        assert rows
        for row in rows:
            entry = section.entry(row)
            assert len(entry.cells) == len(section.heads)
            assert all(isinstance(cell, str) for cell in (*entry.cells, *entry.more))
            assert bool(entry.name and entry.text) == (not section.widths)
    (hot,) = (rows for section, rows in found if section is SECTIONS["hot_rows"])
    assert any(SECTIONS["hot_rows"].entry(row).cells[1] == "id = 77" for row in hot) == samples


def test_only_hot_rows_contain_removable_values() -> None:
    workload: Any = {
        "hot_rows": [{"value": "4711", "number": 1}],
        "columns": [{"value": 1}],
    }
    found: Any = without_values(workload)
    assert found == {"hot_rows": [{"number": 1}], "columns": [{"value": 1}]}
