# SPDX-License-Identifier: Apache-2.0
"""`querytape completion`: shell completion for commands and options."""

import click
from click.shell_completion import ShellComplete, get_completion_class

from ...common.errors import QuerytapeError

NAME = "querytape"
VARIABLE = "_QUERYTAPE_COMPLETE"  # variable in which click receives a completion request
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
    """Print the completion script of a shell.

    The examples below write the script to a file that each new shell reads. For zsh, add ~/.zfunc to fpath before
    compinit. bash must be version 4.4 or later.
    """
    made = get_completion_class(shell)
    if made is None:
        raise QuerytapeError(f"this version of click does not support completion for {shell}")
    # Does not look for the shell on this machine, because the output may be for another machine.
    click.echo(ShellComplete.source(made(ctx.find_root().command, {}, NAME, VARIABLE)))
