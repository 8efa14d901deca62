# SPDX-License-Identifier: Apache-2.0
"""Tests that every option named in a message or on a page exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from querytape.cli.main import group

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z](?![\w-]*-- )")
ROOMS = ("analyze", "capture", "cli", "common", "experiments", "metrics", "replay", "serve", "servers")
TEXTS = {".py", ".sql", ".tsv"}
# Options of other programs that querytape runs, reads or recommends.
OF_OTHERS = {
    "--apply-log-only", "--auth-root-authentication-method", "--basedir", "--cap-add", "--character-sets-dir",
    "--clear-groups", "--cloudwatch-logs-export-configuration", "--datadir", "--db-cluster-identifier",
    "--db-cluster-parameter-group-name", "--db-instance-identifier", "--db-parameter-group-name", "--field-separator",
    "--incremental-dir", "--initialize-insecure", "--lc-messages-dir", "--library-path",
    "--loose-innodb-redo-log-capacity", "--network", "--no-defaults", "--no-install-recommends", "--pdeathsig",
    "--plugin-dir", "--prefix", "--prepare", "--preserve-embedded-numbers", "--reflink", "--regid", "--reuid", "--skip-log-bin",
    "--skip-test-db", "--stable", "--stop-datetime", "--verbose",
}  # fmt: skip
# Options of other programs that pages mention without the program's name. coming-from.md describes other replay tools
# and is not checked.
OF_OTHERS_IN_PAGES = {
    "--exclude-gtids", "--incremental-dir", "--libssl", "--master-data", "--max-class-size", "--max-examples", "--network",
    "--no-read-only", "--prepare", "--run-time", "--single-transaction", "--source-data", "--stop-datetime",
    "--stop-position", "--userns",
}  # fmt: skip


def options_of(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield every option of a command and its subcommands."""
    yield "--help"
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from options_of(below, click.Context(below, parent=context, info_name=name))


@pytest.fixture(scope="module")
def options() -> set[str]:
    """Return all options of querytape."""
    return set(options_of(group, click.Context(group)))


def test_options_named_in_messages_and_tables_exist(options: set[str], checkout: Path) -> None:
    files = [file for room in ROOMS for file in sorted((checkout / room).rglob("*")) if file.suffix in TEXTS]
    found = {
        option: file.relative_to(checkout)
        for file in files
        for option in OPTION.findall(file.read_text(encoding="utf-8"))
    }
    assert {option: file for option, file in found.items() if option not in options | OF_OTHERS} == {}
    assert len(found) > len(OF_OTHERS) + 50


def test_options_named_on_pages_exist(options: set[str], checkout: Path) -> None:
    """The test checks the options of querytape commands, and options that a page names without a command."""
    wrong: dict[str, Path] = {}
    for page in [checkout / "README.md", *sorted((checkout / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        commands = " ".join(re.findall(r"\bquerytape [^\n`|]*", text))
        alone = "" if page.name == "coming-from.md" else " ".join(re.findall(r"`(--[^`\n]*)`", text))
        named = {*OPTION.findall(commands), *(set(OPTION.findall(alone)) - OF_OTHERS_IN_PAGES)}
        wrong |= {option: page.relative_to(checkout) for option in named - options}
    assert wrong == {}
