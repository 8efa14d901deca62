# SPDX-License-Identifier: Apache-2.0
"""Kill commands at random moments and check their outputs. An output must open, report whether it is complete, and have
balanced counts.

A victim is a command with its input and output. A kill is SIGINT, SIGTERM, SIGHUP or SIGKILL, sometimes followed by a
second signal.
"""

import json
import os
import random
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from querytape.common.signals import ENDING

from .command_line import RAW, run_here
from .forked_commands import ForkServer
from .processes import running_processes, start

GIVE_UP_S = 90
STOPPED = 130
# Matches the output after a signal during Python's startup, before the first line of the program.
BEFORE_US = re.compile(
    r"<frozen site>|Python runtime state: core initialized|in _get_module_details\nKeyboardInterrupt|__main__\.py\", line [1-8],|/__init__\.py\", line \d+, in <module>\n.*\n*.*KeyboardInterrupt"
)
ANY = 1 << 60  # the number of events is not known
OUTPUT = "new"  # output name for every victim command
Judge = Callable[[Path, "Victim"], "list[str]"]


@dataclass(frozen=True)
class Victim:
    """A command to be killed. `arguments` of the command line may contain {out}, the output path.

    `judge` finds faults in an output. `tape` is the input tape. `events` is the number of events on the input or output
    tape. `codes` lists the permitted exit codes. `after` repairs server settings after a kill and returns faults.
    `ends_s`: seconds until an unkilled command gets the Ctrl-C that it needs to end.
    """

    arguments: tuple[str, ...]
    judge: Judge
    events: int = 0
    tape: Path | None = None
    codes: tuple[int, ...] = (0, 1, STOPPED)
    after: Callable[[], "list[str]"] | None = None
    ends_s: float | None = None


@dataclass(frozen=True)
class Kill:
    """A sequence of signals, each with the delay before it in seconds."""

    steps: tuple[tuple[float, signal.Signals], ...]

    def __str__(self) -> str:
        return ", ".join(f"{number.name} after {wait:.3f} s" for wait, number in self.steps)

    @property
    def hard(self) -> bool:
        """Return whether the kill contains SIGKILL, so that the command could not clean up."""
        return any(number == signal.SIGKILL for _, number in self.steps)


def random_kill(chance: random.Random, lasts_s: float) -> Kill:
    """Return one or two signals at random moments of a command that takes `lasts_s` seconds.

    The second signal comes soon after the first signal or at any time.
    """
    first = (chance.random() * lasts_s * 1.05, chance.choice((*ENDING, *ENDING, signal.SIGKILL)))
    if chance.random() < 0.5:
        return Kill((first,))
    wait = chance.random() ** 3 * lasts_s * 0.5
    return Kill((first, (wait, chance.choice((*ENDING, *ENDING, signal.SIGKILL)))))


def run_victim(
    victim: Victim, folder: Path, kill: Kill | None, fork_server: ForkServer | None
) -> tuple[int, str, list[str]]:
    """Run a victim in an empty folder and kill it. Return its exit code, its last output, and the faults found.

    `fork_server`: starts the victim without loading the program again.
    """
    temporary = folder / "tmp"
    temporary.mkdir()
    said = folder / "said"
    arguments = [word.format(out=folder / OUTPUT) for word in victim.arguments]
    if fork_server is not None:
        process: Any = fork_server.start(folder, said, temporary, arguments)
    else:
        with said.open("w") as words:
            process = start(
                [sys.executable, "-m", "querytape", *arguments],
                cwd=folder,
                stdout=words,
                stderr=words,
                env={**os.environ, "TMPDIR": str(temporary)},
            )
    for wait, number in kill.steps if kill else ():
        try:
            process.wait(wait)
        except Exception:
            process.send_signal(number)
    wrong = []
    try:
        process.wait(GIVE_UP_S)
    except Exception:
        wrong.append("it does not end")
        process.kill()
        process.wait()
    text = said.read_text(errors="replace") if said.exists() else ""  # missing if the command was killed early
    wrong += judge_process(victim, process.pid, process.returncode, text, kill)
    if not (kill and kill.hard):
        wrong += [f"left behind: {path.relative_to(folder)}" for path in leftovers(folder, temporary)]
    return process.returncode, text, wrong


def judge_process(victim: Victim, pid: int, code: int, text: str, kill: Kill | None) -> list[str]:
    """Return the faults in the way a process ended."""
    wrong = []
    if RAW.search(text) and not BEFORE_US.search(text):
        wrong.append("raw text: " + text[-1500:])
    died = tuple(-number for _, number in kill.steps) if kill else ()
    # Python ends with SIGINT if a KeyboardInterrupt passes through exec(), for example in a dataclass. A shell shows
    # exit code 130.
    stopped = code == -signal.SIGINT and text.endswith("querytape: stopped\n")
    if code not in (*victim.codes, *died) and not stopped:
        wrong.append(f"exit code {code}: {text[-400:]}")
    if code < 0 and -code != signal.SIGKILL and text.strip() and not stopped and not BEFORE_US.search(text):
        wrong.append(f"died of a signal after it had begun ({code}): {text[-300:]}")
    if code in (1, STOPPED) and not text.strip():
        wrong.append(f"exit code {code} without a word")
    time.sleep(0.02)
    hard = code == -signal.SIGKILL
    until = time.monotonic() + (25 if hard else 1)  # children of a killed parent end a little later by themselves
    while (left := running_processes(pid)) and time.monotonic() < until:
        time.sleep(0.1)
    return wrong + [f"still runs: {each}" for each in left]


def leftovers(folder: Path, temporary: Path) -> list[Path]:
    """Return temporary files and folders that remain after a command has ended cleanly."""
    found = list(temporary.iterdir()) + [path for path in folder.rglob("*.tmp") if path.is_file()]
    return found + [path for path in folder.rglob("spill") if path.is_dir()]


