# SPDX-License-Identifier: Apache-2.0
"""`querytape completion`: what a shell needs to complete commands and options."""

import click
from click.shell_completion import ShellComplete, get_completion_class

from ...common.errors import QuerytapeError

NAME = "querytape"
VARIABLE = "_QUERYTAPE_COMPLETE"  # by which click is asked for what may come next
SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    epilog="""\b
Examples:
  querytape completion bash >> ~/.bash_completion
  querytape completion zsh > ~/.zfunc/_querytape
  querytape completion fish > ~/.config/fish/completions/querytape.fish
""",
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands and options in a shell.

    The examples write the script to a file that each new shell reads. For zsh, add ~/.zfunc to fpath before compinit.
    bash must be version 4.4 or later.
    """
    made = get_completion_class(shell)
    if made is None:
        raise QuerytapeError(f"this version of click does not support completion for {shell}")
    # Without looking for the shell itself: it may be another machine's.
    click.echo(ShellComplete.source(made(ctx.find_root().command, {}, NAME, VARIABLE)))
