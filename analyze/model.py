# SPDX-License-Identifier: Apache-2.0
"""Data classes of a report: its settings, the rows of its analyses, and the findings. No computation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, NotRequired, TypedDict

from ..schemas import Folder
from .database import Row
from .rows import Answers, CountersRow, Details, DigestsPart, DigestsRow, PairsRow
from .verdicts.interference import UNKNOWN, Disturbance
from .verdicts.verdict import Margin


class Severity(StrEnum):
    """How much a finding limits a report, worst first."""

    PROBLEM = "problem"
    WARNING = "warning"
    INFORMATION = "information"


class Finding(NamedTuple):
    """One sentence on a limit of the report."""

    severity: Severity
    text: str


class Observation(NamedTuple):
    """One sentence on the course of a run. `run` is a or b."""

    run: str
    text: str


class RankedCounter(CountersRow):
    """A row of report/counters.sql with its topic in the table of causes, or None if the table does not list it."""

    topic: str | None


class ShiftRow(TypedDict):
    """A digest's shifts as ratios of B over A. `detectable`: the smallest ratio that the test would find."""

    ratio: float | None
    low: float | None
    high: float | None
    paired: bool
    p95_low: float | None
    p95_high: float | None
    detectable: float | None
    noise: float | None


# The tape's data on a digest. `sample`: one statement, if samples may be shown.
DigestText = TypedDict(
    "DigestText",
    {
        "class": str,
        "text": str,
        "tape_ns": int | None,
        "sample": bytes | None,
    },
)


class DigestEntry(DigestText):
    """A digest with both sides and its verdict.

    `a` and `b` are rows of report/digests.sql, `pair` of report/pairs.sql.
    """

    digest: str
    a: DigestsRow | None
    b: DigestsRow | None
    pair: PairsRow | None
    verdict: str
    why: str
    p: float | None
    new_errors: int
    failed_on_both: int
    shift: ShiftRow | None
    note: str | None


class PlanSide(TypedDict, total=False):
    """A server's plans of a statement as texts. `error`: why no plan exists. `counters`: work of one execution."""

    json: str
    tree: str
    analyze: str
    counters: str
    error: str | None


# The query plans of a digest on both sides, their differences, and the worst class. The class is None if a side has no
# plan. `samples`: number of sample statements whose plans were requested. `differing`: number of samples with different
# plans.
PlanEntry = TypedDict(
    "PlanEntry",
    {
        "a": PlanSide,
        "b": PlanSide,
        "server_digest": dict[str, str | None],
        "changes": list[str],
        "class": str | None,
        "samples": NotRequired[int],
        "differing": NotRequired[int],
    },
)


class Variable(TypedDict):
    """A server variable that differs. A value is None if a server lacks the variable.

    `topic`: its topic in the table of causes.
    """

    name: str
    a: str | None
    b: str | None
    topic: NotRequired[str | None]


def sides_of(entry: DigestEntry) -> tuple[DigestsRow | DigestsPart, DigestsRow | DigestsPart]:
    """Return a digest's rows of A and B. A missing side is an empty dict."""
    return entry["a"] or DigestsPart(), entry["b"] or DigestsPart()


def ratio_of(entry: DigestEntry) -> float | None:
    """Return a digest's ratio of B over A, from its shift or else from its pairs. Returns None if it has neither."""
    shift, pair = entry["shift"], entry["pair"]
    return (shift["ratio"] if shift else None) or (pair["ratio"] if pair else None)


def bare_name(table: str) -> str:
    """Return a table's name in lower case, without schema and backticks."""
    return table.replace("`", "").rpartition(".")[2].lower()


@dataclass(frozen=True)
class ServerDifference:
    """One difference between the two servers, in a schema or in a setting.

    `kind`: table, column, index, ..., setting. `name`: the object or setting, for example `orders.k_user`. If only one
    field of an object differs, the field's name follows the object: `orders.k_user columns`. `folded`: the difference
    is caused only by the version or family.

    `digests` and `tape_ns`: the number of statements that name the table, and their time on the tape. `changed`: the
    digests of these statements with a changed verdict or changed results. `inconclusive`: the digests that may be
    slower, but whose times do not prove it.

    `doing`: what the difference does to these statements, as `singular|plural` by digest. `writes`: bare names of other
    tables that a trigger, routine or event writes. `old_name`: the setting's name on B, if it has an older name there.
    """

    kind: str
    name: str
    text: str
    a: str | None = None
    b: str | None = None
    table: str = ""
    folded: bool = False
    digests: int = 0
    tape_ns: int = 0
    changed: tuple[str, ...] = ()
    inconclusive: tuple[str, ...] = ()
    doing: Mapping[str, str] = field(default_factory=dict)
    writes: frozenset[str] = frozenset()
    old_name: str = ""
    fact: str = ""

    @property
    def object(self) -> str:
        """The name of the object, without the field that differs."""
        return self.name.removesuffix(f" {self.fact}") if self.fact else self.name

    def row(self) -> Row:
        """Return the difference as plain values."""
        return {
            name: value for name, value in asdict(self).items() if name not in ("doing", "writes", "old_name", "fact")
        }

    def is_on(self, tables: frozenset[str]) -> bool:
        """Return whether the difference concerns one of these tables (bare names)."""
        return self.table.lower() in tables or bool(self.writes & tables)


