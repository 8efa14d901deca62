# SPDX-License-Identifier: Apache-2.0
"""The shared definitions of all stages: columns, codes, and folders of tapes and runs."""

from typing import TYPE_CHECKING

from ..common.lazy import lazy_names
from .names import ACTIONS as ACTIONS
from .names import CLASSES as CLASSES
from .names import COMMANDS as COMMANDS
from .names import DANGERS as DANGERS
from .names import FLAGS as FLAGS
from .names import PROPERTIES as PROPERTIES

if TYPE_CHECKING:
    from .event_filter import EventFilter as EventFilter
    from .folders import TABLES as TABLES
    from .folders import Folder as Folder
    from .folders import count_files as count_files
    from .folders import file_name as file_name
    from .folders import tape_id as tape_id
    from .json_shapes import check_shape as check_shape
    from .json_shapes import read_json as read_json
    from .opening import open_folder as open_folder
    from .parquet_check import check_parquet as check_parquet
    from .tables import FORMAT_VERSION as FORMAT_VERSION
    from .tables import columns as columns
    from .tables import ddl as ddl
    from .tables import select_list as select_list
else:
    __getattr__, __all__ = lazy_names(__name__)
