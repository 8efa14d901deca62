# SPDX-License-Identifier: Apache-2.0
"""Make tapes from sources. Each source is one file in `sources/` and one line in `source_table.py`."""

from typing import TYPE_CHECKING

from ..common.lazy import lazy_names, make_callable
from .source_table import SOURCES as SOURCES

if TYPE_CHECKING:
    from .detect import detect_source as detect_source
    from .finish import recover as recover
    from .library import capture as capture
    from .record_source import capture_source as capture_source
    from .source import Option as Option
    from .source import Settings as Settings
    from .source import SourceKind as SourceKind
else:
    __getattr__, __all__ = lazy_names(__name__)
make_callable(__name__)