@dataclass(frozen=True)
class Servers:
    """The differences of the two servers. `problem`: why the differences are unknown or incomplete.

    `quiet`: differences that are shown only if they explain a statement.
    """

    differences: tuple[ServerDifference, ...] = ()
    more: int = 0  # number of further differences that are not listed
    problem: str | None = None
    quiet: tuple[ServerDifference, ...] = ()

    @property
    def shown(self) -> list[ServerDifference]:
        """Differences that are not caused only by the version or family, most important first."""
        return [each for each in self.differences if not each.folded]

    @property
    def folded(self) -> list[ServerDifference]:
        """Differences that are caused only by the version or family."""
        return [each for each in self.differences if each.folded]


Step = Callable[[], Path]
Runner = Callable[[Sequence[Step]], Sequence[Path]]


def run_here(steps: Sequence[Step]) -> list[Path]:
    """Run the steps one after the other in this process, and return their results."""
    return [step() for step in steps]


@dataclass(frozen=True)
class Work:
    """How the events are counted in shares of the sessions (shares.py).

    `folder`: an empty folder that all processes can read and write. `run`: runs the steps of all shares and returns
    their results in order. `seed`: another number gives other shares. `threads`: of each step.
    """

    folder: Path
    shares: int
    run: Runner = run_here
    seed: int = 0
    threads: int | None = None


@dataclass(frozen=True)
class Settings:
    """Settings of a report.

    `samples`: show literal values. `margin`: the smallest difference that counts. `skip_ns`: length of the warm-up,
    whose events are not measured. `memory`: DuckDB's limit.

    `undisturbed`: no other program ran on the target hosts, so a change that all statements share comes from the
    servers. `ddl`: DDL statements that were tried. B is A after these statements, and the report answers whether the
    DDL is worth its cost. `sandboxes`: the --target of each side whose server was private. Its address is no longer in
    use. `keep_summary`: keep the counts of many events in the folder of the last run (summary.py). `work`: count the
    events in shares, for example on several hosts.
    """

    samples: bool = False
    margin: Margin = field(default_factory=Margin)
    skip_ns: int = 0
    memory: str = "1500MB"
    undisturbed: bool = False
    ddl: tuple[str, ...] = ()
    sandboxes: Mapping[str, str] = field(default_factory=dict)
    keep_summary: bool = True
    work: Work | None = None


@dataclass
class Report:
    """The complete data of a report.

    `a` contains the rounds of the reference side, `b` the rounds of the judged side. `b` is empty if nothing is
    compared.
    """

    tape: Folder
    a: list[Folder]
    b: list[Folder]
    settings: Settings = field(default_factory=Settings)
    unpaired_rounds: int = 0  # rounds without a partner on the other side; the report excludes them
    bin_ns: int = 1_000_000_000  # bin width of the analyses over time, in ns
    answers: Answers = field(default_factory=Answers)  # query results by analysis (database.REPORT)
    details: Details = field(default_factory=Details)  # query results per digest, by analysis (database.DETAILS)
    digests: list[DigestEntry] = field(default_factory=list)  # both sides, verdict and text; most urgent first
    trust: list[Finding] = field(default_factory=list)  # limits of the report, worst first
    over_time: list[Observation] = field(default_factory=list)  # sentences on warm-up, steadiness and stalls
    query_plans: dict[str, PlanEntry] = field(default_factory=dict)  # plans by digest, see findings.plans.plans_of
    # Server counters per write, by side (a or b), if the runs of both sides recorded them.
    write_counters: dict[str, dict[str, float]] = field(default_factory=dict)
    servers: Servers = field(default_factory=Servers)  # differences of the two servers
    tables: dict[str, frozenset[str]] = field(default_factory=dict)  # table names by digest, if two sides are compared
    # Columns of the unique indexes that both servers have, by bare table.
    unique_keys: dict[str, frozenset[tuple[str, ...]]] = field(default_factory=dict)
    routines: dict[str, frozenset[str]] = field(default_factory=dict)  # names of the routines that each digest calls
    written: dict[str, int] = field(default_factory=dict)  # properties of each digest as bits (PROPERTIES)
    variables: list[Variable] = field(default_factory=list)  # server variables that differ

    disturbance: Disturbance = UNKNOWN  # blocks of time that other programs disturbed on one side

    @property
    def compares(self) -> bool:
        """Return whether the report has two sides."""
        return bool(self.b)

    @property
    def sides(self) -> dict[str, list[Folder]]:
        """The rounds of each side by its letter (a, b). A missing side is left out."""
        return {"a": self.a, "b": self.b} if self.b else {"a": self.a}

    @property
    def runs(self) -> list[Folder]:
        """The first round of each side."""
        return [rounds[0] for rounds in self.sides.values()]

    @property
    def rounds(self) -> int:
        """The number of rounds of each side."""
        return min(len(rounds) for rounds in self.sides.values())

    def count(self, word: str) -> int:
        """Return the number of digests with this verdict."""
        return sum(1 for digest in self.digests if digest["verdict"] == word)
