# SPDX-License-Identifier: Apache-2.0
"""Sources to tapes. One source is one file here and one line in KINDS."""

from . import audit, auditjson, binlog, csvfile, generallog, packets, proxysql, slowlog
from .captures import capture
from .finish import recover
from .guess import guess
from .kinds import Option, Settings, SourceKind

# In the order in which an unnamed file is looked at.
KINDS = (
    packets.KIND,
    slowlog.KIND,
    generallog.KIND,
    binlog.KIND,
    audit.KIND,
    auditjson.KIND,
    proxysql.KIND,
    csvfile.KIND,
)
SOURCES: dict[str, SourceKind] = {kind.name: kind for kind in KINDS}

__all__ = ["SOURCES", "Option", "Settings", "SourceKind", "capture", "guess", "recover"]
