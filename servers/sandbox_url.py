# SPDX-License-Identifier: Apache-2.0
"""Parse `--target sandbox...`: a private server, its initial data and its options in one text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ..common.errors import OptionError
from ..common.text import printable
from .private_options import check_options

if TYPE_CHECKING:
    from .sandbox import Server

SHAPE = "sandbox[:KIND][?data=FOLDER&NAME=VALUE...]"


@dataclass(frozen=True)
class Sandbox:
    """A private server to start. `data`: a stopped server's data folder to copy. `config`: the server's options."""

    kind: str = "mariadb"
    data: Path | None = None
    config: Mapping[str, str] = field(default_factory=dict)

    def start(self, folder: Path | None = None) -> "Server":
        """Start the server, in a temporary folder by default. Raises the exceptions of start_server."""
        from .sandbox import start_server

        return start_server(self.kind, folder, self.config, data=self.data)


def parse_sandbox(text: str) -> Sandbox | None:
    """Return the private server that a target describes. Return None for any other target.

    The text has the form SHAPE. Keys and values are percent-decoded, as in a URL. Raises InputError if the text is
    invalid.
    """
    head, _, query = text.partition("?")
    name, _, kind = head.partition(":")
    if name != "sandbox":
        return None
    config: dict[str, str] = {}
    for part in query.split("&") if query else ():
        key, _, value = map(unquote, part.partition("="))
        if not key or not value:
            raise OptionError(f"--target {head}: expected data=FOLDER or NAME=VALUE after ?, found {printable(part)!r}")
        if key in config:
            raise OptionError(f"--target {head}: {printable(key)} is given twice")
        config[key] = value
    data = Path(config.pop("data")).expanduser() if "data" in config else None
    if data is not None and not data.is_dir():
        raise OptionError(f"--target {head}: data={printable(str(data))}: no such folder")
    check_options(config)
    return Sandbox(kind or "mariadb", data, config)
