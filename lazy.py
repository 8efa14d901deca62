# SPDX-License-Identifier: Apache-2.0
"""A group whose commands are imported when they are asked for: nobody waits for the others' libraries."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """A click group; `later` names commands as `module:attribute`, from this package's top."""

    def __init__(self, *args: Any, later: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._later = dict(later)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, sorted."""
        return sorted({*super().list_commands(ctx), *self._later})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by name, imported now where it was not yet."""
        if cmd_name in self._later:
            module, _, attribute = self._later.pop(cmd_name).partition(":")
            self.add_command(getattr(import_module(module, __package__), attribute), cmd_name)
        return super().get_command(ctx, cmd_name)
