# SPDX-License-Identifier: Apache-2.0
"""Makes tapes of sources. A source is one file in sources/ and one line in source_table.py."""

from typing import TYPE_CHECKING

from ..common.lazy import lazy_attributes, make_callable
from .source_table import SOURCES

if TYPE_CHECKING:
    from .detect import detect_source
    from .library import capture
    from .pipeline import capture_source
    from .recovery import recover
    from .source import Option, Settings, SourceKind
else:
    __getattr__ = lazy_attributes(
        __name__,
        {
            "Option": ".source:Option",
            "Settings": ".source:Settings",
            "SourceKind": ".source:SourceKind",
            "capture": ".library:capture",
            "capture_source": ".pipeline:capture_source",
            "detect_source": ".detect:detect_source",
            "recover": ".recovery:recover",
        },
    )

__all__ = ["SOURCES", "Option", "Settings", "SourceKind", "capture", "capture_source", "detect_source", "recover"]
make_callable(__name__)
