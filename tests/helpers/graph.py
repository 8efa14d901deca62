# SPDX-License-Identifier: Apache-2.0
"""Graphs for the architecture test: Python imports, C includes, and the cycles in these graphs."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

IGNORED = {".venv", ".servers", "build", "dist", ".git"}
Graph = dict[str, set[str]]


def ours(checkout: Path, *patterns: str) -> Iterator[Path]:
    """Yield the project's own files of the checkout that match the patterns."""
    for pattern in patterns:
        for path in sorted(checkout.rglob(pattern)):
            inside = path.relative_to(checkout)
            if not IGNORED & set(inside.parts) and path.name != "_querytape.c":
                yield path


def module_of(path: Path, checkout: Path) -> str:
    """Return the dotted module name of a file inside the package. The package itself is ''."""
    parts = path.relative_to(checkout).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, checkout: Path) -> Iterator[tuple[int, str, str]]:
    """Yield (line, module, name or '') for each import of a project module in a file, including imports inside
    functions.
    """
    package = path.relative_to(checkout).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base: tuple[str, ...] = package[: len(package) - node.level + 1]
            elif (node.module or "").split(".")[0] == "querytape":
                base = ()
            else:
                continue
            rest = (node.module or "").split(".") if node.module else []
            target = ".".join((*base, *(rest if node.level else rest[1:])))
            for alias in node.names:
                yield node.lineno, target, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "querytape":
                    yield node.lineno, ".".join(alias.name.split(".")[1:]), ""


def python_graph(checkout: Path, *folders: str) -> Graph:
    """Return a map of each module to the modules that it imports. It covers `folders` and the package's own files."""
    files = [*checkout.glob("*.py"), *(path for folder in folders for path in ours(checkout / folder, "*.py"))]
    modules = {module_of(path, checkout) for path in files}
    graph: Graph = {}
    for path in files:
        used = graph.setdefault(module_of(path, checkout), set())
        for _, module, name in imports(path, checkout):
            inner = f"{module}.{name}".lstrip(".")
            used.add(inner if inner in modules else module)
    return {name: (used & modules) - {name} for name, used in graph.items()}


def include_graph(native: Path) -> Graph:
    """Return a map of each file to the files that it includes, all in the folder `native`. A header and its `.c` file
    are separate.
    """
    files = {str(path.relative_to(native)): path for path in ours(native, "*.c", "*.h")}
    graph = {}
    for name, path in files.items():
        named = re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(encoding="utf-8"), re.M)
        graph[name] = {include for include in named if include in files}
    return graph


def units(graph: Mapping[str, set[str]]) -> Graph:
    """Return a graph of includes that merges each `x.c` and `x.h` into `x`. The merged graph shows cycles between two
    parts.
    """
    found: Graph = {}
    for name, used in graph.items():
        unit = name.rpartition(".")[0]
        found.setdefault(unit, set()).update(include.rpartition(".")[0] for include in used)
    return {unit: used - {unit} for unit, used in found.items()}


def rings(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the sets of at least two nodes that reach each other (Tarjan 1972), sorted."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            ring = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(ring) > 1:
                found.append(sorted(ring))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)
