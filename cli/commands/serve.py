# SPDX-License-Identifier: Apache-2.0
"""`querytape serve`: pages of a folder, and of a replay under way."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from ...common.errors import InputError, OptionError
from ..param_types import Address, Size

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
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--address",
    type=Address(),
    metavar="HOST:PORT",
    default="127.0.0.1:8741",
    show_default=True,
    help="Address to listen on; :PORT is for this machine only, port 0 takes a free one. At any other address than this"
    " machine's own reading also requires the token.",
)
@click.option(
    "--token-file",
    type=FILE,
    metavar="FILE",
    help="Read the token from this file, which only its owner can read (0600).  [default: a new one, printed once]",
)
@click.option("--token-to-read", is_flag=True, help="Ask for the token before any page is shown, here as well.")
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="Name by which browsers call it, such as a proxy's; requests for other names are refused.",
)
@click.option("--certificate", type=FILE, metavar="FILE", help="Serve HTTPS with this certificate (PEM).")
@click.option("--key", type=FILE, metavar="FILE", help="Its key (PEM).")
@click.option(
    "--memory",
    metavar="SIZE",
    default="1500MB",
    show_default=True,
    help="Memory that the analysis of one page may use; one page is made at a time.",
)
@click.option(
    "--cache", type=Size(), metavar="SIZE", default="256M", show_default=True, help="Memory for pages that were made."
)
def serve_command(folder: Path, memory: str, cache: int, **options: Any) -> None:
    """Serve the tapes, runs and comparisons of a folder as pages.

    Serves a list of DIR, the report of each run and comparison, the workload of each tape, and the history of
    nightly comparisons. A running replay has a live page. With the token it can be paused, stopped, or given
    another speed. Only this request is written into DIR. Links are not followed.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise InputError(f"serve needs {' and '.join(missing)}: pip install 'querytape[serve]'")
    if (options["certificate"] is None) != (options["key"] is None):
        raise OptionError("--certificate and --key: expected both or none")
    from ...serve.page_cache import Limits
    from ...serve.server import Options, run_server

    run_server(folder, Options(**options, limits=Limits(memory, cache)), lambda line: click.echo(line, err=True))
