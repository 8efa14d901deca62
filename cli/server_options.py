# SPDX-License-Identifier: Apache-2.0
"""Declares the options that say how to log in to a server, once for all commands: password, option file, TLS."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .option_sections import OptionSpec, option

TLS_MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

ASK_PASSWORD = option(
    "--ask-password",
    is_flag=True,
    help="Ask for the server's password. Default: QUERYTAPE_PASSWORD, MYSQL_PWD or an option file.",
)
OPTION_FILE = (
    option(
        "--defaults-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="MySQL option file whose [client] group has user, password, host, ssl-ca, ...",
    ),
    option("--defaults-group", metavar="NAME", help="Also read this group of the option file; it overrides [client]."),
)
TLS = (
    option(
        "--ssl-mode",
        type=click.Choice(TLS_MODES, case_sensitive=False),
        metavar="MODE",
        help="TLS: disabled, preferred, required, verify_ca or verify_identity, as for the mysql client."
        " Default: disabled, because encryption would be measured with the server.",
    ),
    option("--ssl-ca", type=FILE, help="Certificate authority that the server's certificate is verified with."),
    option("--ssl-cert", type=FILE, help="Client certificate."),
    option("--ssl-key", type=FILE, help="Client private key."),
    option(
        "--allow-cleartext-password",
        is_flag=True,
        help="Send the password itself where the server asks for it (mysql_clear_password, dialog), over TLS only.",
    ),
)
LOGIN = (ASK_PASSWORD, *OPTION_FILE)


def login_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --ask-password, --defaults-file and --defaults-group."""
    return add_options(command, LOGIN)


def add_options(command: Callable[..., Any], options: tuple[OptionSpec, ...]) -> Callable[..., Any]:
    """Give a command options, which its help shows in their order."""
    for names, settings in reversed(options):
        command = click.option(*names, **settings)(command)
    return command
