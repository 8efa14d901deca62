# SPDX-License-Identifier: Apache-2.0
"""The charts of Vega-Lite: the types of its specifications, and its script.

The script bundles Vega, Vega-Lite and Vega-Embed; that takes a second, so the cache folder keeps it.
"""

import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import Any, TypedDict

import vl_convert

from ...common.files import cache_folder, publish

Point = dict[str, Any]  # a row that a chart draws: its channels name the columns


class Channel(TypedDict, total=False):
    """How a place, a colour or a tooltip of a chart comes from its rows."""

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
    """What a chart draws for a row."""

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
    """A chart, or a layer of one."""

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
    """Return the script, safe inside a script element; where it cannot be kept it is bundled each time."""
    kept = cache_folder() / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError, UnicodeDecodeError):
        if text := kept.read_text(encoding="utf-8"):
            return text
    text = str(vl_convert.javascript_bundle()).replace("</script", "<\\/script")  # type: ignore[call-arg]
    with suppress(OSError):
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mine = kept.with_name(f"{kept.name}.{os.getpid()}")  # two reports may make it at once
        with publish(mine) as temporary:
            temporary.write_text(text, encoding="utf-8")
        mine.replace(kept)
    return text
