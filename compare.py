# SPDX-License-Identifier: Apache-2.0
"""A comparison: runs of one tape against two targets in turn, A B A B ..., a reset and a pause before each.

Its folder holds the plan (`plan.toml`, which repeats it), the runs `a1.run`, `b1.run`, `a2.run`, ... and what they come
to. Rounds can be added to it later; a comparison that was cut off goes on where it was.
"""

import os
import shutil
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import tomli_w

from .cli_replay import first_ns, options_of, replay_command, target_of
from .errors import InputError, QuerytapeError
from .parameters import Duration
from .replay import RunSummary, Watcher, replay
from .schemas import make_private, open_folder, publish

SIDES = ("a", "b")
KEYS = {"tape", "rounds", "warmup", "pause", "reset", "target", "replay"}
PLAN = "plan.toml"


@dataclass(frozen=True)
class ComparePlan:
    """What is run: all that a plan file says. `warmup`: rounds that are run first and not compared."""

    tape: Path
    targets: dict[str, str]
    rounds: int = 5
    warmup: int = 0
    pause_ns: int = 5_000_000_000
    reset: str | None = None
    replay: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "ComparePlan":
        """Return what a plan file says. Raises InputError for one that can't be understood."""
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
            unknown = sorted(found.keys() - KEYS)
            if unknown:
                raise InputError(f"{path}: unknown {unknown[0]!r}; expected {', '.join(sorted(KEYS))}")
            return cls.checked(
                cls(
                    Path(found["tape"]),
                    {str(name): str(url) for name, url in found["target"].items()},
                    int(found.get("rounds", 5)),
                    int(found.get("warmup", 0)),
                    Duration().convert(str(found.get("pause", "5s")), None, None),
                    found.get("reset"),
                    tuple(str(word) for word in found.get("replay", ())),
                )
            )
        except (OSError, KeyError, TypeError, AttributeError, ValueError, click.ClickException) as fault:
            raise InputError(f"{path}: not a plan of a comparison: {fault}") from fault

    @classmethod
    def checked(cls, plan: "ComparePlan") -> "ComparePlan":
        """Return it. Raises InputError where it makes no sense."""
        if set(plan.targets) != set(SIDES):
            raise InputError("a comparison needs --target a=URL and --target b=URL; a is the reference")
        if plan.rounds < 1 or plan.warmup < 0:
            raise InputError("expected at least one round")
        return plan

    def write(self, path: Path) -> None:
        """Write it as a plan file."""
        found: dict[str, Any] = {
            "tape": str(self.tape),
            "rounds": self.rounds,
            "warmup": self.warmup,
            "pause": f"{self.pause_ns / 1e9:g}s",
            "replay": list(self.replay),
            "target": self.targets,
        }
        if self.reset:
            found["reset"] = self.reset
        with publish(path) as temporary:
            temporary.write_text(tomli_w.dumps(found), encoding="utf-8")

    def steps(self) -> Iterator[tuple[str, str]]:
        """Yield (side, name of the run) in order: the warm-up first, then A B A B ..."""
        for prefix, rounds in (("warm-", self.warmup), ("", self.rounds)):
            for number in range(1, rounds + 1):
                for side in SIDES:
                    yield side, f"{prefix}{side}{number}.run"


def runs_of(folder: Path) -> dict[str, list[Path]]:
    """Return the runs of each side of a comparison's folder: of the rounds that are complete on both, in order."""
    numbers = sorted(int(path.stem[1:]) for path in folder.glob("a[0-9]*.run") if path.stem[1:].isdigit())
    rounds = [number for number in numbers if all(is_complete(folder / f"{side}{number}.run") for side in SIDES)]
    return {side: [folder / f"{side}{number}.run" for number in rounds] for side in SIDES}


def is_complete(path: Path) -> bool:
    """Whether a run is there and came to its end; what was killed or stopped has to be run again."""
    if not (path / "run.json").exists():
        return False
    info = open_folder("run", path).info
    return bool(info.get("finished")) and info.get("partial") is None and bool(info["accounting"]["balanced"])


def is_comparison(path: Path) -> bool:
    """Whether a folder is a comparison's."""
    return (path / PLAN).is_file()


def run_all(plan: ComparePlan, folder: Path, say: Callable[[str], None], watcher: Callable[[], Watcher]) -> None:
    """Run what is missing of the plan. Raises QuerytapeError where a reset fails or a run is refused or partial."""
    if not folder.exists():
        make_private(folder)
    plan.write(folder / PLAN)
    for side, name in plan.steps():
        path = folder / name
        if is_complete(path):
            continue
        shutil.rmtree(path, ignore_errors=True)  # cut off: it is run again
        say(f"{name}: {plan.targets[side]}")
        reset(plan, side, path.stem)
        time.sleep(plan.pause_ns / 1e9)
        summary = one_run(plan, side, path, watcher())
        if not summary.complete:
            raise QuerytapeError(
                f"{path}: {summary.info['partial'] or 'the books do not balance'}; the comparison ends here"
            )


def reset(plan: ComparePlan, side: str, name: str) -> None:
    """Run the command that brings the targets back to where every run begins."""
    if not plan.reset:
        return
    given = {"QUERYTAPE_SIDE": side, "QUERYTAPE_TARGET": plan.targets[side], "QUERYTAPE_RUN": name}
    done = subprocess.run(["/bin/sh", "-c", plan.reset], env={**os.environ, **given}, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise QuerytapeError(f"--reset ended with {done.returncode} before {name}: {plan.reset}")


def one_run(plan: ComparePlan, side: str, path: Path, watcher: Watcher) -> RunSummary:
    """Replay once, with the options of `querytape replay`."""
    arguments = [str(plan.tape), "--target", plan.targets[side], "-o", str(path), *plan.replay]
    context = replay_command.make_context("replay", arguments)
    given = context.params
    if given["target_slowlog"]:
        raise InputError("--target-slowlog: not in a comparison; its cost would be measured with the server")
    with ExitStack() as stack:
        target = target_of(given, stack)
        return replay(plan.tape, options_of(given, target, first_ns(plan.tape)), watcher)
