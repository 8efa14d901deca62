# SPDX-License-Identifier: Apache-2.0
"""Tests of the documentation pages: valid links and paths, standard terms, and up-to-date generated pages."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source

CHECKOUT = Path(__file__).resolve().parent.parent
AT_THE_TOP = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
PAGES = sorted([*(CHECKOUT / name for name in AT_THE_TOP), *(CHECKOUT / "docs").rglob("*.md")])
NAMES = [path.relative_to(CHECKOUT).as_posix() for path in PAGES]
# Folders of the project whose files must exist. Any other path on a page is on the reader's machine.
FOLDERS = sorted(
    path.name
    for path in CHECKOUT.iterdir()
    if path.is_dir() and not path.name.startswith(".") and path.name not in ("build", "dist")
)
MADE = {"bench/out", "build", "dist"}  # created by make and never committed
OLD_WORDS = (
    r"canar(y|ies)|conductor|stand-ins?|portraits?|(the|its|their|whose) books|nullserver|redacted tapes?|tape redact"
    r"|whom|anew|meanwhile|likewise|beside"
)
LINES_OF_README = 120
WORDS_OF_A_SOURCE = 720
WORDS_OF_A_MESSAGE = 30  # longer explanations belong on a page
OF_A_SOURCE = ["## The command", "## What it records", "## What it cannot record", "## What it costs"]


def links(text: str) -> Iterator[str]:
    """Yield the targets of a page's links and pictures outside code."""
    for line in text.splitlines():
        if not line.startswith("    "):
            yield from re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line))
            yield from re.findall(r'(?:src|href)="([^"]+)"', line)


def anchors(text: str) -> set[str]:
    """Return the valid link anchors of a page, which GitHub makes from its headings."""
    heads = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("name", NAMES)
def test_links_reach_existing_files_and_headings(name: str) -> None:
    page, broken = CHECKOUT / name, []
    for link in links(page.read_text(encoding="utf-8")):
        place, _, heading = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (page.parent / place) if place else page
        if not target.exists() or (heading and heading not in anchors(target.read_text(encoding="utf-8"))):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("name", NAMES)
def test_paths_on_pages_exist(name: str) -> None:
    text = (CHECKOUT / name).read_text(encoding="utf-8")
    pattern = rf"(?<![\w/.:<-])((?:{'|'.join(FOLDERS)})/[\w./*{{}},-]*)"
    named = {path.rstrip(".,/") for path in re.findall(pattern, text)}
    missing = [
        path
        for path in named
        if path not in MADE
        and not (CHECKOUT / path).exists()
        and not any(any(CHECKOUT.glob(one)) for one in alternatives(path))
    ]
    assert sorted(missing) == []


@pytest.mark.parametrize("name", NAMES)
def test_source_files_on_pages_exist(name: str) -> None:
    """The test checks file names without a folder."""
    text = (CHECKOUT / name).read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w\w+\.(?:py|c|h|sql|j2))`", text))
    assert (
        sorted(
            file
            for file in named
            if not (CHECKOUT / file).exists() and not any(any((CHECKOUT / one).rglob(file)) for one in FOLDERS)
        )
        == []
    )


def alternatives(path: str) -> list[str]:
    """Return `a/b.c` and `a/d.c` for `a/{b,d}.c`."""
    braces = re.search(r"\{([^}]*)\}", path)
    if braces is None:
        return [path]
    return [path.replace(braces[0], word, 1) for word in braces[1].split(",")]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "CHANGELOG.md"])
def test_pages_avoid_outdated_terms(name: str) -> None:
    text = (CHECKOUT / name).read_text(encoding="utf-8")
    lines = enumerate(text.splitlines(), 1)
    assert [(number, line) for number, line in lines if re.search(rf"\b({OLD_WORDS})\b", line, re.I)] == []


def test_make_targets_on_pages_exist() -> None:
    """`make` must read the Makefile without a warning, so that each target has only one recipe."""
    listed = subprocess.run(["make", "-n", "help"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert listed.stderr == ""
    targets = set(re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(encoding="utf-8"), re.M))
    named = {
        (page.name, target)
        for page in PAGES
        for target in re.findall(r"(?:`|^    (?:\$ )?)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.M)
    }
    assert len(named) > 20
    assert {(page, target) for page, target in named if target not in targets} == set()


def test_readme_is_short() -> None:
    assert (CHECKOUT / "README.md").read_text(encoding="utf-8").count("\n") <= LINES_OF_README


