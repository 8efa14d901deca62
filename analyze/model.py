# SPDX-License-Identifier: Apache-2.0
"""A report's data: the settings it is made with, the rows of its analyses, and the findings on them. No computation."""

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import NamedTuple, NotRequired, TypedDict

from ..schemas import Folder
from .database import Row
from .rows import Answers, CountersRow, Details, DigestsPart, DigestsRow, PairsRow
from .verdicts.interference import UNKNOWN, Disturbance
from .verdicts.verdict import Margin


class Severity(StrEnum):
    """How much a finding limits a report; worst first."""

    PROBLEM = "problem"
    WARNING = "warning"
    INFORMATION = "information"


class Finding(NamedTuple):
    """One sentence on how far a report can be trusted."""

    severity: Severity
    text: str


class Observation(NamedTuple):
    """One sentence on what happened in a run over time; `run` is a or b."""

    run: str
    text: str


class RankedCounter(CountersRow):
    """A row of report/counters.sql with its place in the table of causes; None where it has none."""

    topic: str | None


class ShiftRow(TypedDict):
    """A digest's shifts as ratios of B over A. `detectable`: a smaller ratio would not be seen."""

    ratio: float | None
    low: float | None
    high: float | None
    paired: bool
    p95_low: float | None
    p95_high: float | None
    detectable: float | None
    noise: float | None


# What the tape has of a digest. `sample`: one statement, where samples may be shown.
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
    """A digest with both sides and its verdict. `a`, `b`: rows of report/digests.sql; `pair`: of report/pairs.sql."""

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
    """What a server said of a statement, as texts. `error`: why it said nothing; `counters`: those of one execution."""

    json: str
    tree: str
    analyze: str
    counters: str
    error: str | None


# The query plans of a digest on both sides, what differs, and the worst class of that; None where a side has none.
# `samples`: how many statements were asked, `differing`: of how many of them the plans differ.
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
    """A server variable that differs; None where a server has none. `topic`: its place in the table of causes."""

    name: str
    a: str | None
    b: str | None
    topic: NotRequired[str | None]


def sides_of(entry: DigestEntry) -> tuple[DigestsRow | DigestsPart, DigestsRow | DigestsPart]:
    """Return a digest's rows of A and B, without columns where a side has none."""
    return entry["a"] or DigestsPart(), entry["b"] or DigestsPart()


def ratio_of(entry: DigestEntry) -> float | None:
    """Return a digest's ratio of B over A: of its shift, else of its pairs; None where it has neither."""
    shift, pair = entry["shift"], entry["pair"]
    return (shift["ratio"] if shift else None) or (pair["ratio"] if pair else None)


def bare_name(table: str) -> str:
    """Return a table's name in lower case, without schema and back quotes."""
    return table.replace("`", "").rpartition(".")[2].lower()


@dataclass(frozen=True)
class ServerDifference:
    """Something in which the two servers differ: a schema's, or a setting.

    `kind`: table, column, index, ..., setting. `name`: `orders.k_user`, or the setting's; with its fact where only
    that differs, as in `orders.k_user columns`. `folded`: it comes with the
    version or family alone. `digests` and `tape_ns`: how many statements name the table, and their time on the tape.
    `changed`: digests among them whose verdict or results changed. `inconclusive`: those that may be slower, but whose
    times do not prove it. `doing`: what these do with it, in words for one | for more. `writes`: other tables, by bare
    name, that a trigger, routine or event writes. `old_name`: of a setting on B, where it is another.
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
    doing: str = ""
    writes: frozenset[str] = frozenset()
    old_name: str = ""
    fact: str = ""

    @property
    def object(self) -> str:
        """The name without the fact."""
        return self.name.removesuffix(f" {self.fact}") if self.fact else self.name

    def row(self) -> Row:
        """Return it as plain values."""
        return {
            name: value for name, value in asdict(self).items() if name not in ("doing", "writes", "old_name", "fact")
        }

    def is_on(self, tables: frozenset[str]) -> bool:
        """Whether it concerns one of these tables, by bare names."""
        return self.table.lower() in tables or bool(self.writes & tables)


@dataclass(frozen=True)
class Servers:
    """How the two servers differ; `problem`: why that is not known, or not wholly.

    `quiet`: differences that are told only where they explain a statement.
    """

    differences: tuple[ServerDifference, ...] = ()
    more: int = 0  # differences beyond those that are listed
    problem: str | None = None
    quiet: tuple[ServerDifference, ...] = ()

    @property
    def shown(self) -> list[ServerDifference]:
        """What is somebody's doing, most important first."""
        return [each for each in self.differences if not each.folded]

    @property
    def folded(self) -> list[ServerDifference]:
        """What comes with the version or family alone."""
        return [each for each in self.differences if each.folded]


