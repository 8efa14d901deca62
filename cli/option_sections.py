# SPDX-License-Identifier: Apache-2.0
"""Commands with many options, whose help shows them in sections."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click


class Sectioned(click.Option):
    """An option that knows under which title help shows it."""

    section = ""


class SectionedCommand(click.Command):
    """A command whose help has a title over each section of its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections in the order in which their options were given."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(param, "section", "") or "Options", []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


OptionSpec = tuple[tuple[str, ...], dict[str, Any]]  # names and settings, as click.option takes them


@dataclass(frozen=True)
class Section:
    """A title and its options."""

    title: str
    options: tuple[OptionSpec, ...]

    def add(self, command: Callable[..., Any]) -> Callable[..., Any]:
        """Give a command these options; sections are shown in the order of their decorators."""
        kind = type("Titled", (Sectioned,), {"section": self.title})
        for names, settings in reversed(self.options):
            command = click.option(*names, cls=kind, **settings)(command)
        return command


def option(*names: str, **settings: Any) -> OptionSpec:
    """Return what `click.option` takes, for a section's list."""
    return names, settings
