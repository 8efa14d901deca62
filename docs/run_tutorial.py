# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/tutorial.md in order, and compares their output with the page.

    python docs/run_tutorial.py [FOLDER]              run and compare; a test does this
    python docs/run_tutorial.py --pictures [FOLDER]   also make the page's pictures again (Chromium)

Numbers, times and addresses change daily and are not compared. Words, statements and verdicts are compared. A line
`...` of the page matches any number of lines. Verdicts about execution times need an idle machine, which a test cannot
guarantee. Such lines may be missing. The page lists them below `<!-- if quiet:`. The exit code is 1 if another line of
the page was not printed, or if a command failed. Pictures are made only if no line was missing.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "tutorial.md"
PICTURES = DOCS / "pictures"
AT_MOST_S = 600  # time limit per command in seconds, long enough for a busy machine
NUMBER = re.compile(r"-?[\d.,:+]*\d ?%?(?:ns|µs|us|ms|s|h|MB|kB|GB|min)?\b|(?<=[\s(])-(?=\s)")


@dataclass
class Step:
    """A command of the page, its line number, and the output lines below it."""

    line: int
    command: str
    shown: list[str] = field(default_factory=list)


def steps(page: str) -> Iterator[Step]:
    """Yield the commands of all `console` blocks of a page."""
    step, inside = None, False
    for number, line in enumerate(page.splitlines(), 1):
        if line.startswith("```"):
            if step:
                yield step
            step, inside = None, line == "```console"
        elif inside and line.startswith("$ "):
            if step:
                yield step
            step = Step(number, line[2:])
        elif inside and step and step.command.endswith("\\"):
            step.command += "\n" + line
        elif inside and step:
            step.shown.append(line)


def skeleton(line: str) -> str:
    """Return a line without the changing parts: numbers with their units, and the blanks around them."""
    return " ".join(NUMBER.sub("#", re.sub(r"[\w/.-]*/(?=[\w.-]+)", "", line)).split())


def not_printed(shown: list[str], printed: str) -> list[str]:
    """Return the lines of a page that were not printed in this order. Differences in line wrapping are ignored."""
    flow = " ".join(skeleton(line) for line in printed.splitlines())
    missing, at = [], 0
    for line in shown:
        wanted = skeleton(line)
        if not wanted or wanted == "...":
            continue
        found = flow.find(wanted, at)
        if found < 0:
            missing.append(line)
        else:
            at = found + len(wanted)
    return missing


def run(step: Step, folder: Path) -> tuple[int, str]:
    """Run a command in a shell with the querytape of this Python. Return its exit code and all its output."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "COLUMNS": "80", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["/bin/bash", "-c", step.command],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=AT_MOST_S,
    )
    return done.returncode, done.stdout


def take_pictures(folder: Path) -> None:
    """Make the pictures of the page: a chart of the run, and the first screen of its report in Chromium."""
    PICTURES.mkdir(exist_ok=True)
    shutil.copyfile(folder / "charts" / "digests.svg", PICTURES / "tutorial-digests.svg")
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    options = [
        "--headless=new",
        "--no-sandbox",
        "--hide-scrollbars",
        "--window-size=900,768",
        "--virtual-time-budget=8000",
    ]
    picture = f"--screenshot={PICTURES / 'tutorial-report.png'}"
    subprocess.run([chromium, *options, picture, f"file://{folder / 'report.html'}"], check=True, capture_output=True)


def main() -> int:
    """Run the page and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="an empty folder to work in; without one, a temporary one")
    parser.add_argument("--pictures", action="store_true", help="make the page's pictures again")
    given = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    quiet = re.findall(r"^<!-- if quiet:\n(.*?)\n-->$", page, re.M | re.S)
    only_if_quiet = {line for lines in quiet for line in lines.splitlines()}
    wrong = busy = 0
    with tempfile.TemporaryDirectory(prefix="querytape-tutorial-") as temporary:
        folder = (given.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        for step in steps(page):
            if given.pictures and step.command.startswith("rm ") and not wrong + busy:
                take_pictures(folder)
            print(f"$ {step.command}", flush=True)
            code, printed = run(step, folder)
            print(printed, flush=True)
            for line in not_printed(step.shown, printed):
                busy += line in only_if_quiet
                wrong += line not in only_if_quiet
                print(f"!!! {PAGE.name}:{step.line}: not printed: {line}", flush=True)
            if code != 0:
                wrong += 1
                print(f"!!! {PAGE.name}:{step.line}: ended with {code}", flush=True)
        if given.pictures and wrong + busy:
            print("!!! no pictures were made of this run", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
