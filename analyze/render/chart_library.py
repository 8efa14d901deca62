# SPDX-License-Identifier: Apache-2.0
"""Bundle Vega, Vega-Lite and Vega-Embed as one script; that takes a second, so the cache folder keeps it."""

import os
from contextlib import suppress
from functools import cache
from importlib.metadata import version

import vl_convert

from ...common.files import cache_folder, publish


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
