# SPDX-License-Identifier: Apache-2.0
"""Automatic checks of the project's structure: imports, constants of C and Python, licences, and file sizes."""

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.helpers.graph import Graph, include_graph, ours, python_graph, rings, units

pytestmark = pytest.mark.slow

# For each part, the parts that it may import. Every part may import itself. docs/architecture.md contains this table.
MAY_IMPORT = {
    "common": set(),
    "schemas": {"common"},
    "native": {"common", "schemas"},
    "servers": {"common"},
    "stores": {"common"},
    "cluster": {"common"},
    "capture": {"common", "schemas", "native", "servers"},
    "replay": {"common", "schemas", "native", "servers", "cluster"},
    "analyze": {"common", "schemas", "native"},
    "metrics": {"common", "schemas", "native", "replay", "capture"},
    "experiments": {"common", "schemas", "native", "servers", "capture", "replay", "analyze"},
    "serve": {"common", "schemas", "analyze", "replay", "experiments"},
    "demo": {"common", "servers"},
    "cli": {
        "common",
        "schemas",
        "native",
        "servers",
        "capture",
        "replay",
        "analyze",
        "experiments",
        "demo",
        "metrics",
        "serve",
        "stores",
        "cluster",
    },
}
# The layers inside each part, lowest first. A module may import from its own layer and from lower layers. A folder
# represents all its modules.
LAYERS = {
    "analyze": (
        ("rows", "tape_rows"),
        ("verdicts", "database", "run_set"),
        ("model", "row_values"),
        ("cause_table",),
        ("lint",),
        ("inputs", "merge"),
        ("shares",),
        ("summary",),
        ("findings",),
        ("plans_report",),
        ("build_report", "workload", "tape_summary", "tape_facts", "sweep", "gates"),
        ("view", "make_rows"),
        ("render",),
        ("library",),
        ("",),
    ),
    "replay": (
        ("run_folder", "plan"),
        ("options",),
        ("checks", "observe", "engine_options"),
        ("watcher", "follow"),
        ("task",),
        ("run",),
        ("summary",),
        ("replay_tape", "calibrate", "sizing"),
        ("drivers",),
        ("",),
    ),
    "cli": (
        (
            "cluster_options",
            "comparison",
            "driver_options",
            "fleet_plan",
            "lazy_group",
            "libraries",
            "live_lines",
            "live_view",
            "metrics_page",
            "option_sections",
            "output",
            "param_types",
            "progress",
            "replay_options",
            "replay_settings",
            "report_options",
            "run_lines",
            "server_options",
            "shown_runs",
            "stored_folders",
            "target_options",
            "view_frame",
            "watchers",
        ),
        ("commands",),
        ("main",),
        ("",),
    ),
}
# Modules without a test file of the same name. Remove an entry when its test file exists. Add no new entry.
WITHOUT_TEST_FILE: frozenset[str] = frozenset()
# Files that search statement texts, with the number of searches. Only native/ should parse statements, so this list may
# only become shorter. The listed searches read values of a single execution, or apply the rules of `lint`, which are
# data.
ASKS_TEXTS = {
    "analyze/lint/check.py": 3,
    "analyze/sql/lint/texts.sql": 1,
    "replay/observe/sql/plan_samples.sql": 1,
}
OF_TEXT = re.compile(r"regexp_[a-z_]+\(\s*(?:words_of\(|regexp_replace\()?[a-z.]*(?:normalized|statement|text)\b")
MAX_LINES = 600
MAX_FUNCTION = 60


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Return the import graph of the product's Python modules."""
    checkout = Path(__file__).resolve().parent.parent
    return python_graph(checkout, *MAY_IMPORT)


@pytest.mark.parametrize("part", sorted(MAY_IMPORT))
def test_parts_import_only_allowed_parts(part: str, graph: Graph) -> None:
    allowed = MAY_IMPORT[part] | {part}
    assert [
        f"{module} imports {used or 'the package itself'}"
        for module in graph
        if module.partition(".")[0] == part
        for used in graph[module]
        if used.partition(".")[0] not in allowed
    ] == []


