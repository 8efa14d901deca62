# SPDX-License-Identifier: Apache-2.0
"""The contract between the stages: columns, codes and folders of tapes and runs."""

from .codes import CLASSES, COMMANDS, DANGER_SHIFT, DANGERS, FLAGS
from .folders import (
    TABLES,
    Folder,
    FolderError,
    cache_folder,
    make_private,
    open_folder,
    publish,
    sql_text,
    tape_id,
    write_json,
)
from .tables import FORMAT_VERSION, columns, ddl, select_list

__all__ = [
    "CLASSES",
    "COMMANDS",
    "DANGERS",
    "DANGER_SHIFT",
    "FLAGS",
    "FORMAT_VERSION",
    "TABLES",
    "Folder",
    "FolderError",
    "cache_folder",
    "columns",
    "ddl",
    "make_private",
    "open_folder",
    "publish",
    "select_list",
    "sql_text",
    "tape_id",
    "write_json",
]
