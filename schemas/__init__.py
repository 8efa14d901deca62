# SPDX-License-Identifier: Apache-2.0
"""The contract between the stages: columns, codes and folders of tapes and runs."""

from typing import TYPE_CHECKING

from ..common.lazy import lazy_attributes
from .names import ACTIONS, CLASSES, COMMANDS, DANGERS, FLAGS, PROPERTIES

if TYPE_CHECKING:
    from .event_filter import EventFilter
    from .folders import TABLES, Folder, count_files, file_name, tape_id
    from .json_shapes import check_shape, read_json
    from .opening import open_folder
    from .parquet_check import check_parquet
    from .tables import FORMAT_VERSION, columns, ddl, select_list
else:
    __getattr__ = lazy_attributes(
        __name__,
        {
            "EventFilter": ".event_filter:EventFilter",
            "FORMAT_VERSION": ".tables:FORMAT_VERSION",
            "Folder": ".folders:Folder",
            "TABLES": ".folders:TABLES",
            "check_parquet": ".parquet_check:check_parquet",
            "check_shape": ".json_shapes:check_shape",
            "columns": ".tables:columns",
            "count_files": ".folders:count_files",
            "ddl": ".tables:ddl",
            "file_name": ".folders:file_name",
            "open_folder": ".opening:open_folder",
            "read_json": ".json_shapes:read_json",
            "select_list": ".tables:select_list",
            "tape_id": ".folders:tape_id",
        },
    )

__all__ = [
    "ACTIONS",
    "CLASSES",
    "COMMANDS",
    "DANGERS",
    "FLAGS",
    "FORMAT_VERSION",
    "PROPERTIES",
    "TABLES",
    "EventFilter",
    "Folder",
    "check_parquet",
    "check_shape",
    "columns",
    "count_files",
    "ddl",
    "file_name",
    "open_folder",
    "read_json",
    "select_list",
    "tape_id",
]
