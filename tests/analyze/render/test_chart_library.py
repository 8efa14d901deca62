# SPDX-License-Identifier: Apache-2.0
"""The chart library for the report pages is bundled once and works without a cache."""

from pathlib import Path

import pytest
from querytape.analyze.render.chart_library import chart_library

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_chart_library_is_bundled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chart script is stored in a cache for later reports. If the cache cannot be written, the script is built for
    each report.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    chart_library.cache_clear()
    made = chart_library()
    (kept,) = (tmp_path / "querytape").iterdir()
    assert "vegaEmbed" in made
    assert "</script" not in made
    kept.write_text("kept")
    chart_library.cache_clear()
    assert chart_library() == "kept"
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    chart_library.cache_clear()
    assert chart_library() == made
