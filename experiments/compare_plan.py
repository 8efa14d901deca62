# SPDX-License-Identifier: Apache-2.0
"""The plan of a comparison, and its file `plan.toml`: one tape, two targets, and how often each is run."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from ..common.errors import InputError
from ..common.files import publish
from ..common.units import parse_duration

SIDES = ("a", "b")
KINDS = ("compare", "quick", "try")
KEYS = {"kind", "tape", "rounds", "warmup", "pause", "reset", "target", "replay", "ddl", "query_cache"}
PLAN_FILE = "plan.toml"


@dataclass(frozen=True)
class ComparePlan:
    """Everything that a plan file says: side a is the reference, side b is judged.

    `warmup`: rounds that are run first and not compared. `pause_ns`: before each run. `reset`: a shell command that is
    run before each run. `replay`: options of `querytape replay`, as words, the same for both sides. `kind`: what made
    it: compare, quick (compare --quick), or try, whose side b has had the statements of `ddl`. `query_cache`:
    False = replay without the servers' query caches.
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

    @classmethod
    def read(cls, path: Path) -> "ComparePlan":
        """Return what a plan file says. Raises InputError for one that can't be understood."""
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
        """Return it. Raises InputError where it makes no sense."""
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
        """Write it as a plan file."""
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
        """Yield (side, name of the run) in order: the warm-up first, then A B A B ..."""
        for prefix, rounds in (("warm-", self.warmup), ("", self.rounds)):
            for number in range(1, rounds + 1):
                for side in SIDES:
                    yield side, f"{prefix}{side}{number}.run"
