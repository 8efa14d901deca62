# SPDX-License-Identifier: Apache-2.0
"""Make mutants of Python code with mutmut's operators, and of C and SQL code with the operators of this module. The
name of a mutant does not depend on other code in its file. A sample with a given seed therefore stays the same while
other code changes.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import libcst
from mutmut.mutation.file_mutation import create_mutations

from .rooms import ROOMS, room_of

COMMON = (
    (r"(?<![-<>=!])<=(?![<>=])", "<"),
    (r"(?<![-<>=!])>=(?![<>=])", ">"),
    (r"(?<![-<>=!])<(?![<>=])", "<="),
    (r"(?<![-<>=!])>(?![<>=])", ">="),
    (r" \+ (?=[\w(])", " - "),
    (r"(?<=[\w)]) - (?=[\w(])", " + "),
)
IN_C = (
    *COMMON,
    (r" == ", " != "),
    (r" != ", " == "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r"\bif \((?!0 )", "if (0 && "),
    (r" \+ 1\b", ""),
    (r" - 1\b", ""),
    (r" \|= ", " = "),
    (r" \+= ", " = "),
    (r"\breturn 0;", "return 1;"),
    (r"\bbreak;", ";"),
    (r"(?<=[( ])!(?=[\w(])", ""),
)
IN_SQL = (
    *COMMON,
    (r" <> ", " = "),
    (r"(?<![<>=!]) = ", " <> "),
    (r"\bAND\b", "OR"),
    (r"\bOR\b(?! REPLACE)", "AND"),
    (r"\bNOT ", ""),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\barg_min\(", "arg_max("),
    (r"\bsum\(", "max("),
    (r"\bleast\(", "greatest("),
    (r"\bgreatest\(", "least("),
    (r"\bLEFT JOIN\b", "JOIN"),
    (r" DESC\b", ""),
    (r"\bDISTINCT ", ""),
    (r"\bPRECEDING AND 1 PRECEDING\b", "PRECEDING AND CURRENT ROW"),
)
# `a <= b ? a : b` and `a < b ? a : b` are equivalent, because equal values give the same result.
LEAST = re.compile(r"([\w.>\[\]-]+) ([<>]) ([\w.>\[\]-]+) \? (?:\1 : \3|\3 : \1)(?![\w.>\[(-])")
NOT_CODE = {"c": r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|^#.*?$", "sql": r"--.*?$|'[^']*'"}


@dataclass(frozen=True)
class Mutant:
    """A fault in a file of the checkout. `name` is unique. `text` returns the file's text with the fault."""

    name: str
    path: str
    line: int
    room: str
    text: Callable[[], str]

    def rank(self, seed: int) -> str:
        """Return the sort key of the mutant for a sample with this seed."""
        return hashlib.sha256(f"{seed} {self.name}".encode()).hexdigest()


def all_mutants(checkout: Path, rooms: Collection[str], only: str) -> list[Mutant]:
    """Return every mutant of the given rooms, which are groups of source files. `only` is a text that the path of the
    file must contain.
    """
    found: list[Mutant] = []
    for name in rooms:
        for pattern in ROOMS[name]:
            for path in sorted(checkout.glob(pattern)):
                inside = str(path.relative_to(checkout))
                if path.name != "__init__.py" and only in inside and room_of(inside) == name:
                    found += (
                        python_mutants(inside, path, name) if path.suffix == ".py" else text_mutants(inside, path, name)
                    )
    return list({mutant.name: mutant for mutant in found}.values())


def python_mutants(inside: str, path: Path, room: str) -> Iterator[Mutant]:
    """Yield each of mutmut's changes to a file as a separate mutant. mutmut itself writes all mutants into one file."""
    source = path.read_text(encoding="utf-8")
    module, mutations, _, _ = create_mutations(inside, source)
    wrapper = libcst.MetadataWrapper(module, unsafe_skip_copy=True)
    places: Any = wrapper.resolve(libcst.metadata.PositionProvider)
    seen: Counter[str] = Counter()
    for mutation in mutations:
        function = mutation.contained_by_top_level_function
        if not isinstance(function, libcst.FunctionDef):
            continue
        before = module.code_for_node(mutation.original_node).strip()
        after = module.code_for_node(mutation.mutated_node).strip()
        if _is_text_only(before, after):
            continue
        line = places[mutation.original_node].start.line if mutation.original_node in places else 0
        change = _change(before, after)
        key = f"{inside}: {function.name.value}: {change}"
        seen[key] += 1
        name = key + (f" [{seen[key]}]" if seen[key] > 1 else "")
        yield Mutant(
            name, inside, line, room, partial(_replaced, module, mutation.original_node, mutation.mutated_node)
        )


def _replaced(module: libcst.Module, before: libcst.CSTNode, after: libcst.CSTNode) -> str:
    text = module.deep_replace(before, after)
    assert isinstance(text, libcst.Module)
    return text.code


def _is_text_only(before: str, after: str) -> bool:
    """Return whether a mutation changes only the wording of a message, which no test should check."""
    return bool(re.match(r"f?['\"]", before)) and " " in before and after.lower().strip("fXx") != before


def _change(before: str, after: str) -> str:
    flat_before, flat_after = " ".join(before.split()), " ".join(after.split())
    start = 0
    while start < min(len(flat_before), len(flat_after)) and flat_before[start] == flat_after[start]:
        start += 1
    start = max(start - 30, 0)
    return f"{flat_before[start : start + 60]} => {flat_after[start : start + 60]}"


def text_mutants(inside: str, path: Path, room: str) -> Iterator[Mutant]:
    """Yield mutants of a C or SQL file. Each mutant changes one operator outside comments and string literals."""
    source = path.read_text(encoding="utf-8")
    kind = "c" if path.suffix == ".c" else "sql"
    code = re.sub(NOT_CODE[kind], lambda m: re.sub(r"[^\n]", "\0", m[0]), source, flags=re.S | re.M)
    same = {match.start(2) for match in LEAST.finditer(code)}
    seen: Counter[str] = Counter()
    for pattern, replacement in IN_C if kind == "c" else IN_SQL:
        for match in re.finditer(pattern, code):
            begin = source.rfind("\n", 0, match.start()) + 1
            end = source.find("\n", match.end())
            old = source[begin:end]
            if (kind == "c" and "#include" in old) or match.start() in same:
                continue
            text = source[: match.start()] + replacement + source[match.end() :]
            new = text[begin : end + len(text) - len(source)]
            key = f"{inside}: {old.strip()} => {new.strip()}"
            seen[key] += 1
            name = key + (f" [{seen[key]}]" if seen[key] > 1 else "")
            yield Mutant(name, inside, source[:begin].count("\n") + 1, room, partial(str, text))
