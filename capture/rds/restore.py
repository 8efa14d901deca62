# SPDX-License-Identifier: Apache-2.0
"""Set a parameter group back that a killed capture had changed, by its restore file."""

from pathlib import Path

from ...common.errors import InputError, RefusedError
from ..server_log.restore_file import RDS, default_restore_file, read_restore_file
from .cloud import Cloud
from .instance import look_at
from .parameters import take_back


def restore_rds(cloud: Cloud, name: str, path: Path | None) -> list[str]:
    """Set back what a killed capture of this instance had changed; return what was done, in sentences.

    Raises InputError without a restore file, RefusedError where it belongs to another group or something stays.
    """
    groups = look_at(cloud, name).groups
    paths = [path] if path else [default_restore_file(group.arn) for group in groups]
    where = next((each for each in paths if each.exists()), paths[0] if paths else None)
    if where is None:
        raise InputError(f"{name} has no parameter group")
    saved = read_restore_file(where)
    group = next((each for each in groups if each.arn == saved.identity), None)
    if saved.method != RDS or group is None:
        raise RefusedError(f"{where}: belongs to {saved.server} ({saved.identity}), not to a parameter group of {name}")
    left = take_back(cloud, group, saved.changes)
    if left.refused:
        raise RefusedError("; ".join((*left.changed, *left.refused)) + f" ({where} is kept)")
    where.unlink(missing_ok=True)
    done = ", ".join(change.name for change in saved.changes) or "nothing"
    return [f"the {group} is as it was at {saved.at}: {done}", *left.changed]