# ---- judges: faults in an output, if it exists ----


def sentence(*arguments: str, may: Sequence[int] = (0, 1)) -> tuple[int, list[str]]:
    """Run a command on an output. Return its exit code and the faults in its messages."""
    ended = run_here(*arguments)
    said = ended.out + ended.err
    shown = " ".join(Path(word).name for word in arguments[:3])
    if RAW.search(said):
        return ended.code, [f"{shown}: raw text: {said[-1500:]}"]
    if ended.code not in may:
        return ended.code, [f"{shown}: exit code {ended.code}: {said[-500:]}"]
    if ended.code == 1 and len(ended.err.strip().splitlines()) != 1:
        return ended.code, [f"{shown}: expected one sentence: {said[-500:]}"]
    return ended.code, []


def opened(path: Path) -> tuple[bool, list[str]]:
    """Return whether a tape or set opens, and the faults in it. Anything that opens must be complete."""
    if not path.exists():
        return False, []
    code, wrong = sentence("inspect", str(path))
    if code or wrong:
        return False, wrong
    return True, sentence("tape", "verify", str(path), may=(0,))[1]


def judge_tape(path: Path, victim: Victim) -> list[str]:
    """Check a tape: it is complete, is marked as incomplete, or is refused with an error message."""
    opens, wrong = opened(path)
    if not opens:
        return wrong
    info = json.loads((path / "tape.json").read_text())
    counted = info["counts"]["events"]
    if counted > victim.events:
        wrong.append(f"{counted} events of {victim.events}")
    if 0 < counted < victim.events < ANY and not {each["kind"] for each in info["warnings"]} & {"stopped", "killed"}:
        wrong.append(f"{counted} events of {victim.events}, and nothing is said: {info['warnings']}")
    return wrong


def judge_set(path: Path, victim: Victim) -> list[str]:
    """Check a set: it is complete, or is refused with an error message."""
    opens, wrong = opened(path)
    if not opens:
        return wrong
    counted = json.loads((path / "set.json").read_text())["tape"]["counts"]["events"]
    return wrong if counted == victim.events else [*wrong, f"{counted} events of {victim.events}"]


def judge_run(path: Path, victim: Victim) -> list[str]:
    """Check a run: its report works and its counts balance, or the run is refused with an error message.

    An incomplete run must be marked.
    """
    if not path.exists():
        return []
    code, wrong = sentence("report", str(victim.tape), str(path))
    if code or wrong:
        return wrong
    info = json.loads((path / "run.json").read_text())
    if not info.get("finished"):
        return []  # the report states that the run is incomplete
    accounting = info["accounting"]
    if not accounting["balanced"] or accounting["tape_events"] != victim.events:
        wrong.append(f"the accounting: {accounting}")
    ends_by_time = info["parameters"]["stop_after_ns"] is not None  # a sweep level has such a time limit
    if accounting["not_sent"] and not info["partial"] and not ends_by_time:
        wrong.append(f"{accounting['not_sent']} not sent, and not partial")
    return wrong


def judge_runs(path: Path, victim: Victim) -> list[str]:
    """Check each run in a folder."""
    return [text for run in sorted(path.glob("*.run")) for text in judge_run(run, victim)]


def judge_file(path: Path, victim: Victim) -> list[str]:
    """Check that a file is complete or does not exist."""
    if not path.exists():
        return []
    text = path.read_text(errors="replace")
    if text.startswith("{"):
        try:
            json.loads(text)
        except ValueError as error:
            return [f"{path.name}: half of it: {error}"]
        return []
    return [] if text.rstrip().endswith(("</html>", ";")) else [f"{path.name}: half of it: {text[-200:]!r}"]


def judge_nothing(path: Path, victim: Victim) -> list[str]:
    """Accept a command without output."""
    return [f"{path.name} was made"] if path.exists() else []


# ---- repeated kills ----


@dataclass(frozen=True)
class Found:
    """A kill after which a fault was found."""

    name: str
    number: int
    kill: str
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}, kill {self.number} ({self.kill}):\n    " + "\n    ".join(self.wrong)


def duration_of(victim: Victim, work: Path, fork_server: ForkServer | None = None) -> float:
    """Run a victim to its end and return its duration. Raises AssertionError if the run fails."""
    began = time.monotonic()
    ending = Kill(((victim.ends_s, signal.SIGINT),)) if victim.ends_s else None
    code, text, wrong = run_victim(victim, fresh(work), ending, fork_server)
    took = time.monotonic() - began
    if "querytape: refused" in text or (ending is None and code not in (0, 4)):
        wrong.append(f"undisturbed it ends with exit code {code}: a kill would find nothing at work")
    wrong += victim.judge(work / OUTPUT, victim) + (victim.after() if victim.after else [])
    assert not wrong, (victim.arguments, wrong, text)
    return took


def kill_once(
    name: str, victim: Victim, work: Path, number: int, seed: int, lasts_s: float, fork_server: ForkServer | None = None
) -> tuple[int, Found | None]:
    """Kill a victim with the signals that belong to this number. Return its exit code and the faults found."""
    kill = random_kill(random.Random(f"{seed}/{name}/{number}"), lasts_s)
    code, _, wrong = run_victim(victim, fresh(work), kill, fork_server)
    wrong += victim.judge(work / OUTPUT, victim) + (victim.after() if victim.after else [])
    return code, Found(name, number, str(kill), tuple(wrong)) if wrong else None


def fresh(work: Path) -> Path:
    """Return an empty folder."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    return work


def described(info: Any) -> str:
    """Return event counts as text."""
    return ", ".join(f"{value} x {key}" for key, value in sorted(info.items()))
