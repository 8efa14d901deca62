# SPDX-License-Identifier: Apache-2.0
"""Declares the login options of a server for all commands: password, option file, TLS and keys."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .option_sections import option, untitled

if TYPE_CHECKING:
    from ..servers.target import Target

TLS_MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)

ASK_PASSWORD = option(
    "--ask-password",
    is_flag=True,
    help="Prompt for the server's password. Default: the password in QUERYTAPE_PASSWORD, MYSQL_PWD or an option file.",
)
CLEARTEXT = option(
    "--allow-cleartext-password",
    is_flag=True,
    help="Allow login plugins that send the plain password (mysql_clear_password, dialog). Requires TLS.",
)
GET_KEY = option(
    "--get-server-public-key",
    is_flag=True,
    help="Without TLS: encrypt the password with the RSA public key that the server sends. Always enabled for"
    " a server on this machine.",
)
KEY_FILE = option(
    "--server-public-key-path",
    type=FILE,
    metavar="FILE",
    help="Without TLS: encrypt the password with the RSA public key in this file (the server's public_key.pem).",
)
OPTION_FILE = (
    option(
        "--defaults-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="MySQL option file. Its [client] group can set user, password, host, ssl-ca, ...",
    ),
    option(
        "--defaults-group",
        metavar="NAME",
        help="Also read this group of the option file. Values of this group override [client].",
    ),
)
TLS = (
    option(
        "--ssl-mode",
        type=click.Choice(TLS_MODES, case_sensitive=False),
        metavar="MODE",
        help="TLS mode, as in the mysql client: disabled, preferred, required, verify_ca or verify_identity."
        " Default: disabled, so that measured times do not include encryption.",
    ),
    option("--ssl-ca", type=FILE, help="File with the CA certificate that verifies the server's certificate."),
    option("--ssl-cert", type=FILE, help="Client certificate."),
    option("--ssl-key", type=FILE, help="Client private key."),
    CLEARTEXT,
    GET_KEY,
    KEY_FILE,
)
LOGIN = (ASK_PASSWORD, *OPTION_FILE)


def take_login(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the login options from a command's options, and return them. server_of takes the returned dict."""
    names = [words[0].removeprefix("--").replace("-", "_") for words, _ in (*LOGIN, *TLS)]
    return {name: options.pop(name) for name in names}


login_options = untitled(*LOGIN, *TLS)


def server_of(url: str, options: dict[str, Any], what: str = "--target") -> "Target":
    """Return a server by its URL and its login options. `what`: the command's name for the URL."""
    from ..servers.target import Login, parse_target
    from ..servers.tls import Tls

    files = {name: str(options[f"ssl_{name}"]) for name in ("ca", "cert", "key") if options[f"ssl_{name}"]}
    mode = options["ssl_mode"] or ("PREFERRED" if files else None)
    login = Login(
        defaults_file=options["defaults_file"],
        defaults_group=options["defaults_group"],
        ask_password=options["ask_password"],
        tls=Tls(mode.upper(), files.get("ca"), files.get("cert"), files.get("key")) if mode else None,
        compress=options.get("compress", False),
        cleartext_password=options["allow_cleartext_password"],
        get_server_public_key=options["get_server_public_key"],
        server_public_key=options["server_public_key_path"],
    )
    return parse_target(url, login, what=what)
