# SPDX-License-Identifier: Apache-2.0
"""Server settings that differ: those that change how statements run, by name; the rest as a table."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..database import Row
from ..model import ServerDifference
from .cause_table import TOPICS, gone_modes, is_telling, rank_variables

LONG_VALUE = 80  # of both sides: a list that long shows only what differs
OWN_DEFAULTS = frozenset({"optimizer_switch"})
# What an empty value stands for (MySQL 5.7 and earlier, not on Windows).
EMPTY_MEANS = {"innodb_flush_method": "fsync"}
OLD_NAMES = {
    "tx_isolation": "transaction_isolation",
    "tx_read_only": "transaction_read_only",
    "storage_engine": "default_storage_engine",
}
# Parts of the names of variables that differ between any two servers and say nothing about how statements run.
SERVERS_OWN = (
    "host",
    "port",
    "socket",
    "dir",
    "file",
    "path",
    "uuid",
    "server_id",
    "gtid",
    "timestamp",
    "uptime",
    "rand_seed",
    "log_error",
    "server_uid",
)
SERVERS_OWN_NAMES = frozenset(
    {"version_compile_machine", "version_compile_os", "license", "pseudo_thread_id", "identity"}
)


def different_variables(a: dict[str, Any], b: dict[str, Any]) -> list[Row]:
    """Return the variables that differ and may matter: name, a, b; None where a server has none of that name.

    Those that both servers have come first.
    """
    rows = []
    for name in sorted(a.keys() | b.keys()):
        before, after = a.get(name), b.get(name)
        own = name in SERVERS_OWN_NAMES or any(part in name for part in SERVERS_OWN)
        own &= not is_telling(name)
        if before != after and not own:
            rows.append({"name": name, "a": before, "b": after})
    both = [row for row in rows if row["a"] is not None and row["b"] is not None]
    return both + [row for row in rows if row["a"] is None or row["b"] is None]


def setting_differences(a: dict[str, Any], b: dict[str, Any], same_family: bool = True) -> list[ServerDifference]:
    """Return the differing settings that may change how statements run, most important first.

    The optimizer's switches of two families have defaults of their own: those are folded.
    """
    a, b = ({OLD_NAMES.get(name, name): value for name, value in side.items()} for side in (a, b))
    known = [row for row in rank_variables(different_variables(a, b), list(TOPICS)) if row["topic"]]
    found = [difference for row in known for difference in _setting(row["name"], row["a"], row["b"])]
    return [replace(each, folded=True) if each.name in OWN_DEFAULTS and not same_family else each for each in found]


def _setting(name: str, a: str | None, b: str | None) -> Iterator[ServerDifference]:
    """Yield the difference of one setting; of lists only what one side has and the other could have."""
    if a is None or b is None or (a or EMPTY_MEANS.get(name)) == (b or EMPTY_MEANS.get(name)):
        return
    if name == "sql_mode":
        text, folded = _modes(a, b)
    elif name == "optimizer_switch":
        text, folded = _flags(a, b)
    else:
        text, folded = f"{name}: {a or 'empty'} in A, {b or 'empty'} in B", False
    if text:
        yield ServerDifference("setting", name, text, a, b, folded=folded)


def _modes(a: str, b: str) -> tuple[str, bool]:
    """Return what the two sql_modes have not in common, and whether a release's removal is all of it."""
    sides = [{mode for mode in text.split(",") if mode} for text in (a, b)]
    only = [sides[0] - sides[1], sides[1] - sides[0]]
    if not any(only):
        return "", False
    is_gone = only[0] | only[1] <= gone_modes()
    shown = [sorted(modes if is_gone else modes - gone_modes()) for modes in only]
    parts = [f"only {letter} has {', '.join(modes)}" for letter, modes in zip("AB", shown, strict=True) if modes]
    return f"sql_mode: {'; '.join(parts)}", is_gone


def _flags(a: str, b: str) -> tuple[str, bool]:
    """Return the optimizer's switches that both servers have and that differ; those of one version alone are folded."""
    sides = [dict(flag.partition("=")[::2] for flag in text.split(",") if flag) for text in (a, b)]
    both = [name for name in sides[0] if name in sides[1] and sides[0][name] != sides[1][name]]
    if both:
        parts = [f"{name} is {sides[0][name]} in A, {sides[1][name]} in B" for name in both]
        return f"optimizer_switch: {'; '.join(parts)}", False
    only = sum(name not in sides[1] for name in sides[0]) + sum(name not in sides[0] for name in sides[1])
    return (f"optimizer_switch: {only} switches that only one version has" if only else ""), True


def value_texts(a: str | None, b: str | None) -> tuple[str, str]:
    """Return two values for people: of long lists only what differs, with room to wrap; what is not there, in words."""
    if a and b and len(a) + len(b) > LONG_VALUE and "," in a and "," in b:
        sides = [[part for part in text.split(",") if part] for text in (a, b)]
        same = set(sides[0]) & set(sides[1])
        if len(same) > 1:
            only = [", ".join(part for part in side if part not in same) or "nothing more" for side in sides]
            return f"{only[0]}", f"{only[1]} (and {len(same):,} as in A)"
    return _value_text(a), _value_text(b)


def _value_text(value: str | None) -> str:
    if value is None:
        return "no such variable"
    return ", ".join(part.strip() for part in value.split(",")) or "empty"
