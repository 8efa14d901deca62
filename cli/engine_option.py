# SPDX-License-Identifier: Apache-2.0
"""Makes options of the command line from what schemas/names.toml says of the engine's."""

import click

from ..schemas.names import CHOICES, SETTINGS, EngineSettings
from .option_sections import OptionSpec, option
from .param_types import Duration, Size

NS_PER_SECOND = 1_000_000_000


def engine_option(name: str) -> OptionSpec:
    """Return the option that sets this option of the engine; its value has the engine's unit, and this name."""
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
