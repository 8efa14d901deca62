# SPDX-License-Identifier: Apache-2.0
"""A small part of a tape has the logins of its sessions, even if these are much older."""

from pathlib import Path

import duckdb
import pytest
from querytape.capture.tools.older_logins import OLDER, OlderLogins


@pytest.mark.slow
def test_old_logins_are_kept(tmp_path: Path) -> None:
    """The tape has 30 parts with one session each. A piece of the last part includes the logins of its sessions, with
    the latest value last.
    """
    facts = tmp_path / "facts"
    facts.mkdir()
    logins = OlderLogins(facts, tmp_path / "logins.parquet", latest_parts=3)
    with duckdb.connect() as con:
        for number in range(30):
            name = f"part-{number:010d}.parquet"
            con.execute(
                f"COPY (SELECT {number} AS session, 'c{number}' AS charset UNION ALL SELECT 5, 'five-{number}')"
                f" TO '{facts / name}' (FORMAT parquet)"
            )
            small = tmp_path / f"{number:02d}"
            (small / "facts").mkdir(parents=True)
            events = small / name
            con.execute(f"COPY (SELECT unnest([0, 5, {number}]) AS session) TO '{events}' (FORMAT parquet)")
            logins.give(con, small, [events])
            files = sorted((small / "facts").iterdir())
            assert len(files) <= 7
            found: dict[int, str] = {}
            for file in files:
                found |= dict(con.execute(f"SELECT session, charset FROM '{file}'").fetchall())
            assert found[0] == "c0"
            assert found[number] == (f"c{number}" if number != 5 else "five-5")
            assert found[5] == f"five-{number}"
        older = con.execute(f"SELECT DISTINCT session FROM '{small / 'facts' / OLDER}' ORDER BY 1").fetchall()
    assert older == [(0,), (5,)]
