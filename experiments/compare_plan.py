# SPDX-License-Identifier: Apache-2.0
"""The folder of a comparison: its complete runs, and its plan (one tape, two targets, and the number of rounds)."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from ..common.errors import InputError
from ..common.files import publish
from ..common.units import parse_duration
from ..schemas import open_folder
from ..servers.sandbox_url import parse_sandbox

SIDES = ("a", "b")
KINDS = ("compare", "quick", "try")
KEYS = {"kind", "tape", "rounds", "warmup", "pause", "reset", "target", "replay", "ddl", "query_cache"}
PLAN_FILE = "plan.toml"
PLANS = "plans"  # subfolder: query plans fetched after the last round


@dataclass(frozen=True)
class ComparePlan:
    """The contents of a plan file. Side a is the reference, side b is judged.

    `warmup`: number of first rounds that are not compared. `pause_ns`: pause before each run. `reset`: a shell command
    that is run before each run. `replay`: options of `querytape replay` as words, the same for both sides.
    `query_cache`: whether the servers' query caches stay enabled during the replay.

    `kind`: the command that made the plan: compare, quick (compare --quick), or try. In a plan of try, side b is the
    data after the statements of `ddl`.
    """

    tape: Path
    targets: dict[str, str]
    rounds: int = 5
    warmup: int = 0
    pause_ns: int = 5_000_000_000
    reset: str | None = None
    replay: tuple[str, ...] = ()
    kind: str = "compare"
    ddl: tuple[str, ...] = ()
    query_cache: bool = True

    @property
    def sandboxes(self) -> dict[str, str]:
        """The targets that are private servers, by side."""
        return {side: target for side, target in self.targets.items() if parse_sandbox(target) is not None}

    @classmethod
    def read(cls, path: Path) -> "ComparePlan":
        """Return the plan of a plan file. Raises InputError for an invalid file."""
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
            unknown = sorted(values.keys() - KEYS)
            if unknown:
                raise InputError(f"{path}: unknown {unknown[0]!r}; expected {', '.join(sorted(KEYS))}")
            return cls.checked(
                cls(
                    tape=Path(values["tape"]),
                    targets={str(name): str(url) for name, url in values["target"].items()},
                    rounds=int(values.get("rounds", 5)),
                    warmup=int(values.get("warmup", 0)),
                    pause_ns=parse_duration(str(values.get("pause", "5s"))),
                    reset=values.get("reset"),
                    replay=tuple(str(word) for word in values.get("replay", ())),
                    kind=str(values.get("kind", "compare")),
                    ddl=tuple(str(text) for text in values.get("ddl", ())),
                    query_cache=values.get("query_cache", True),
                )
            )
        except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise InputError(f"{path}: not a comparison plan: {error}") from error

    @classmethod
    def checked(cls, plan: "ComparePlan") -> "ComparePlan":
        """Return the plan unchanged if it is valid. Raises InputError otherwise."""
        if set(plan.targets) != set(SIDES):
            raise InputError("a comparison needs --target a=URL and --target b=URL; a is the reference")
        if plan.kind not in KINDS:
            raise InputError(f"kind: expected one of {', '.join(KINDS)}, found {plan.kind!r}")
        if plan.rounds < 1 or plan.warmup < 0:
            raise InputError("expected at least one round")
        if not isinstance(plan.query_cache, bool):
            raise InputError(f"query_cache: expected true or false, found {plan.query_cache!r}")
        return plan

    def write(self, path: Path) -> None:
        """Write the plan as a plan file."""
        values: dict[str, Any] = {
            "tape": str(self.tape),
            "rounds": self.rounds,
            "warmup": self.warmup,
            "pause": f"{self.pause_ns / 1e9:g}s",
            "replay": list(self.replay),
            "target": self.targets,
        }
        if self.reset:
            values["reset"] = self.reset
        if self.kind != "compare":
            values |= {"kind": self.kind, "ddl": list(self.ddl)}
        if not self.query_cache:
            values["query_cache"] = False
        with publish(path) as temporary:
            temporary.write_text(tomli_w.dumps(values), encoding="utf-8")

    def steps(self) -> Iterator[tuple[str, str]]:
        """Yield (side, name of the run) in order: first the warm-up rounds, then A B A B ..."""
        for prefix, rounds in (("warm-", self.warmup), ("", self.rounds)):
            for number in range(1, rounds + 1):
                for side in SIDES:
                    yield side, f"{prefix}{side}{number}.run"


def complete_rounds(folder: Path) -> dict[str, list[Path]]:
    """Return the runs of each side in a comparison's folder.

    Includes only rounds that are complete on both sides, in order.
    """
    numbers = sorted(int(path.stem[1:]) for path in folder.glob("a[0-9]*.run") if path.stem[1:].isdigit())
    rounds = [number for number in numbers if all(is_complete(folder / f"{side}{number}.run") for side in SIDES)]
    return {side: [folder / f"{side}{number}.run" for number in rounds] for side in SIDES}


def is_complete(path: Path) -> bool:
    """Whether a run exists and is complete. A killed or stopped run must be repeated."""
    if not (path / "run.json").exists():
        return False
    info = open_folder("run", path).run_info
    balanced = (info.get("accounting") or {}).get("balanced")
    return bool(info.get("finished") and info.get("partial") is None and balanced)


def is_comparison(path: Path) -> bool:
    """Whether a folder contains a comparison."""
    return (path / PLAN_FILE).is_file()
