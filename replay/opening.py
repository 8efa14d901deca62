# SPDX-License-Identifier: Apache-2.0
"""What a replay asks of others before it begins: the second target, the target's machine; and saying no."""

from contextlib import closing

from ..errors import RefusedError
from ..servers.facts import Facts, gather
from .hosts import Host, SshHost
from .machine import is_local
from .options import ReplayOptions
from .preflight import Finding


def reader_facts(options: ReplayOptions) -> Facts | None:
    """Return what is known of the second target. Raises TargetError where it can't be reached."""
    if options.reads_to is None:
        return None
    with closing(options.reads_to.connect(options.connect_timeout_s)) as con:
        return gather(con)


def open_host(options: ReplayOptions) -> Host | None:
    """Return the target's machine, None where it can't be seen. Raises TargetError where ssh does not get there."""
    if options.sample_ns and options.host_metrics:
        return SshHost(options.host_metrics)
    return Host() if options.sample_ns and is_local(options.target) else None


def refuse(findings: list[Finding]) -> None:
    """Raise RefusedError with all that speaks against it."""
    against = [finding.text for finding in findings if finding.level == "refuse"]
    if against:
        raise RefusedError("refused: " + "\n           ".join(against))
