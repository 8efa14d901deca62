# SPDX-License-Identifier: Apache-2.0
"""Vega-Lite: the types of its chart specifications, and its script.

The script bundles Vega, Vega-Lite and Vega-Embed. Bundling takes a second, so the result is kept in the cache folder.
"""

import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import Any, TypedDict

import vl_convert

from ...common.files import cache_folder, publish

Point = dict[str, Any]  # one row of a chart's data


class Channel(TypedDict, total=False):
    """How a position, colour or tooltip of a chart is computed from its rows."""

    field: str
    type: str
    title: str | None
    format: str
    value: object
    datum: float
    scale: dict[str, Any]
    axis: dict[str, object]
    legend: dict[str, object] | None
    condition: dict[str, object]


class Encoding(TypedDict, total=False):
    """The channels of a chart."""

    x: Channel
    x2: Channel
    y: Channel
    y2: Channel
    color: Channel
    stroke: Channel
    shape: Channel
    size: Channel
    detail: Channel
    tooltip: list[Channel]


class Mark(TypedDict, total=False):
    """The shape that a chart draws for a row."""

    type: str
    color: str
    stroke: str
    shape: str
    text: str
    cursor: str
    align: str
    filled: bool
    size: float
    angle: float
    opacity: float
    fontSize: float
    strokeWidth: float
    strokeOpacity: float
    strokeDash: list[int]
    yOffset: float
    point: "Mark"


class Spec(TypedDict, total=False):
    """A chart or one layer of a chart."""

    width: int
    height: int
    padding: dict[str, int]
    data: dict[str, Any]
    mark: Mark
    encoding: Encoding
    layer: "list[Spec]"
    params: list[dict[str, object]]


@cache
def chart_library() -> str:
    """Return the script, safe inside a script element. If it cannot be cached, it is bundled each time."""
    kept = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError, UnicodeDecodeError):
        if text := kept.read_text(encoding="utf-8"):
            return text
    text = str(vl_convert.javascript_bundle()).replace("</script", "<\\/script")  # type: ignore[call-arg]
    with suppress(OSError):
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mine = kept.with_name(f"{kept.name}.{os.getpid()}")  # two reports may write at the same time
        with publish(mine) as temporary:
            temporary.write_text(text, encoding="utf-8")
        mine.replace(kept)
    return text
