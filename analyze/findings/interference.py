# SPDX-License-Identifier: Apache-2.0
"""Say what other programs did to a comparison, and which command would tell where nothing can be said."""

from collections.abc import Iterator

from ...schemas import Folder
from ..model import Finding, Report, Severity
from ..verdicts.verdict import Conditions
from .doubt import doubt

MIN_ROUNDS = 3
FULL = "by the servers, or by programs beside them: no processor was left over"
UNSEEN = "by the servers, or by programs beside them that can't be seen from here"


def conditions(report: Report) -> Conditions:
    """Return what holds for the verdicts on all digests."""
    found = report.disturbance
    return Conditions(
        doubt=doubt(report),
        disturbed=found.said if found.disturbed else None,
        unseen=UNSEEN if not found.seen else f"{FULL}, {found.said}" if found.crowded else None,
        rounds=report.rounds,
    )


def interference(report: Report) -> Iterator[Finding]:
    """Yield what is left out because of other programs, and what can't be seen of them."""
    found = report.disturbance
    if found.disturbed:
        slower, faster = int(found.b_more.sum()), int(found.a_more.sum())
        yield Finding(
            Severity.WARNING,
            f"Other programs took processors unequally: {found.said}. Of {found.blocks} blocks of time, {slower} are"
            f" left out of what says slower, {faster} of what says faster. {what_would_tell(report)}",
        )
    elif found.crowded:
        yield Finding(
            Severity.WARNING,
            f"Other programs left no processor over: {found.said}. A change that all statements share is not called in"
            f" fewer than {MIN_ROUNDS} rounds. {what_would_tell(report)}",
        )
    if not found.seen and not report.settings.undisturbed:
        yield Finding(
            Severity.INFORMATION,
            "What other programs took of the targets' machines was not seen: a change that all statements share is"
            f" not called in fewer than {MIN_ROUNDS} rounds. --host-metrics ssh://... of a replay shows it;"
            " --undisturbed says that there was none.",
        )


def what_would_tell(report: Report) -> str:
    """Return a sentence with the command that would tell."""
    if report.settings.ddl:
        return f"On a quiet machine, or with --rounds {max(2 * report.rounds, 5)}, the same `querytape try` would tell."
    targets = " ".join(f"--target {side}={_url(rounds[0])}" for side, rounds in report.sides.items())
    rounds = max(2 * report.rounds, 5)
    return (
        f"On quiet machines, or in more rounds, this would tell: querytape compare {report.tape.path} {targets}"
        f" --rounds {rounds} -o again.compare"
    )


def _url(run: Folder) -> str:
    return f"mysql://{run.info.get('target', {}).get('name', 'HOST')}"
