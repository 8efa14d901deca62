# SPDX-License-Identifier: Apache-2.0
"""Lists the commands of a group without importing them. A command's module is imported when the command is used."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem


@dataclass(frozen=True)
class LazyCommand:
    """The location of a command (`module:attribute` relative to the package cli/) and its short help.

    A test checks that the short help equals the first sentence of the command's help. `section`: the title above the
    command in the group's help.
    """

    place: str
    short_help: str
    section: str = "Commands"


class LazyGroup(click.Group):
    """A click group whose commands are imported on first use. `lazy`: the commands by name."""

    def __init__(self, *args: Any, lazy: Mapping[str, LazyCommand], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = dict(lazy)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all command names, sorted."""
        return sorted({*super().list_commands(ctx), *self.lazy})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by name and import it if needed. Returns None for an unknown name."""
        if cmd_name in self.lazy and cmd_name not in self.commands:
            module, _, attribute = self.lazy[cmd_name].place.partition(":")
            self.add_command(getattr(import_module(module, __package__), attribute), cmd_name)
        return super().get_command(ctx, cmd_name)

    def short_help_of(self, ctx: click.Context, name: str) -> str:
        """Return the short help of a command, without importing a lazy command."""
        if name in self.lazy:
            return self.lazy[name].short_help
        command = super().get_command(ctx, name)
        return command.get_short_help_str(limit=200) if command is not None else ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their short helps by section. Each section keeps the order of declaration."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in dict.fromkeys((*self.lazy, *self.list_commands(ctx))):
            section = self.lazy[name].section if name in self.lazy else LazyCommand.section
            sections.setdefault(section, []).append((name, self.short_help_of(ctx, name)))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows if len(sections) > 1 else sorted(rows))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin with the typed text."""
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self.short_help_of(ctx, name)) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]
