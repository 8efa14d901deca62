# SPDX-License-Identifier: Apache-2.0
"""Tests of the commands on the documentation pages: their options, choices and values must exist."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from querytape.cli.commands.replay import replay_command
from querytape.cli.main import group
from querytape.common.errors import QuerytapeError

CHECKOUT = Path(__file__).resolve().parent.parent
AT_THE_TOP = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = sorted(
    [
        *(CHECKOUT / name for name in AT_THE_TOP),
        *(page for page in (CHECKOUT / "docs").rglob("*.md") if page.stem != "cli"),
    ]
)
# Placeholders on a page that represent any valid value.
LEFT_OUT = {"...", "…"}
ENDS_A_COMMAND = {"|", "||", "&&", ";", ">", ">>", "2>", "<", "&", "2>&1"}


@dataclass(frozen=True)
class Shown:
    """A command on a page. `whole`: the command is in a code block, so its required options must be present. `run`: a
    test runs the command.
    """

    line: int
    words: tuple[str, ...]
    whole: bool
    run: bool


def lines_of(page: str) -> Iterator[tuple[int, str, bool]]:
    """Yield (line number, text, is in a block) of possible commands. Continued lines of code blocks are joined. Code
    inside sentences is included.
    """
    fenced, block, block_at, text, text_at = False, "", 0, "", 0
    for number, line in enumerate([*page.splitlines(), ""], 1):
        fence = line.startswith("```")
        in_block = not fence and (fenced or line.startswith("    "))
        fenced ^= fence
        if in_block:
            block_at = block_at or number
            block += line.rstrip("\\") + " "
            if not line.endswith("\\"):
                yield block_at, block, True
                block, block_at = "", 0
        if in_block or fence or not line.strip() or line.startswith("|"):
            for code in re.findall(r"`([^`]+)`", text if not line.startswith("|") else f"{text} {line}"):
                yield text_at or number, code, False
            text, text_at = "", 0
        else:
            text_at = text_at or number
            text += line + " "


def not_run(page: str) -> set[int]:
    """Return the lines of the code blocks that follow `<!-- not run: REASON -->`."""
    marked = begun = fenced = False
    lines = set()
    for number, line in enumerate(page.splitlines(), 1):
        fence = line.startswith("```")
        block = fenced or fence or line.startswith("    ")
        fenced ^= fence
        if line.startswith("<!-- not run: "):
            marked = True
        elif block and marked:
            lines.add(number)
            begun = True
        elif line.strip() and begun:
            marked = begun = False
    return lines


def commands(page: str) -> Iterator[Shown]:
    """Yield every querytape command on a page."""
    skipped = not_run(page)
    for number, text, whole in lines_of(page):
        for found in re.finditer(r"(?:^|(?<=[\s/(]))querytape (?=[a-z-])", text):
            before = text[: found.start()].rstrip()
            if "querytape " in text[: found.start()] and text[found.start() - 1] == "/":  # a folder with this name
                continue
            if whole and before and not re.search(r"(\$|\||&&|\bsudo|\bnice|;|=|/|\*|time|-n \d+)$", before):
                continue
            yield Shown(number, tuple(words_of(text[found.end() :])), whole, number not in skipped)


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a command up to a pipe, a redirection, a comment or the end of the text."""
    reader = shlex.shlex(text.replace("<(", '"<("'), posix=True, punctuation_chars=";|&<>)")
    reader.whitespace_split = True
    try:
        for word in reader:
            if word in ENDS_A_COMMAND or word == ")":
                return
            yield word
    except ValueError:  # the closing quote comes later in the text
        return


def top() -> click.Context:
    """Return the context of `querytape` with its real settings. A new context is needed, because click caches the help
    option of the first request.
    """
    return click.Context(group, info_name="querytape", **group.context_settings)


