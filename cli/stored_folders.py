# SPDX-License-Identifier: Apache-2.0
"""Types of arguments and options that name a tape, a set or a run: a local folder, or an address in an object store."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from ..common.errors import InputError, OptionError
from ..common.files import open_regular
from ..common.staged import address_of, is_address, refuse_inside

SHARED = "cluster_folder"  # option with the folder for copies that all nodes of a cluster see


class StoredFolder(click.Path):
    """An existing folder as a local path. For an address, this is a copy that is removed at the end.

    `whole`: False copies only the small files of a set. See `rest_of`.
    """

    def __init__(self, whole: bool = True, **checks: Any) -> None:
        super().__init__(path_type=Path, **checks)
        self._whole = whole

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of the folder or of its local copy."""
        return super().convert(local_copy(value, ctx, self._whole), param, ctx)


class NewFolder(click.Path):
    """A folder that the command creates, as a local path. If the user gives an address, it is copied to this address.

    `source`: the argument with the folder that the command copies. A copy that failed can then be continued.
    """

    def __init__(self, source: str | None = None) -> None:
        super().__init__(path_type=Path)
        self._source = source

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path of the folder, or of the local folder that is copied to the store."""
        if isinstance(value, str) and is_address(value) and ctx is not None and not ctx.resilient_parsing:
            from ..stores import published

            source = ctx.params.get(self._source or "")
            value = ctx.with_resource(published(value, say, source, parent=_shared_folder(ctx)))
        path = Path(str(super().convert(value, param, ctx)))
        for folder in path.absolute().parents:
            refuse_inside(str(path), str(folder), partial(_content, folder))
        return path


def _content(folder: Path, name: str) -> bytes:
    """Return the content of a file, or empty bytes if it cannot be read."""
    with suppress(InputError), open_regular(folder / name) as handle:
        return handle.read()
    return b""


class LocalPath(click.Path):
    """A path on this machine. Raises OptionError for an address in an object store."""

    def __init__(self, **checks: Any) -> None:
        super().__init__(path_type=Path, **checks)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if isinstance(value, str) and is_address(value):
            raise OptionError(f"{value}: expected a path on this machine, found an address in an object store")
        return super().convert(value, param, ctx)


def local_copy(value: Any, ctx: click.Context | None, whole: bool = True) -> Any:
    """Return a local copy of an address in an object store, until the context ends. Return other values unchanged."""
    if not isinstance(value, str) or not is_address(value) or ctx is None or ctx.resilient_parsing:
        return value
    from ..stores import fetched

    return str(ctx.with_resource(fetched(value, whole, _shared_folder(ctx))))


def _shared_folder(ctx: click.Context) -> Path | None:
    """Return the value of --cluster-folder. None if the command has no such option, or the user did not give it."""
    given = ctx.params.get(SHARED)
    return given if isinstance(given, Path) else None


def rest_of(path: Path) -> Callable[[Sequence[str]], None] | None:
    """Return a function that copies the remaining files of some tapes of a set. None for a folder of this machine."""
    if address_of(path) is None:
        return None
    from ..stores import fetch_tapes

    return partial(fetch_tapes, path)


def say(text: str) -> None:
    """Show a line about the store while a command runs."""
    click.echo(f"querytape: {text}", err=True)
