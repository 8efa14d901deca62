# SPDX-License-Identifier: Apache-2.0
"""Writes all texts for users into one page with their locations. `make texts` writes build/texts.md.

The page is for reviewers and for the prose linter. Edit a text at its location in the source. Do not edit the page.
"""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
from querytape.cli.main import group
from querytape.cli.option_sections import ALL
from querytape.docs.make_cli import commands

CHECKOUT = Path(__file__).resolve().parent.parent
PRODUCT = ("capture", "replay", "analyze", "native", "schemas", "cli", "common", "servers", "serve", "metrics",
           "experiments", "demo")  # fmt: skip
HEAD = """# Texts of querytape

Made by `make texts` from the code. Each line is a text that a user can read, and its place.
"""
HELP, MESSAGES, REPORT, NAMES, RULES = "Help", "Messages", "Reports and pages", "Declared names", "Rules of lint"
# Folders whose texts appear in reports and pages. Texts of the other folders are messages.
OF_REPORTS = ("analyze", "serve", "metrics")

# Files that are generated, or that only list words of a server.
NOT_READ = [
    "analyze/lint/reserved_words.tsv",
    "analyze/make_rows.py",
    "native/pseudonyms/message.c",
    "schemas/generate.py",
    "schemas/names.py",
    "schemas/names.sql",
    "schemas/result_names.py",
]

# Patterns of code. A text that matches is not prose.
CODE = re.compile(
    r"^\s*(SELECT|WITH|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|SET|SHOW|FROM|AND|ON|JOIN|LEFT JOIN|WHERE|COPY|PRAGMA"
    r"|ATTACH|EXPLAIN|GRANT|CALL|LOCK|FLUSH|ORDER BY|GROUP BY|UNION|PREPARE|START TRANSACTION|PURGE|BEGIN)\b"
    r"|\s*(ASOF|coalesce\(|session IN|on duplicate key|udp dst|ether proto|or \(\(udp|/\\\*)"
    r"|Examples?:|\\[bsdwn]|\(\?|^[\w.-]+( [\w.-]+){0,2}$|::\w|^\s*[<{(]|^\W*$|^ip6?\["
)
ADDRESS = re.compile(r"\b(?:mysql|ssh|s3)://[^\s,`]+|\bsandbox[:[][^\s`]+")
MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>|{#.*?#}|{%.*?%}", re.DOTALL)


def is_prose(text: str) -> bool:
    """Return whether a text has at least four words and looks like a sentence or phrase."""
    return len(re.findall(r"(?:^|[\s(])[A-Za-z][a-z']*(?=[\s.,:;)]|$)", text)) >= 4 and not CODE.search(text)


def of_help() -> Iterator[tuple[str, str]]:
    """Yield (location, text) for each paragraph of a command's help and for each option's help."""
    for name, command in commands(group, "querytape"):
        context = click.Context(command, info_name=name)
        context.meta[ALL] = True
        for paragraph in (command.help or "").replace("\b", "").split("\n\n"):
            yield name, paragraph
        for parameter in command.get_params(context):
            if isinstance(parameter, click.Option) and parameter.help:
                yield f"{name} {parameter.opts[-1]}", parameter.help


def of_python(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) for each string of a module except docstrings. Inserted values are shown as code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(id(node.value))
        elif isinstance(node, ast.JoinedStr) and id(node) not in inside:
            inside.update(id(part) for part in ast.walk(node))
            shown = (
                str(part.value) if isinstance(part, ast.Constant) else f"`{ast.unparse(part)[1:-1]}`"
                for part in node.values
            )
            yield node.lineno, "".join(shown)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.lineno, node.value


def of_literals(path: Path, quote: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) for each string literal of a C or SQL file. Adjacent literals are joined."""
    comments = r"-- [^\n]*" if path.suffix == ".sql" else r"/\*.*?\*/"
    source = re.sub(comments, lambda comment: "\n" * comment[0].count("\n"), path.read_text("utf-8"), flags=re.S)
    one = rf"{quote}((?:[^{quote}\\\n]|\\.)*){quote}"
    for found in re.finditer(rf"{one}(?:\s*(?:PRI\w+\s*)?{one})*", source):
        parts = re.findall(one, found[0])
        yield source.count("\n", 0, found.start()) + 1, "".join(parts).replace(r"\"", '"').replace(r"\n", " ")


def of_template(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) for each text between the tags of a template."""
    text = path.read_text(encoding="utf-8")
    blank = MARKUP.sub(lambda markup: "\n" * markup[0].count("\n") + "\0", text)
    for found in re.finditer(r"[^\0]+", blank):
        yield blank.count("\n", 0, found.start()) + 1, re.sub(r"{{\s*(.*?)\s*}}", r"`\1`", found[0])


def of_toml(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) for each text of a declaration."""
    lines = path.read_text(encoding="utf-8").splitlines()

    def texts(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                yield from texts(inner)

    for text in dict.fromkeys(texts(tomllib.loads("\n".join(lines)))):
        yield next((number for number, line in enumerate(lines, 1) if text in line), 1), text


def of_table(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) for each field of a table."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for field in () if line.startswith("#") else line.split("\t"):
            yield number, field


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, text) for the texts of a file. The file type selects the parser."""
    match path.suffix:
        case ".py":
            yield from of_python(path)
        case ".c":
            yield from of_literals(path, '"')
        case ".sql":
            yield from of_literals(path, "'")
        case ".j2":
            yield from of_template(path)
        case ".toml":
            yield from of_toml(path)
        case ".tsv":
            yield from of_table(path)


def kind_of(path: Path) -> str:
    """Return the section of the page for a file's texts."""
    if path.suffix in (".toml", ".tsv"):
        return NAMES if path.suffix == ".toml" else RULES
    return REPORT if path.parts[0] in OF_REPORTS else MESSAGES


def page() -> str:
    """Return the whole page. Each text appears once, in its section."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    seen: set[str] = set()

    def add(kind: str, place: str, text: str) -> None:
        if len(re.findall(r"^ {2,}\S.*? {2,}\S", text, re.M)) > 2:  # a table with columns
            return
        text = ADDRESS.sub(r"`\g<0>`", " ".join(text.split()))
        if text not in seen and is_prose(text):
            seen.add(text)
            found[kind][text] = place

    for place, text in of_help():
        add(HELP, place, text)
    for path in sorted(inner for part in PRODUCT for inner in (CHECKOUT / part).rglob("*.*")):
        shown = path.relative_to(CHECKOUT)
        if shown.as_posix() in NOT_READ or "__pycache__" in path.parts:
            continue
        for line, text in texts_of(path):
            add(kind_of(shown), f"{shown}:{line}", text)
    parts = [HEAD]
    for kind, listed in found.items():
        parts.append(f"\n## {kind}: {len(listed)}\n\n")
        parts += [f"- {text}\n  <!-- {place} -->\n" for text, place in listed.items()]
    return "".join(parts)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else CHECKOUT / "build" / "texts.md"
    target.parent.mkdir(exist_ok=True)
    target.write_text(page(), encoding="utf-8")
    print(target)