@pytest.mark.parametrize("name", [*SOURCES, "server", "rds"])
def test_each_source_has_a_short_page_with_the_standard_sections(name: str) -> None:
    """The page of each source begins with the same four sections. docs/capture.md links to each page."""
    text = (CHECKOUT / "docs" / "sources" / f"{name}.md").read_text(encoding="utf-8")
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads[:4] == OF_A_SOURCE
    assert len(re.sub(r"<!--.*?-->", "", text).split()) <= WORDS_OF_A_SOURCE
    assert f"sources/{name}.md" in links((CHECKOUT / "docs" / "capture.md").read_text(encoding="utf-8"))


def test_every_page_is_in_the_index_and_in_the_menu() -> None:
    """The index is docs/README.md, and the menu is in docs/index.md. Pages that only include other pages for the site
    need not be in the index.
    """
    docs = CHECKOUT / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    index = set(links((docs / "README.md").read_text(encoding="utf-8")))
    made_for_the_site = {"README.md", "index.md", *(page for page in pages if page.startswith("project/"))}
    assert pages - index == made_for_the_site
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", (docs / "index.md").read_text(encoding="utf-8"), re.M | re.S)
    menu = {f"{line}.md" for tree in trees for line in tree.splitlines() if line and not line.startswith(":")}
    assert menu == pages - {"README.md", "index.md"}


def test_architecture_page_lists_every_folder() -> None:
    text = (CHECKOUT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = subprocess.run(["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    folders = {str(Path(name).parent) for name in listed.splitlines() if Path(name).suffix in (".py", ".c", ".h")}
    assert [
        folder for folder in sorted(folders - {"."}) if not folder.startswith("tests/") and f"`{folder}/`" not in text
    ] == []


def test_import_table_is_up_to_date() -> None:
    """The table in docs/architecture.md is generated from MAY_IMPORT in tests/test_architecture.py."""
    command = [sys.executable, str(CHECKOUT / "docs" / "make_architecture.py"), "--print"]
    page = subprocess.run(command, capture_output=True, text=True, check=True, cwd=CHECKOUT).stdout
    assert (CHECKOUT / "docs" / "architecture.md").read_text(encoding="utf-8") == page, "run make docs"


def section(page: str, heading: str) -> str:
    """Return the section below a heading, up to the next heading of the same level."""
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    return text.split(f"\n{heading}\n")[1].split(f"\n{heading.split()[0]} ")[0]


def test_format_page_lists_every_key_of_tape_json(tmp_path: Path) -> None:
    log = CHECKOUT / "tests" / "capture" / "sources" / "logs" / "mysql57_use_rule_and_restart.log"
    info = capture_source(SOURCES["slowlog"], [str(log)], tmp_path / "t.tape", Settings())
    listed = re.findall(r"^\| (`.*?`) \|", section("docs/format.md", "## tape.json"), re.M)
    documented = {key for cell in listed for key in re.findall(r"`(\w+)`", cell)}
    assert info.keys() - documented == set()


def test_issue_forms_name_existing_commands() -> None:
    known = (CHECKOUT / "docs" / "cli.md").read_text(encoding="utf-8")
    forms = [path.read_text(encoding="utf-8") for path in (CHECKOUT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")]
    commands = {found for form in forms for found in re.findall(r"`querytape ([^`]+)`", form)}
    assert "inspect TAPE --facts" in commands
    assert [word for each in commands for word in each.split() if word.startswith("-") and word not in known] == []


def test_collected_texts_include_every_kind(tmp_path: Path) -> None:
    """`make lint` collects the texts of commands, Python, C, SQL, templates and tables, and checks their wording."""
    page = tmp_path / "texts.md"
    subprocess.run([sys.executable, str(CHECKOUT / "docs" / "make_texts.py"), str(page)], cwd=CHECKOUT, check=True)
    text = page.read_text(encoding="utf-8")
    kinds = dict(re.findall(r"^## (.+): (\d+)$", text, re.M))
    assert min(map(int, kinds.values())) > 100
    assert set(kinds) == {"Help", "Messages", "Reports and pages", "Declared names", "Rules of lint"}
    places = ("querytape capture", "cli/output.py", "native/engine/", ".sql:", ".html.j2:", "metrics/names.py")
    shown = (
        text.split("## Reports and pages")[1].split("## Rules of lint")[0]
        + text.split("## Messages")[1].split("## Declared")[0]
    )
    messages = [re.sub(r"`[^`]*`", "VALUE", line) for line in re.findall(r"^- (?!Record )(.*)$", shown, re.M)]
    assert [line for line in messages if len(line.split()) > WORDS_OF_A_MESSAGE] == []
    assert [
        place for place in (*places, "analyze/causes.tsv") if f"<!-- {place}" not in text and place not in text
    ] == []