def found_command(words: list[str]) -> tuple[click.Command, click.Context, list[str]]:
    """Return the command that the first words name, its context and the remaining words."""
    command: click.Command = group
    context = top()
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        below = command.get_command(context, words[0])
        if below is None and words[0].partition(".")[0].lower() != words[0]:  # `capture FILE` detects the file's kind
            below = command.get_command(context, "slowlog") if command.name == "capture" else None
        if below is None:
            raise click.UsageError(f"no command {words[0]}", context)
        command, words = below, words[1:]
        context = click.Context(command, info_name=command.name, parent=context)
    return command, context, words


def faults(shown: Shown) -> Iterator[str]:
    """Yield the faults of a command: unknown names, options without their value, and invalid values."""
    try:
        command, context, words = found_command(list(shown.words))
        known = [word for word in words if word not in LEFT_OUT]
        behind = known[known.index("--") + 1 :] if "--" in known else []
        known = known[: known.index("--")] if "--" in known else known
        yield from rejected_words(command, context, known, shown.whole and not set(words) & LEFT_OUT)
        yield from rejected_words(
            replay_command, click.Context(replay_command, info_name="replay", parent=top()), behind, False
        )
    except click.ClickException as error:
        yield error.format_message()


def rejected_words(command: click.Command, context: click.Context, words: list[str], whole: bool) -> Iterator[str]:
    """Yield the words that a command does not accept."""
    if "--help" in words or isinstance(command, click.Group):
        return
    try:
        given, _, order = command.make_parser(context).parse_args(list(words))
    except click.BadOptionUsage:  # a sentence may name an option without its value
        if whole:
            raise
        return
    for param in order:
        value = given[param.name or ""]
        if (
            isinstance(param, click.Option)
            and not param.is_flag
            and not isinstance(param.type, (click.Path, click.File))
        ):
            for each in value if isinstance(value, list) else [value]:
                try:
                    param.type.convert(each, param, context)
                except (click.ClickException, QuerytapeError) as error:
                    if "no such folder" not in str(error):  # the data folder of a sandbox is on the reader's machine
                        yield f"{param.opts[0]} {each}: {error}"
    if whole:
        yield from (f"lacks {param.opts[0]}" for param in command.params if param.required and param not in order)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(CHECKOUT).as_posix())
def test_commands_on_pages_are_valid(page: Path) -> None:
    wrong = []
    for shown in commands(page.read_text(encoding="utf-8")):
        wrong += [f"{page.name}:{shown.line}: querytape {' '.join(shown.words)}: {fault}" for fault in faults(shown)]
    assert wrong == []


def test_pages_show_most_commands() -> None:
    """If the test finds only a few commands, the search for commands has a fault."""
    shown = [each for page in PAGES for each in commands(page.read_text(encoding="utf-8"))]
    assert len(shown) > 120
    assert len({each.words[0] for each in shown if each.words}) >= len(group.list_commands(top())) - 2


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("    querytape replai t.tape --target mysql://a@b/ -o a.run", "no command replai"),
        ("    querytape replay t.tape --targets mysql://a@b/ -o a.run", "No such option"),
        ("    querytape replay t.tape --target mysql://a@b/", "lacks -o"),
        ("    querytape replay t.tape --target mysql://a@b/ -o a.run --pace quick", "--pace quick"),
        ("    querytape replay t.tape --target mysql://a@b/ -o a.run --speed", "requires an argument"),
        ("    sudo querytape capture slowlogs a -o t.tape", "no command slowlogs"),
        ("    querytape compare t.tape --target a=x --target b=y -o c.compare -- --allow-write", "No such option"),
        ("text with `querytape tape cut a.tape --late 5m` in it", "No such option"),
        ("text with `querytape tape cut\na.tape --late 5m`\nin it", "No such option"),
        ("| `querytape tape cut a.tape --late 5m` | in a table |", "No such option"),
        ("    querytape report a.tape | querytape inspect --nothing", "No such option"),
        ("```\nquerytape lint t.tape \\\n    --two mysql-8.4\n```", "No such option"),
    ],
)
def test_invalid_command_is_found_in_blocks_and_in_sentences(line: str, fault: str) -> None:
    assert fault.lower() in "\n".join(each for shown in commands(line) for each in faults(shown)).lower()