@pytest.mark.parametrize("part", sorted(LAYERS))
def test_modules_import_only_from_their_layer_or_lower(part: str, graph: Graph) -> None:
    """Every module must also belong to a layer."""
    floors = {name: floor for floor, names in enumerate(LAYERS[part]) for name in names}
    inside = {module: module[len(part) + 1 :].partition(".")[0] for module in graph if module.partition(".")[0] == part}
    assert sorted(set(inside.values()) - floors.keys()) == []
    assert [
        f"{module} imports {used}"
        for module in inside
        for used in graph[module]
        if used in inside and floors[inside[used]] > floors[inside[module]]
    ] == []


def test_only_native_code_parses_statements(checkout: Path) -> None:
    """SQL and Python read the fields `properties`, `tables` and `calls` of digests instead of searching statement
    texts.
    """
    files = [path for part in MAY_IMPORT for kind in ("*.sql", "*.py") for path in ours(checkout / part, kind)]
    found = {path: len(OF_TEXT.findall(path.read_text(encoding="utf-8"))) for path in files}
    assert {str(path.relative_to(checkout)): n for path, n in found.items() if n} == ASKS_TEXTS


def test_imports_have_no_cycle(graph: Graph) -> None:
    """Imports inside functions and under TYPE_CHECKING count as well."""
    assert rings(graph) == []


def test_includes_have_no_cycle(checkout: Path) -> None:
    """In the include graph, a `.c` file and its header are one node."""
    graph = include_graph(checkout / "native")
    assert rings(graph) == []
    assert rings(units(graph)) == []


