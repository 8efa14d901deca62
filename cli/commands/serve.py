# SPDX-License-Identifier: Apache-2.0
"""`querytape serve`: serves web pages of a folder and of its running replays."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from ...common.errors import InputError, OptionError
from ..param_types import Address, Size
from ..stored_folders import LocalPath

FILE = click.Path(path_type=Path)
NEEDED = ("starlette", "uvicorn")


@click.command(
    "serve",
    epilog="""\b
Examples:
  querytape serve /srv/querytape
  querytape serve . --address :8080 --token-file ~/.querytape-token
  querytape serve . --address 10.0.0.5:8741 --name tapes.example.org \\
      --certificate cert.pem --key key.pem
""",
)
@click.argument("folder", type=LocalPath(), metavar="DIR")
@click.option(
    "--address",
    type=Address(),
    metavar="HOST:PORT",
    default="127.0.0.1:8741",
    show_default=True,
    help="Address to listen on. :PORT listens only on this machine, and port 0 selects a free port. If other"
    " machines can connect, reading also requires the token.",
)
@click.option(
    "--token-file",
    type=FILE,
    metavar="FILE",
    help="File with the token, readable only by its owner (0600).  [default: a new token, printed once]",
)
@click.option("--token-to-read", is_flag=True, help="Require the token for reading pages, even on this machine.")
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="Host name in the URLs of browsers, such as the name of a proxy. Requests for other names are refused.",
)
@click.option("--certificate", type=FILE, metavar="FILE", help="Serve HTTPS with this certificate (PEM).")
@click.option("--key", type=FILE, metavar="FILE", help="Private key of the certificate (PEM).")
@click.option(
    "--memory",
    metavar="SIZE",
    default="1500MB",
    show_default=True,
    help="Memory limit for building one page. Pages are built one at a time.",
)
@click.option(
    "--cache",
    type=Size(),
    metavar="SIZE",
    default="256M",
    show_default=True,
    help="Memory limit of the cache for finished pages.",
)
def serve_command(folder: Path, memory: str, cache: int, **options: Any) -> None:
    """Serve the tapes, runs and comparisons of a folder as web pages.

    The pages show a list of DIR, reports of runs and comparisons, workloads of tapes, and the history of nightly
    comparisons. A running replay has a live page. With the token, a user can pause or stop the replay on its live page,
    or change the replay's speed. The server writes only these requests into DIR, and it does not follow links.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise InputError(f"serve needs {' and '.join(missing)}: pip install 'querytape[serve]'")
    if (options["certificate"] is None) != (options["key"] is None):
        raise OptionError("--certificate and --key must be given together")
    from ...serve.page_cache import Limits
    from ...serve.server import Options, run_server

    run_server(folder, Options(**options, limits=Limits(memory, cache)), lambda line: click.echo(line, err=True))
