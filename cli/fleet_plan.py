# SPDX-License-Identifier: Apache-2.0
"""Reads the plan of a fleet: pairs of a tape and a target, with the words of `querytape replay` as their options."""

import tomllib
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..common.errors import FolderError, InputError
from ..replay.drivers.fleet import Pair
from ..schemas import open_folder
from .output import complete_tape
from .replay_settings import first_ns, options_of, parse_replay_options, target_of
from .stored_folders import local_copy

KEYS = {"replay", "pair"}
PAIR_KEYS = {"name", "tape", "target", "replay"}
# Options of `querytape replay` that a plan cannot have.
FORBIDDEN = {"-o", "--output", "--target", "--start-at", "--target-slowlog", "--follow", "--metrics", "--live"}
FORBIDDEN |= {"--no-live", "-h", "--help", "--help-all"}


@dataclass(frozen=True)
class PlannedPair:
    """A pair as the plan has it. `words`: the options of its replay."""

    name: str
    tape: Path
    target: str
    words: tuple[str, ...]

    def open(self, folder: Path, stack: ExitStack) -> Pair:
        """Return the pair with its open tape and its options. A sandbox runs until the stack ends.

        Raises InputError for an invalid tape or option. The message names the pair.
        """
        try:
            given = ["--target", self.target, "-o", str(folder / f"{self.name}.run"), *self.words]
            options = parse_replay_options(given)
            complete_tape(self.tape)
            tape = open_folder("tape", self.tape)
            return Pair(self.name, tape, options_of(options, target_of(options, stack), first_ns(self.tape)))
        except click.ClickException as error:
            raise InputError(f"pair {self.name!r}: {error.format_message()}") from error
        except (InputError, FolderError) as error:
            raise InputError(f"pair {self.name!r}: {error}") from error


def read_fleet_plan(path: Path) -> list[PlannedPair]:
    """Return the pairs of a plan file. Raises InputError for an invalid file."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot read the plan: {error}") from error
    _expect(path, "the plan", values, KEYS)
    common = _words(path, "the plan", values)
    listed = values.get("pair")
    if not isinstance(listed, list) or not listed or not all(isinstance(pair, dict) for pair in listed):
        raise InputError(f"{path}: expected at least one [[pair]]")
    pairs = [_pair(path, number, pair, common) for number, pair in enumerate(listed, 1)]
    twice = [name for name, n in Counter(pair.name for pair in pairs).items() if n > 1]
    if twice:
        raise InputError(f"{path}: several pairs have the name {twice[0]!r}: give each [[pair]] its own name")
    return pairs


def _pair(path: Path, number: int, values: dict[str, Any], common: tuple[str, ...]) -> PlannedPair:
    where = f"pair {number}"
    _expect(path, where, values, PAIR_KEYS)
    for key in ("tape", "target"):
        if not isinstance(values.get(key), str):
            raise InputError(f"{path}: {where}: expected {key} = TEXT")
    tape = Path(local_copy(values["tape"], click.get_current_context(silent=True)))
    name = values.get("name", tape.stem)
    if not isinstance(name, str) or not name or name.startswith(".") or "/" in name or not name.isprintable():
        raise InputError(f"{path}: {where}: the name must be a file name, found {name!r}")
    return PlannedPair(name, tape, values["target"], (*common, *_words(path, where, values)))


def _expect(path: Path, where: str, values: dict[str, Any], known: set[str]) -> None:
    unknown = sorted(values.keys() - known)
    if unknown:
        raise InputError(f"{path}: {where}: unknown {unknown[0]!r}; expected {', '.join(sorted(known))}")


def _words(path: Path, where: str, values: dict[str, Any]) -> tuple[str, ...]:
    words = values.get("replay", [])
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f'{path}: {where}: expected replay = ["--speed", "2"]')
    for word in words:
        if word.partition("=")[0] in FORBIDDEN or (word.startswith("-o") and not word.startswith("--")):
            raise InputError(f"{path}: {where}: {word.partition('=')[0]} is not possible in a plan")
    return tuple(words)
