# SPDX-License-Identifier: Apache-2.0
"""Read one portion of a log file of an instance, and list the files."""

from collections.abc import Iterator
from dataclasses import dataclass

from ...common.errors import TargetError
from .cloud import Cloud

MAX_LINES = 10_000
CUT = "[Your log message was truncated]"  # what RDS writes in place of what exceeds a portion of 1 MB


@dataclass(frozen=True)
class Listed:
    """A log file as it is listed; `written`: when it last was, in ms."""

    size: int
    written: int


@dataclass
class Place:
    """How far a file was read: the next marker, and the bytes so far.

    `passed`: bytes at its beginning that are not wanted, where it is read again.
    """

    marker: str = "0"
    size: int = 0
    passed: int = 0

    def took(self, text: str, marker: str) -> str:
        """Count a portion; return what of it is wanted."""
        data = text.encode("utf-8", "surrogateescape")
        begin = max(0, self.passed - self.size)
        self.marker = marker
        self.size += len(data)
        return data[begin:].decode("utf-8", "replace") if begin else text

    def lacks(self, listed: Listed) -> bool:
        """Whether the file has more than was read of it."""
        return listed.size > max(self.size, self.passed)


def listed_files(cloud: Cloud, instance: str, part: str) -> dict[str, Listed]:
    """Return the files of an instance whose name has `part` in it. Raises TargetError, RefusedError."""
    found = cloud.pages(
        "rds",
        "describe_db_log_files",
        "DescribeDBLogFiles",
        DBInstanceIdentifier=instance,
        FilenameContains=part,
    )
    return {
        str(file.get("LogFileName")): Listed(int(file.get("Size") or 0), int(file.get("LastWritten") or 0))
        for file in found
    }


def read_portion(cloud: Cloud, instance: str, name: str, marker: str) -> tuple[str, str, bool]:
    """Return a portion, the next marker, and whether there is more; with fewer lines where RDS would cut it.

    Raises GoneError where there is no such file, TargetError, RefusedError.
    """
    lines = MAX_LINES
    while True:
        answer = cloud.call(
            "rds",
            "download_db_log_file_portion",
            DBInstanceIdentifier=instance,
            LogFileName=name,
            Marker=marker,
            NumberOfLines=lines,
        )
        text = str(answer.get("LogFileData") or "")
        if CUT not in text or lines == 1:
            break
        lines = max(lines // 4, 1)
    following = str(answer.get("Marker") or marker)
    pending = bool(answer.get("AdditionalDataPending"))
    if pending and following == marker and not text:
        raise TargetError(f"{name}: RDS says that there is more behind marker {marker} and gives nothing")
    return text, following, pending


def read_on(cloud: Cloud, instance: str, name: str, place: Place) -> Iterator[str]:
    """Yield what is wanted of a file's portions, from a place to its end. Raises as read_portion()."""
    pending = True
    while pending:
        text, marker, pending = read_portion(cloud, instance, name, place.marker)
        yield place.took(text, marker)


def without_cut_lines(text: str) -> tuple[str, int]:
    """Return a text without the lines that RDS cut, and how many there were.

    The end of such a line is lost, the end of a literal in it, too, and what follows would be taken for its rest.
    """
    cuts = text.count(CUT)
    if cuts:
        text = "".join(line for line in text.splitlines(keepends=True) if CUT not in line)
    return text, cuts


def byte_count(text: str) -> int:
    """Return the bytes of a text as it goes into the parser."""
    return len(text.encode("utf-8", "surrogateescape"))