@dataclass(frozen=True)
class Settings:
    """How a report is made.

    `samples`: literal values are shown. `margin`: what counts as a difference. `skip_ns`: events that were sent earlier
    than this after a run's start are a warm-up and are not measured. `memory`: DuckDB's limit. `partitions`: into how
    many the events are dealt (None: as many as the memory needs), which `processes` work on. `undisturbed`: no other
    program ran on the targets' machines, so that what all statements share is the servers'. `ddl`: statements that were
    tried: B is A after them, and the report answers whether they are worth it.
    """

    samples: bool = False
    margin: Margin = field(default_factory=Margin)
    skip_ns: int = 0
    memory: str = "1500MB"
    partitions: int | None = None
    processes: int = 1
    undisturbed: bool = False
    ddl: tuple[str, ...] = ()


@dataclass
class Report:
    """Everything a report shows.

    `a` is the reference, `b` what is judged: each the rounds of one side, in order; b is empty where nothing is
    compared.
    """

    tape: Folder
    a: list[Folder]
    b: list[Folder]
    settings: Settings = field(default_factory=Settings)
    unpaired_rounds: int = 0  # rounds that have no partner on the other side, and are not in the report
    bin_ns: int = 1_000_000_000  # width of a bin of the analyses over time
    answers: Answers = field(default_factory=Answers)  # rows by analysis (database.REPORT)
    details: Details = field(default_factory=Details)  # rows by analysis (database.DETAILS), of each digest
    digests: list[DigestEntry] = field(default_factory=list)  # both sides, verdict and text; most urgent first
    trust: list[Finding] = field(default_factory=list)  # what limits the report, worst first
    over_time: list[Observation] = field(default_factory=list)  # warm-up, steadiness, stalls
    query_plans: dict[str, PlanEntry] = field(default_factory=dict)  # by digest: findings.query_plans.plans_of
    # By side, a or b: what its server counted for each write, where both sides' runs kept it.
    write_counters: dict[str, dict[str, float]] = field(default_factory=dict)
    servers: Servers = field(default_factory=Servers)  # in what the two servers differ: schemas and settings
    tables: dict[str, frozenset[str]] = field(default_factory=dict)  # names of each digest's tables, where compared
    # Columns of the unique indexes that both servers have, by bare table.
    unique_keys: dict[str, frozenset[tuple[str, ...]]] = field(default_factory=dict)
    routines: dict[str, frozenset[str]] = field(default_factory=dict)  # names of the routines that each digest calls
    written: dict[str, int] = field(default_factory=dict)  # how each digest is written: bits of PROPERTIES
    variables: list[Variable] = field(default_factory=list)  # server variables that differ

    disturbance: Disturbance = UNKNOWN  # where other programs disturbed one side more than the other

    @property
    def compares(self) -> bool:
        """Whether there are two sides, so that differences can be ranked."""
        return bool(self.b)

    @property
    def sides(self) -> dict[str, list[Folder]]:
        """The rounds of each side that there is, by its letter: a, b."""
        return {"a": self.a, "b": self.b} if self.b else {"a": self.a}

    @property
    def runs(self) -> list[Folder]:
        """The first round of each side."""
        return [rounds[0] for rounds in self.sides.values()]

    @property
    def rounds(self) -> int:
        """How many rounds each side has."""
        return min(len(rounds) for rounds in self.sides.values())

    def count(self, word: str) -> int:
        """Return how many digests got this verdict."""
        return sum(1 for digest in self.digests if digest["verdict"] == word)
