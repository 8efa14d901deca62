# SPDX-License-Identifier: Apache-2.0
"""Declares the `querytape replay` options that select the target, including a private server."""

from ..servers.sandbox_url import SHAPE, Sandbox, parse_sandbox
from .option_sections import Section, engine_option, option
from .param_types import Pair, Parsed
from .server_options import FILE, LOGIN, TLS
from .stored_folders import NewFolder, StoredFolder

FOLDER = StoredFolder(exists=True, file_okay=False)


class TargetUrl(Parsed[str | Sandbox]):
    """A target: the URL of a server as text, or a private server as a Sandbox."""

    name = "url"

    def _parse(self, text: str) -> str | Sandbox:
        return parse_sandbox(text) or text


TARGET = Section(
    "Target",
    (
        option(
            "--target",
            required=True,
            type=TargetUrl(),
            metavar="URL",
            help="Server to replay against: mysql://user@host:3306/db or mysql://user@/db?socket=/path."
            f" {SHAPE} starts a private server for the run, on a copy of a stopped server's data folder.",
        ),
        option("-o", "--output", required=True, type=NewFolder(), help="New folder for the run."),
        option(
            "--reads-to",
            metavar="URL",
            help="Second server with the same data, for the reads outside transactions.",
        ),
        *LOGIN,
        *TLS,
        option("--compress", is_flag=True, help="Use the compressed client protocol."),
        engine_option("charset"),
        option(
            "--init",
            multiple=True,
            metavar="SQL",
            help="Statement to run first on each connection; may be given several times.",
        ),
        option(
            "--users",
            "accounts_file",
            type=FILE,
            help="File that maps the tape's users to accounts of the target. Each section [user] sets password"
            " and, if different, user.",
        ),
        option(
            "--map-user", multiple=True, type=Pair(), help="Log in as user B for the sessions of user A on the tape."
        ),
        option(
            "--map-db", multiple=True, type=Pair(), help="Use schema B in place of the default schema A on the tape."
        ),
    ),
)

TARGET_SLOWLOG = Section(
    "Target's slow log",
    (
        option(
            "--target-slowlog",
            is_flag=True,
            help="Enable the target's slow log during the run and keep the log as RUN/target.tape. Reports then"
            " compare times that both servers measured.",
        ),
    ),
)
