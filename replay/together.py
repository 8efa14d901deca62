# SPDX-License-Identifier: Apache-2.0
"""What a replay settles with others that run at the same time, each a part of one tape: the base class is alone.

make_plan ──span──► what of the tape's time all of them send together: one zero
Replay ──started──► the engine holds when its sessions are open; whoever leads says when zero is
"""

from typing import Any

from ..native.bindings.engine import Engine


class Together:
    """A replay that is alone: the plan's own span, and it begins when all is ready."""

    holds = False

    def span(self, first_ns: int, last_ns: int) -> tuple[int, int]:
        """Return the tape's first and last moment of all that are together; given: of this plan."""
        return first_ns, last_ns

    def about(self) -> dict[str, Any]:
        """Return what run.json says of what this is a part of."""
        return {}

    def started(self, engine: Engine) -> None:
        """Take the engine when its threads have started, in the thread that called `replay`."""


ALONE = Together()
