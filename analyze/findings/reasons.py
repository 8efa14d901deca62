# SPDX-License-Identifier: Apache-2.0
"""Say in words why an event was not sent, or was sent late; docs/format.md has the reasons in full."""

from ...schemas.names import LATENESS, REASONS

# Causes of lateness.sql: what an event had to wait for.
CAUSES = {"all": "all causes together", **LATENESS}


def reason_words(reason: str | None) -> str:
    """Return why, in words; a reason that is not known here as it is."""
    if reason is None:
        return ""
    if reason.startswith("danger:"):
        return f"act on the server itself, for --allow-statement {reason.partition(':')[2]} was not given"
    return REASONS[reason].words if reason in REASONS else reason
