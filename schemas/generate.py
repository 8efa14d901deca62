# SPDX-License-Identifier: Apache-2.0
"""Generate files for C, SQL, Python and the docs from names.toml, tape.sql and run.sql. Run `make names`.

`--check` writes nothing, and fails if a file is out of date.
"""

import json
import re
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
Names = dict[str, dict[str, dict[str, Any]]]

# Sections that become numbers in C, with their name prefix and enum. None means 64-bit or separate constants instead of
# an enum.
C_SECTIONS = {
    "classes": ("QT_CLASS_", "qt_class"),
    "flags": ("QT_F_", "qt_flag"),
    "plan_flags": ("QT_PLAN_", None),
    "shifts": ("QT_SHIFT_", None),
    "dangers": ("QT_DANGER_", "qt_danger"),
    "actions": ("QT_ACTION_", "qt_action"),
    "properties": ("QT_PROPERTY_", "qt_property"),
    "commands": ("QT_COMMAND_", "qt_command"),
    "lateness": ("QT_LATE_", "qt_lateness"),
    "pace": ("QT_PACE_", "qt_pace"),
    "on_lost": ("QT_LOST_", "qt_on_lost"),
    "overload": ("QT_OVERLOAD_", "qt_overload"),
    "tls": ("QT_TLS_", "qt_tls_mode"),
    "order_uses": ("QT_USE_", "qt_order_use"),
    "order_facts": ("QT_FACT_", "qt_order_fact"),
    "order_tables": ("QT_TABLE_", "qt_order_table"),
}
# C code writes the names of these sections into files. The names become C macros that list them by number.
C_TEXTS = ("classes",)
# Sections that become SQL variables. The maps go from name to number. If the flag is true, they go from number to name.
SQL_MAPS = {
    "flag_bits": ("flags", False),
    "plan_flag_bits": ("plan_flags", False),
    "action_bits": ("actions", False),
    "property_bits": ("properties", False),
    "danger_names": ("dangers", True),
    "command_codes": ("commands", False),
    "class_codes": ("classes", False),
}
PYTHON_MAPS = {
    "FLAGS": "flags",
    "DANGERS": "dangers",
    "ACTIONS": "actions",
    "PROPERTIES": "properties",
    "COMMANDS": "commands",
}
# Sections whose names are the choices of an engine option, and the Python type of the option.
CHOICES = {"pace": "PaceKind", "on_lost": "OnLost", "overload": "Overload", "tls": "TlsKind"}
C_TYPES = {"text": "const char *", "int64": "int64_t "}  # C types of options; all others are int32_t
# C code produces the rows of these tables. The keys are the SQL files that declare the tables.
C_TABLES = {"tape": ("events", "problems"), "run": ("outcomes", "sessions")}
ARROW_LETTERS = {"BIGINT": "l", "INTEGER": "i", "BOOLEAN": "b", "VARCHAR": "u", "BLOB": "z"}
WIDTH = 116
PYTHON_TYPES = {"text": "str", "flag": "bool", "int32": "int", "int64": "int"}
# Sections that become separate Python constants with this prefix.
PYTHON_NUMBERS = {"shifts": "SHIFT_", "order_uses": "USE_", "order_facts": "FACT_", "order_tables": "TABLE_"}
MACROS = """\
CREATE OR REPLACE TEMP MACRO has_flag(flags, name) AS (flags & getvariable('flag_bits')[name]) <> 0;
CREATE OR REPLACE TEMP MACRO has_action(actions, name) AS
    (coalesce(actions, 0) & getvariable('action_bits')[name]) <> 0;
CREATE OR REPLACE TEMP MACRO has_property(properties, name) AS
    (coalesce(properties, 0) & getvariable('property_bits')[name]) <> 0;
CREATE OR REPLACE TEMP MACRO plan_flag(name) AS getvariable('plan_flag_bits')[name];
-- The name of the danger; a number that is not known here is 'unknown'.
CREATE OR REPLACE TEMP MACRO danger_of(flags) AS
    coalesce(getvariable('danger_names')[((flags >> {danger}) & 255)::INTEGER], 'unknown');
-- The number of a copy of a session. Copy 0 is the session itself.
CREATE OR REPLACE TEMP MACRO copy_of(session, clone) AS session + (clone::BIGINT << {clone});
-- filtered: the user's choice excluded it. skipped: the plan had to omit it.
CREATE OR REPLACE TEMP MACRO exclusion_status(reason) AS
    CASE WHEN reason IN ({filtered}) THEN 'filtered' ELSE 'skipped' END;
"""
MADE_BY = "Made by `make names` from schemas/names.toml, which says what each means. Do not edit."


