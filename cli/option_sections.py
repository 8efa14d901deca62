# SPDX-License-Identifier: Apache-2.0
"""Commands with many options: --help shows the common options, --help-all shows all options in sections.

The options of the engine are generated from schemas/names.toml.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import click

from ..common.units import NS_PER_SECOND
from ..schemas.names import CHOICES, SETTINGS, EngineSettings
from .param_types import Duration, Size

# Keys in a context's meta.
ALL = "querytape.help_all"  # if set, the help shows every option
WORDS = "querytape.words"  # the words of the command line


class Sectioned(click.Option):
    """An option with the title of its section in the help."""

    section = ""


class SectionedCommand(click.Command):
    """A command whose help has a title above each section of its options.

    `common`: the names of the most common options, in this order. If `common` is not empty, `--help` shows only these
    options and the first part of the epilog. `--help-all` shows everything.
    """

    def __init__(self, *arguments: Any, common: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.common = tuple(common)
        if common:
            self.params.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_show_all,
                    help="Show all options and exit.",
                )
            )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words of the command line and parse them."""
        ctx.meta[WORDS] = tuple(args)
        return super().parse_args(ctx, args)

    def _is_short(self, ctx: click.Context) -> bool:
        return bool(self.common) and ALL not in ctx.meta

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the common options, or all sections in the order of declaration."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self._shown(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                title = "" if self._is_short(ctx) else getattr(param, "section", "")
                sections.setdefault(title or "Options", []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def _shown(self, ctx: click.Context) -> list[click.Parameter]:
        params = self.get_params(ctx)
        if not self._is_short(ctx):
            return params
        named = {param.name: param for param in params}
        return [*(named[name] for name in (*self.common, "help_all")), params[-1]]  # the last parameter is --help

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the whole epilog, or only its first part."""
        whole = self.epilog
        if whole and self._is_short(ctx):
            self.epilog = whole.split("\n\n")[0]
        super().format_epilog(ctx, formatter)
        self.epilog = whole


def _show_all(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    if not given or ctx.resilient_parsing:
        return
    ctx.meta[ALL] = True
    click.echo(ctx.get_help(), color=ctx.color)
    ctx.exit()


OptionSpec = tuple[tuple[str, ...], dict[str, Any]]  # names and settings for click.option


@dataclass(frozen=True)
class Section:
    """A title and its options."""

    title: str
    options: tuple[OptionSpec, ...]

    def add(self, command: Callable[..., Any]) -> Callable[..., Any]:
        """Add these options to a command. The order of the decorators determines the order of sections."""
        kind = type("Titled", (Sectioned,), {"section": self.title})
        for names, settings in reversed(self.options):
            command = click.option(*names, cls=kind, **settings)(command)
        return command


def untitled(*options: OptionSpec) -> Callable[..., Any]:
    """Return a decorator that adds these options to a command without a section title. The help keeps their order."""
    return Section("", options).add


def option(*names: str, **settings: Any) -> OptionSpec:
    """Return the arguments of `click.option`, for the list of a section."""
    return names, settings


def engine_option(name: str) -> OptionSpec:
    """Return the command-line option for an engine setting. The parsed value has the name and unit of the setting."""
    setting, default = SETTINGS[name], getattr(EngineSettings, name)
    shown = {"help": setting.help, "show_default": bool(default)}
    if isinstance(default, bool):
        return option(setting.option, name, is_flag=True, **shown)
    if name in CHOICES:
        return option(setting.option, name, type=click.Choice(list(CHOICES[name])), default=default, **shown)
    if name.endswith("_ns"):
        return option(setting.option, name, type=Duration(), default=f"{default / NS_PER_SECOND:g}s", **shown)
    if name.endswith("_bytes"):
        return option(setting.option, name, type=Size(), default=f"{default >> 20}M", **shown)
    if isinstance(default, str):
        return option(setting.option, name, metavar="NAME", default=default, **shown)
    number = click.IntRange(setting.least, setting.most)
    return option(setting.option, name, type=number, metavar="NUMBER", default=default, **shown)


def taken(kind: type[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the options that are fields of this class."""
    return {field.name: options[field.name] for field in fields(kind) if field.name in options}
