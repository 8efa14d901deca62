# SPDX-License-Identifier: Apache-2.0
"""Tests of the Grafana board: its queries use existing metrics, and Grafana's schema accepts each key.

The tests run without Grafana. They use the Foundation SDK, whose models are generated from Grafana's schema.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from querytape.metrics.names import HISTOGRAM, NAMES, TARGET_COUNTERS, TARGET_GAUGES

from tests.conftest import skip_loudly

LABELS = {"side", "round", "sessions", "job", "le"} | {label for name in NAMES for label in name.labels}


@pytest.fixture
def board(checkout: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((checkout / "docs" / "grafana" / "querytape.json").read_text(encoding="utf-8"))
    return found


def queries(board: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]


def test_queries_use_existing_metrics_and_labels(board: dict[str, Any]) -> None:
    """Every counter on the board is shown as a rate."""
    there = {name.shown for name in NAMES} | {f"{name.name}_sum" for name in NAMES if name.kind == HISTOGRAM}
    asked = [name for query in queries(board) for name in re.findall(r"querytape_\w+", query)]
    assert len(queries(board)) > 20
    assert set(asked) - there == set()
    for query in queries(board):
        assert set(re.findall(r"(\w+)=~?\"", query)) <= LABELS
        for by in re.findall(r"by \(([^)]*)\)", query):
            assert set(by.split(", ")) <= LABELS
        assert bool(re.search(r"_(total|bucket|sum)\b", query)) == ("rate(" in query)


def test_variables_of_queries_exist_as_counters_or_gauges(board: dict[str, Any]) -> None:
    shown = {"events_total": TARGET_COUNTERS, "state": TARGET_GAUGES}
    for query in queries(board):
        for metric, names in re.findall(r'querytape_target_(\w+)\{.*variable=~"([^"]*)"', query):
            assert set(names.split("|")) - set(shown[metric]) == set()


def test_panels_do_not_overlap(board: dict[str, Any]) -> None:
    """Each panel has a unique number and its own place on a page of 24 columns."""
    places: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        mine = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not mine & places
        assert max(x for x, _ in mine) < 24
        places |= mine
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def lost(given: Any, kept: Any, path: str = "") -> Iterator[str]:
    """Yield the path of each value of the first board that is changed or missing in the second board."""
    if isinstance(given, dict) and isinstance(kept, dict):
        for key, value in given.items():
            yield from lost(value, kept[key], f"{path}/{key}") if key in kept else [f"{path}/{key}"]
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for place, value in enumerate(given):
            yield from lost(value, kept[place], f"{path}/{place}")
    elif given != kept:
        yield path


def test_grafana_schema_accepts_every_key(board: dict[str, Any], request: pytest.FixtureRequest) -> None:
    """Grafana's models read the board and write it again without loss. The models would drop a misspelt key."""
    try:
        from grafana_foundation_sdk.cog.encoder import JSONEncoder
        from grafana_foundation_sdk.cog.plugins import register_default_plugins
        from grafana_foundation_sdk.models.dashboard import Dashboard
    except ImportError:
        skip_loudly(request, "no grafana-foundation-sdk: the Grafana board is not held against Grafana's schema")
        return
    register_default_plugins()

    def again(given: dict[str, Any]) -> Any:
        return json.loads(JSONEncoder().encode(Dashboard.from_json(given)))

    assert list(lost(board, again(board))) == []
    board["panels"][1]["fieldConfig"]["defaults"]["custom"]["drawStile"] = "line"
    board["templating"]["list"][0]["quary"] = "prometheus"
    assert sorted(lost(board, again(board))) == [
        "/panels/1/fieldConfig/defaults/custom/drawStile", "/templating/list/0/quary",
    ]  # fmt: skip
