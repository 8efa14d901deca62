# SPDX-License-Identifier: Apache-2.0
"""Warn if the times of a run or its order of commits may be wrong. Each warning names a remedy.

The replaying machine may have limited the run instead of the target. `querytape calibrate` measures a machine's limits.
"""

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...common.files import cache_folder
from ...common.units import plural

CPU_SHARE = 0.7  # maximum CPU use of the replay, as a fraction of all cores
RATE_SHARE = 0.7  # maximum rate of the replay, as a fraction of the calibrated rate
LATE_NS = 1_000_000  # a smaller lateness gives no warning
LATE_FACTOR = 3  # lateness up to this multiple of the timer probes' lateness is caused by the machine
BROKEN_SHARE = 0.01  # if a larger fraction of the waits was ended by the timeout, the order was not kept
MAX_NUMBER = 1e18


def warnings(info: dict[str, Any], calibration: dict[str, Any] | None) -> list[str]:
    """Return warnings about the times of a finished run.

    `info`: the run.json of the run. `calibration`: the last calibration of this machine.
    """
    return [
        *_large_rows(info),
        *_cpu(info),
        *_rate(info, calibration),
        *_lateness(info, calibration),
        *_overload(info),
    ]


def _large_rows(info: dict[str, Any]) -> list[str]:
    count = info["accounting"]["rows_too_large"]
    if not count:
        return []
    return [
        f"{plural(count, 'row')} in answers exceeded a session's memory (max_allowed_packet, or its part of 1 GiB)."
        " querytape closed each such connection with error 2013. Replay fewer sessions, or raise max_allowed_packet"
    ]


def of_fleet(infos: Sequence[dict[str, Any]]) -> list[str]:
    """Return warnings about finished runs that were replayed at the same time on this machine."""
    if not infos:
        return []
    used = {"cpu_ns": sum(info["generator"]["cpu_ns"] for info in infos), "cores": infos[0]["generator"]["cores"]}
    return _cpu({"generator": used, "elapsed_ns": max(info["elapsed_ns"] for info in infos)})


def _cpu(info: dict[str, Any]) -> list[str]:
    used, elapsed = info["generator"], max(info["elapsed_ns"], 1)
    share = used["cpu_ns"] / elapsed / used["cores"]
    if share < CPU_SHARE or elapsed < 1_000_000_000:
        return []
    return [
        f"the replay used {share:.0%} of this machine's {used['cores']} cores, so the target may be faster than"
        " measured. Replay from a larger machine that is not the target's host"
    ]


def _rate(info: dict[str, Any], calibration: dict[str, Any] | None) -> list[str]:
    best = max((level["queries_per_second"] for level in (calibration or {}).get("levels", ())), default=0)
    rate = info["accounting"]["executed"] / max(info["elapsed_ns"] / 1e9, 1e-9)
    if not best or rate < RATE_SHARE * best or info["elapsed_ns"] < 1_000_000_000:
        return []
    return [
        f"the replay sent {rate:,.0f} queries per second. `querytape calibrate` measured {best:,.0f} on this machine,"
        f" so this machine was probably the limit ({rate / best:.0%}). Replay from a larger machine"
    ]


def _lateness(info: dict[str, Any], calibration: dict[str, Any] | None) -> list[str]:
    late, probe = info["lateness"]["tool_p99_ns"], info["lateness"]["probe_p99_ns"]
    if info["parameters"]["pace"] == "none" or late is None or late < LATE_NS:
        return []
    usual = [level["late_p99_ns"] for level in (calibration or {}).get("levels", ()) if level["pace"] == "schedule"]
    if probe is not None and late < LATE_FACTOR * probe:
        return [
            f"1 % of the statements were sent at least {late / 1e6:.1f} ms late, and threads that only sleep woke"
            " as late. End other programs, or replay from another machine"
        ]
    known = f" (`querytape calibrate` on this machine: {usual[0] / 1e6:.2f} ms)" if usual and usual[0] else ""
    return [
        f"querytape itself sent 1 % of the statements at least {late / 1e6:.1f} ms late{known}. Reduce the load on"
        " this machine, or replay from a larger machine"
    ]


def _overload(info: dict[str, Any]) -> list[str]:
    waits, drops = info["accounting"]["overload_waits"], info["accounting"]["overload_drops"]
    if not waits and not drops:
        return []
    waited = f"the replay waited {plural(waits, 'time')} for space in the queue"
    effect = f"{plural(drops, 'event')} {'was' if drops == 1 else 'were'} dropped" if drops else waited
    return [f"the queue was full while events were overdue: {effect}. Raise --queue-memory, or lower the speed"]


def order_warnings(info: dict[str, Any]) -> list[str]:
    """Return warnings about the order of commits in a finished run. `info`: the run.json of the run."""
    counts, plan = info["accounting"], info["plan"]
    notes = [f"--order commit: {note}" for note in plan.get("order_notes") or ()]
    broken = counts.get("order_broken", 0)
    if not broken:
        return notes
    waits = max(counts["order_waits"], broken)
    much = " (the order of the tape was not kept)" if broken > BROKEN_SHARE * waits else ""
    text = (
        f"--order commit: {broken:,} of {waits:,} waits for another session's commit reached the limit of"
        f" --order-bound{much}. The statements after these waits were sent too early, so the data may differ"
    )
    return [text, *notes]


def cache_file() -> Path:
    """Return the path of the file with the last calibration."""
    return cache_folder() / "calibration.json"


def last_calibration() -> dict[str, Any] | None:
    """Return the last calibration of this machine. Return None if the machine was never calibrated."""
    try:
        kept = json.loads(cache_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    mine = isinstance(kept, dict) and kept.get("machine") == socket.gethostname()
    levels = kept.get("levels") if mine else None
    return kept if isinstance(levels, list) and all(map(is_level, levels)) else None


def is_level(value: Any) -> bool:
    """Whether a value from the calibration file is a valid level. The content of the file is not trusted."""
    if not isinstance(value, dict) or not isinstance(value.get("pace"), str):
        return False
    rate, late = value.get("queries_per_second"), value.get("late_p99_ns")
    return _is_number(rate) and (late is None or _is_number(late))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < MAX_NUMBER
