# SPDX-License-Identifier: Apache-2.0
"""Writes the import table and the layers of docs/architecture.md. `make docs` runs this module.

The data comes from tests/test_architecture.py.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PAGE = CHECKOUT / "docs" / "architecture.md"


def import_table(may_import: Mapping[str, Iterable[str]]) -> str:
    """Return the table of parts and their allowed imports, from the lowest part upwards."""
    ordered = sorted(may_import, key=lambda part: (len(list(may_import[part])), list(may_import).index(part)))
    rows = [f"| `{part}/` | {_listed(sorted(may_import[part], key=ordered.index))} |" for part in ordered]
    return "\n".join(["| part | may import, besides itself |", "|---|---|", *rows])


def layer_table(layers: Mapping[str, Iterable[Iterable[str]]]) -> str:
    """Return the table of the layers inside parts, from the lowest layer upwards. "" is the package itself."""
    rows = [
        f"| `{part}/` | {' < '.join(_listed(name or '__init__' for name in floor) for floor in floors)} |"
        for part, floors in sorted(layers.items())
    ]
    return "\n".join(["| part | modules and folders, lowest layer first |", "|---|---|", *rows])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def replaced(page: str, name: str, text: str) -> str:
    """Return the page with new text between the two marks of this name. Raises ValueError if the marks are missing."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if len(pattern.findall(page)) != 1:
        raise ValueError(f"docs/architecture.md: expected the marks {begin} and {end} once")
    return pattern.sub(lambda _: f"{begin}\n{text}\n{end}", page)


def page() -> str:
    """Return the up-to-date page."""
    sys.path.insert(0, str(CHECKOUT))
    from tests.test_architecture import LAYERS, MAY_IMPORT

    text = PAGE.read_text(encoding="utf-8")
    return replaced(replaced(text, "imports", import_table(MAY_IMPORT)), "layers", layer_table(LAYERS))


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.write(page())
    else:
        PAGE.write_text(page(), encoding="utf-8")