def test_graphs_are_complete_and_their_cycles_are_detected(graph: Graph, checkout: Path) -> None:
    """The test checks the import graph and the include graph that other tests use."""
    assert "common.errors" in graph["capture.record_source"]
    assert "base/error.h" in include_graph(checkout / "native")["base/error.c"]
    assert rings({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert rings(units({"x.c": {"x.h", "y.h"}, "y.c": {"y.h", "x.h"}, "x.h": set(), "y.h": set()})) == [["x", "y"]]


def test_commands_do_not_import_each_other(graph: Graph) -> None:
    """Code that two commands share must be in `cli/` or in a lower part."""
    commands = {module for module in graph if module.startswith("cli.commands.")}
    assert len(commands) > 10
    assert [(module, used) for module in commands for used in graph[module] & commands] == []


def test_only_cli_imports_click(checkout: Path) -> None:
    found = []
    for part in MAY_IMPORT.keys() - {"cli"}:
        for path in ours(checkout / part, "*.py"):
            if re.search(r"^\s*(import|from) click\b", path.read_text(encoding="utf-8"), re.M):
                found.append(str(path.relative_to(checkout)))
    assert found == []


def test_root_folder_has_no_unexpected_python_files(checkout: Path) -> None:
    assert {path.name for path in checkout.glob("*.py")} == {"__init__.py", "__main__.py", "setup.py"}


def test_modules_do_not_shadow_the_standard_library(graph: Graph) -> None:
    words = {word for module in graph for word in module.split(".") if word and word != "__main__"}
    assert sorted(words & sys.stdlib_module_names) == []


def test_every_module_has_a_test_file(graph: Graph, checkout: Path) -> None:
    """The tests of `a/b.py` are in `tests/a/test_b.py`, or in several files whose names start with `test_b`."""
    without = set()
    for module in graph:
        folder, _, name = module.rpartition(".")
        is_package = (checkout / module.replace(".", "/")).is_dir()
        if is_package or not folder:
            continue
        if not any((checkout / "tests" / folder.replace(".", "/")).glob(f"test_{name}*.py")):
            without.add(module)
    assert sorted(without) == sorted(WITHOUT_TEST_FILE)


def test_state_headers_declare_only_types(checkout: Path) -> None:
    """`FOLDER_state.h` declares no functions. Each `.c` file declares its functions in its own header, so that include
    cycles are detected.
    """
    headers = [path for path in ours(checkout / "native", "*.h") if path.name == f"{path.parent.name}_state.h"]
    assert headers
    for path in headers:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        assert re.findall(r"^(?!static|typedef|#)\w[\w \*]*\w\([^;{]*\);", text, re.M) == [], path
    assert [path.name for path in ours(checkout / "native", "*_private.h")] == []


def test_every_c_file_has_its_own_header(checkout: Path) -> None:
    """A file needs no header of its own if querytape.h declares its functions."""
    headers = "".join(path.read_text(encoding="utf-8") for path in sorted((checkout / "native").glob("querytape*.h")))
    public = set(re.findall(r"\b(qt_\w+)\(", headers))
    found = []
    for path in ours(checkout / "native", "*.c"):
        text = path.read_text(encoding="utf-8")
        offered = set(re.findall(r"^(?!static)\w[\w \*]*?\b(qt_\w+)\([^;]*?\)[^;{]*\n\{", text, re.M))
        header = path.with_suffix(".h")
        declared = set(re.findall(r"\b(qt_\w+)\(", header.read_text(encoding="utf-8"))) if header.exists() else set()
        found += [f"{path.relative_to(checkout)}: {name}" for name in sorted(offered - declared - public)]
    assert found == []


def test_files_named_in_comments_exist(checkout: Path) -> None:
    """Comments and docstrings name a project file with its folder, such as `schemas/names.toml`."""
    files = [path.relative_to(checkout).as_posix() for path in ours(checkout, "*")]
    folders = {part for file in files for part in file.split("/")[:-1]}
    ends = {file[at:] for file in files for at in (0, *(place.end() for place in re.finditer("/", file)))}
    named = re.compile(r"(?<![\w./*<-])(?:[a-z_]+/)+[a-z_]+\.(?:c|h|py|sql|toml|tsv|j2)\b(?![\w(])")
    missing = [
        f"{file}: {name}"
        for file in files
        if file.endswith((".c", ".h", ".py", ".sql", ".toml")) and not file.startswith(("tests/", "docs/", "bench/"))
        for name in named.findall((checkout / file).read_text(encoding="utf-8"))
        if name.split("/")[0] in folders and name not in ends
    ]
    assert missing == []


def test_every_source_file_has_a_licence_line(checkout: Path) -> None:
    """Each source file has one SPDX line in its first three lines."""
    scripts = [path for folder in ("scripts", ".ci") for path in (checkout / folder).iterdir() if path.is_file()]
    without = [
        str(path.relative_to(checkout))
        for path in [*ours(checkout, "*.py", "*.c", "*.h", "*.sql", "Makefile"), *scripts]
        if path.stat().st_size
        and "SPDX-License-Identifier: Apache-2.0" not in "".join(path.open(encoding="utf-8").readlines()[:3])
    ]
    assert not without


def test_ci_runs_only_make_targets(checkout: Path) -> None:
    """`make help` lists every target that CI runs, so each CI step can also be run by hand."""
    called = re.findall(r"^make ([a-z-]+)", (checkout / ".ci" / "run").read_text(encoding="utf-8"), re.M)
    targets = re.findall(r"^([a-z-]+):.*## ", (checkout / "Makefile").read_text(encoding="utf-8"), re.M)
    assert "test" in called
    assert set(called) <= set(targets)


def test_python_files_and_functions_are_short(checkout: Path) -> None:
    long = []
    for path in ours(checkout, "*.py"):
        text = path.read_text(encoding="utf-8")
        if text.count("\n") >= MAX_LINES:
            long.append(str(path.relative_to(checkout)))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION:
                long.append(f"{path.relative_to(checkout)}: {node.name}")
    assert long == []


def test_c_files_and_functions_are_short(checkout: Path) -> None:
    """Lines of C code have at most 120 columns."""
    long = []
    for path in ours(checkout / "native", "*.c", "*.h"):
        lines = path.read_text(encoding="utf-8").splitlines()
        name = str(path.relative_to(checkout))
        if len(lines) >= MAX_LINES:
            long.append(name)
        long += [f"{name}:{number}: wide" for number, line in enumerate(lines, 1) if len(line) > 120]
        begin = 0
        for number, line in enumerate(lines, 1):
            if line == "{":
                begin = number
            elif line == "}" and number - begin >= MAX_FUNCTION:
                long.append(f"{name}:{begin}: a function of {number - begin} lines")
    assert long == []