PYTHON_HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
"""Names and numbers that C, SQL and Python share.

{made_by}
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Reason:
    """Why an event was not sent. `words` come after a count. `lost`: it counts as missing."""

    words: str
    lost: bool


@dataclass(frozen=True)
class Counter:
    """A counter of the engine. `in_accounting`: run.json has it. `metric`: its name for Prometheus."""

    in_accounting: bool
    metric: str | None
    help: str


@dataclass(frozen=True)
class Setting:
    """An option of the command line for the engine. `least`, `most`: None = any number."""

    option: str
    least: int | None
    most: int | None
    help: str


@dataclass(frozen=True)
class EngineCounts:
    """What the engine counts, as `struct qt_engine_counts` has it. Each name is in schemas/names.toml."""

'''

RESULTS_HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
"""How and why results differ, in words.

{made_by}
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ResultKind:
    """How results differ, in words, and what to do where no reason is known."""

    words: str
    remedy: str


@dataclass(frozen=True)
class ResultReason:
    """Why results differ, in words, and what to do. `unproven`: nothing proves it, and this decides it; or None."""

    words: str
    remedy: str
    unproven: str | None


'''


def number_of(entry: dict[str, Any]) -> int:
    """Return the number of an entry of names.toml."""
    return int(1 << entry["bit"] if "bit" in entry else entry["number"])


def numbers(names: Names, section: str) -> dict[str, int]:
    """Return the numbers of a section by name."""
    return {name: number_of(entry) for name, entry in names[section].items()}


def c_text(names: Names) -> str:
    """Return the text of native/querytape_names.h."""
    lines = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        f"/* {MADE_BY} */",
        "/* clang-format off */",
        "#ifndef QUERYTAPE_NAMES_H",
        "#define QUERYTAPE_NAMES_H",
        "",
        "/* cffi: begin */",
    ]
    for section, (prefix, enum) in C_SECTIONS.items():
        listed = [(f"{prefix}{name.upper()}", number) for name, number in numbers(names, section).items()]
        lines.append("")
        if enum is None:
            lines += [f"#define {name} {number}" for name, number in listed]
        else:
            lines += [f"enum {enum} {{", *_joined(f"    {name} = {number}" for name, number in listed), "};"]
    counters = [f"    QT_COUNT_{name.upper()} = {number}" for number, name in enumerate(names["counters"])]
    lines += ["", "/* What the engine counts, and all of it together. */"]
    lines += ["enum qt_counter {", *_joined([*counters, f"    QT_COUNTERS = {len(counters)}"]), "};"]
    lines += ["struct qt_engine_counts {", *(f"    uint64_t {name};" for name in names["counters"]), "};"]
    reasons = [name for name, entry in names["reasons"].items() if entry.get("engine")]
    codes = [f"    QT_{name.upper()} = {number}" for number, name in enumerate(["executed", *reasons])]
    lines += ["", "/* How an event ended: executed, or why the engine did not send it. */"]
    lines += ["enum qt_reason {", *_joined(codes), "};", *c_options(names), "/* cffi: end */", ""]
    lines += c_option_lists(names)
    texts = {"reasons": [(f"QT_{name.upper()}", name) for name in reasons]}
    for section in C_TEXTS:
        texts[section] = [(f"{C_SECTIONS[section][0]}{name.upper()}", name) for name in names[section]]
    for section, entries in texts.items():
        lines += [f"#define QT_TEXTS_OF_{section.upper()} {{ \\"]
        lines += [f'    [{name}] = "{text}", \\' for name, text in entries]
        lines[-1] = lines[-1].removesuffix(", \\") + " }"
    return "\n".join([*lines, "", "#endif", ""])


def c_options(names: Names) -> list[str]:
    """Return the C structs of the engine options and of the target addresses."""
    options = names["engine_options"]
    return [
        "",
        "/* A second target; the rest is as in struct qt_engine_options. */",
        "struct qt_address {",
        *(_c_field(name, entry) for name, entry in options.items() if entry.get("of") == "address"),
        "};",
        "",
        "struct qt_account {",
        "    const char *user;",
        "    const char *password; /* NULL = none */",
        "};",
        "",
        "struct qt_engine_options {",
        *(line for name, entry in options.items() for line in _c_explained(_c_field(name, entry), entry["means"])),
        "    const struct qt_account *accounts; /* sessions log in as these, by number; NULL = all as user */",
        "    int32_t n_accounts;",
        "    const struct qt_address *read_target; /* NULL, or it answers reads outside transactions: the same data */",
        "};",
    ]


def _c_field(name: str, entry: dict[str, Any]) -> str:
    return f"    {C_TYPES.get(entry['type'], 'int32_t ')}{name};"


def _c_explained(field: str, means: str) -> list[str]:
    if len(field) + len(means) < WIDTH - 6:
        return [f"{field} /* {means} */"]
    return [*("    " + line for line in textwrap.wrap(f"/* {means} */", WIDTH - 4, subsequent_indent=" * ")), field]


def c_option_lists(names: Names) -> list[str]:
    """Return C macros that call another macro for each option."""
    options = names["engine_options"]
    texts = {name: entry for name, entry in options.items() if entry["type"] == "text"}
    limits = {name: bounds(names, name) for name in options}
    lists = {
        "QT_EACH_OPTION_TEXT": [f"X({name})" for name in texts],
        "QT_EACH_ADDRESS_TEXT": [f"X({name})" for name, entry in texts.items() if entry.get("of") == "address"],
        "QT_EACH_ADDRESS_FIELD": [f"X({name})" for name, entry in options.items() if entry.get("of") == "address"],
        "QT_EACH_OPTION_LEAST": [f"X({name}, {least})" for name, (least, _) in limits.items() if least is not None],
        "QT_EACH_OPTION_MOST": [f"X({name}, {most})" for name, (_, most) in limits.items() if most is not None],
    }
    lines = []
    for name, entries in lists.items():
        lines += [f"#define {name}(X) \\", *(f"    {entry} \\" for entry in entries)]
        lines[-1] = lines[-1].removesuffix(" \\")
    return [*lines, ""]


def bounds(names: Names, name: str) -> tuple[int | None, int | None]:
    """Return the minimum and maximum of an option. None means no limit."""
    entry = names["engine_options"][name]
    if entry["type"] == "choice":
        return 0, max(numbers(names, name).values())
    return entry.get("none", entry.get("least")), entry.get("most")


def _joined(entries: Any) -> list[str]:
    return ",\n".join(entries).split("\n")


def sql_text(names: Names) -> str:
    """Return the text of schemas/names.sql."""
    lines = ["-- SPDX-License-Identifier: Apache-2.0", f"-- {MADE_BY}", ""]
    for variable, (section, by_number) in SQL_MAPS.items():
        pairs = numbers(names, section).items()
        shown = [f"{number}: '{name}'" if by_number else f"'{name}': {number}" for name, number in pairs]
        lines += [f"SET VARIABLE {variable} = MAP {{", *_joined(f"    {pair}" for pair in shown), "};"]
    listed = ",\n".join(f"    '{name}'" for name in names["result_reasons"])
    lines += [f"SET VARIABLE result_reasons = [\n{listed}\n];"]
    filtered = [f"'{name}'" for name, entry in names["reasons"].items() if "filtered" in entry]
    shifts = numbers(names, "shifts")
    return "\n".join(lines) + "\n\n" + MACROS.format(**shifts, filtered=", ".join(filtered))


def python_text(names: Names) -> str:
    """Return the text of schemas/names.py."""
    lines = [
        *PYTHON_HEAD.format(made_by=MADE_BY).splitlines(),
        *(f"    {name}: int" for name in names["counters"]),
        "",
        "",
        *(
            f"{kind} = Literal[{', '.join(_quoted(name) for name in names[section])}]"
            for section, kind in CHOICES.items()
        ),
        f"CLASSES = ({', '.join(_quoted(name) for name in names['classes'])})",
    ]
    for section, prefix in PYTHON_NUMBERS.items():
        lines += [f"{prefix}{name.upper()} = {number}" for name, number in numbers(names, section).items()]
    for variable, section in PYTHON_MAPS.items():
        lines += [f"{variable} = {{"]
        lines += [f"    {_quoted(name)}: {number}," for name, number in numbers(names, section).items()]
        lines += ["}"]
    lines += ["COUNTERS = {"]
    for name, entry in names["counters"].items():
        metric = _quoted(entry["metric"]) if "metric" in entry else None
        shown = f"Counter({'accounting' in entry}, {metric}, {_quoted(entry.get('help', ''))})"
        lines += [f"    {_quoted(name)}: {shown},"]
    lines += ["}", "REASONS = {"]
    for name, entry in names["reasons"].items():
        lines += [f"    {_quoted(name)}: Reason({_quoted(entry['words'])}, {entry.get('lost', False)}),"]
    lines += ["}", "# What an event that was sent late had waited for.", "LATENESS = {"]
    lines += [f"    {_quoted(name)}: {_quoted(entry['means'])}," for name, entry in names["lateness"].items()]
    return "\n".join([*lines, "}", *python_options(names), ""])


def results_text(names: Names) -> str:
    """Return the text of schemas/result_names.py."""
    lines = RESULTS_HEAD.format(made_by=MADE_BY).splitlines()
    for variable, section, kind in (
        ("RESULT_KINDS", "result_kinds", "ResultKind"),
        ("RESULT_REASONS", "result_reasons", "ResultReason"),
    ):
        lines += [f"{variable} = {{"]
        for name, entry in names[section].items():
            texts = [_quoted(entry["words"]), _quoted(entry["remedy"])]
            if kind == "ResultReason":
                texts.append(_quoted(entry["unproven"]) if "unproven" in entry else "None")
            lines += [f"    {_quoted(name)}: {kind}(", *(f"        {text}," for text in texts), "    ),"]
        lines += ["}"]
    return "\n".join([*lines, ""])


def python_options(names: Names) -> list[str]:
    """Return the Python classes of the engine options, and the properties of each option."""
    options = names["engine_options"]
    address = {name: entry for name, entry in options.items() if entry.get("of") == "address"}
    settings = {name: entry for name, entry in options.items() if "option" in entry}
    others = {name: entry for name, entry in options.items() if name not in address and name not in settings}
    lines = ["# The numbers of choices.", "CHOICES: dict[str, dict[str, int]] = {"]
    for section in CHOICES:
        shown = (f"{_quoted(name)}: {number}" for name, number in numbers(names, section).items())
        lines += [f"    {_quoted(section)}: {{{', '.join(shown)}}},"]
    lines += ["}"]
    lines += _class("EngineAddress", "A target of the engine: exactly one of host and socket.", address)
    lines += _class("EngineSettings", "What a user sets of the engine. `_ns` are nanoseconds, `_s` seconds.", settings)
    about = "What the engine is told: `struct qt_engine_options`, without accounts and a second target."
    lines += _class("PlainEngineOptions(EngineSettings, EngineAddress)", about, others)
    lines += ["", "", "SETTINGS = {"]
    for name, entry in options.items():
        if entry.get("option"):
            texts = [_quoted(line) for line in textwrap.wrap(entry["means"], WIDTH - 12, drop_whitespace=False)]
            lines += [f"    {_quoted(name)}: Setting(", f"        {_quoted(entry['option'])},"]
            lines += [f"        {entry.get('least')},", f"        {entry.get('most')},"]
            lines += [*(f"        {line}" for line in texts[:-1]), f"        {texts[-1]},", "    ),"]
    nones = (f"{_quoted(name)}: {entry['none']}" for name, entry in options.items() if "none" in entry)
    return [*lines, "}", "# The numbers that None is.", f"NONES = {{{', '.join(nones)}}}"]


def _class(head: str, about: str, options: dict[str, dict[str, Any]]) -> list[str]:
    fields = []
    for name, entry in options.items():
        kind = CHOICES[name] if entry["type"] == "choice" else PYTHON_TYPES[entry["type"]]
        default = entry.get("default")
        if default is None and (entry["type"] == "text" or "none" in entry):
            kind += " | None"
        elif default is None:
            default = entry["type"] != "flag" and 0
        fields += [f"    {name}: {kind} = {_quoted(default) if isinstance(default, str) else default}"]
    return ["", "", "@dataclass(frozen=True, kw_only=True)", f"class {head}:", f'    """{about}"""', "", *fields]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def format_text(names: Names) -> str:
    """Return the text of docs/format.md with updated tables. Raises ValueError if the table marks are missing."""
    text = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    rows = [
        f"| {status} | `{name}` | {entry[status]} |"
        for status in ("filtered", "skipped", "not_sent")
        for name, entry in names["reasons"].items()
        if status in entry
    ]
    counted = [
        f"| {name} | {entry['accounting']} |" for name, entry in names["counters"].items() if "accounting" in entry
    ]
    tables = {
        "counters": ["| key of accounting | counts |", "|---|---|", *counted],
        "reasons": ["| status | reason | why |", "|---|---|---|", *rows],
        "flags": _table(names, "flags", "bit"),
        "dangers": _table(names, "dangers", "number"),
        "actions": _table(names, "actions", "bit"),
        "properties": _table(names, "properties", "bit"),
    }
    for mark, table in tables.items():
        begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            raise ValueError(f"docs/format.md: expected the marks {begin} and {end}")
        text = before + begin + "\n" + "\n".join(table) + "\n" + end + after
    return text


def _table(names: Names, section: str, key: str) -> list[str]:
    rows = [f"| {entry[key]} | `{name}` | {entry['means']} |" for name, entry in names[section].items()]
    return [f"| {key} | name | meaning |", "|--:|---|---|", *rows]


def columns_text() -> str:
    """Return the text of native/querytape_columns.h: table columns by name, and their Arrow formats.

    Raises ValueError if a table declaration is invalid, and KeyError if C does not support a column type.
    """
    lines = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        "/* Made by `make names` from schemas/tape.sql and schemas/run.sql, which say what each means. Do not edit. */",
        "/* clang-format off */",
        "#ifndef QUERYTAPE_COLUMNS_H",
        "#define QUERYTAPE_COLUMNS_H",
        "",
    ]
    for file, tables in C_TABLES.items():
        declared = (HERE / f"{file}.sql").read_text(encoding="utf-8")
        for table in tables:
            _, found, rest = declared.partition(f"CREATE TABLE {table} (")
            columns = re.findall(r'^    "?(\w+)"? ([A-Z]+)( NOT NULL)?', rest.partition("\n);")[0], re.M)
            if not found or not columns:
                raise ValueError(f"schemas/{file}.sql: expected the columns of {table}")
            prefix = f"QT_{table.upper()}"
            names = [*(f"    {prefix}_{name.upper()}" for name, _, _ in columns), f"    {prefix}_COLUMNS"]
            specs = [f"    {{\"{name}\", '{ARROW_LETTERS[kind]}', {int(not known)}}}" for name, kind, known in columns]
            lines += [f"/* {table} of schemas/{file}.sql */", f"enum qt_{table}_column {{", *_joined(names), "};"]
            lines += [f"#define {prefix}_SPECS {{ \\", ", \\\n".join(specs) + " }", ""]
    return "\n".join([*lines, "#endif", ""])


def made() -> dict[Path, str]:
    """Return the text of each generated file."""
    names = tomllib.loads((HERE / "names.toml").read_text(encoding="utf-8"))
    return {
        ROOT / "native" / "querytape_names.h": c_text(names),
        ROOT / "native" / "querytape_columns.h": columns_text(),
        HERE / "names.sql": sql_text(names),
        HERE / "names.py": python_text(names),
        HERE / "result_names.py": results_text(names),
        ROOT / "docs" / "format.md": format_text(names),
    }


def main() -> None:
    """Write the files, or check them with `--check`."""
    files = made()
    old = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv:
        if old:
            sys.exit(f"{', '.join(path.name for path in old)}: out of date with schemas/: run `make names`")
        return
    for path in old:
        path.write_text(files[path], encoding="utf-8")


if __name__ == "__main__":
    main()
