# SPDX-License-Identifier: Apache-2.0
"""Tests of the options of a private server. No spelling of an option may refer to foreign files or addresses."""

import subprocess

import pytest
from querytape.common.errors import InputError
from querytape.servers.private_options import (
    ALONE,
    ELSEWHERE,
    FAMILIES,
    FIXED,
    RUNS,
    WHOLE,
    check_options,
    looks_like_a_path,
    meanings,
)
from querytape.servers.programs import find_program, missing_sentence

from tests.conftest import skip_loudly

REAL = {
    "general_log": "ON",
    "slow_query_log": "1",
    "innodb_buffer_pool_size": "8G",
    "lower_case_table_names": "1",
    "innodb_page_size": "16384",
    "innodb_data_file_path": "ibdata1:1G;ibdata2:64M:autoextend",
    "innodb_temp_data_file_path": "ibtmp1:12M:autoextend",
    "innodb_doublewrite": "OFF",
    "skip-innodb-doublewrite": "1",
    "innodb": "ON",
    "log-bin": "binlog",
    "relay_log": "relay",
    "sql_mode": "ANSI_QUOTES,NO_ZERO_DATE",
    "optimizer_switch": "mrr=on,mrr_cost_based=off",
    "default_time_zone": "Europe/Berlin",
    "loose-default-time-zone": "Europe/Berlin",
    "innodb_ft_server_stopword_table": "shop/words",
    "maximum-max-heap-table-size": "64M",
    "validate_password.policy": "LOW",
    "character_set_server": "utf8mb4",
    "skip-name-resolve": "ON",
    "log_slow_verbosity": "query_plan",
    "innodb_undo_tablespaces": "2",
    "max_connections": "500",
    "performance_schema": "ON",
}


def spellings(name: str) -> list[str]:
    """Return the spellings of an option name that servers accept."""
    short = name[:-1]
    given = [name, name.upper(), name.replace("-", "_"), f"loose-{name}", f"loose_{name}", f"skip-{name}"]
    given += [f"maximum-{name}", f"loose-skip_{name}", f"enable-{name}", f"disable_{name}", f"plugin-{name}"]
    return given if short in WHOLE or short.endswith("-") else [*given, short, f"loose-{short}"]


@pytest.mark.parametrize("name", sorted({*FIXED, *ELSEWHERE, *RUNS, *(f"{family}any" for family in FAMILIES)}))
def test_options_with_foreign_files_are_refused(name: str) -> None:
    """The check also covers abbreviated names, dashes or underscores, each prefix that servers accept, and any value."""
    for given in spellings(name):
        for value in ("/var/lib/mysql", "x", "ON", ""):
            with pytest.raises(InputError, match=f"^--target sandbox: {given}: "):
                check_options({"innodb_buffer_pool_size": "1G", given: value})


def test_isolating_options_cannot_be_changed() -> None:
    """The tested options isolate a copy from other servers."""
    for name in ALONE:
        with pytest.raises(
            InputError,
            match=r"itself for a private server|does not accept options that run programs or open connections",
        ):
            check_options({name: "x"})


@pytest.mark.parametrize(
    "value",
    ["/data2", "../data2", "..", "a/../../b", "~", "~mysql", "C:\\data", "ibdata1:1G;/data2/ibdata2:1G", "a\nb"],
)
def test_path_as_a_value_is_refused(value: str) -> None:
    """A private server uses only files in its folder, so the check covers known and unknown options."""
    assert looks_like_a_path(value)
    for name in ("innodb_data_file_path", "log-bin", "relay_log", "log_tc", "an-option-of-tomorrow", "core-file"):
        with pytest.raises(InputError, match="a private server does not accept options with a path"):
            check_options({name: value})


def test_usual_options_are_accepted() -> None:
    """Replays need the accepted options. A time zone and a stop word table contain a slash but are not paths."""
    check_options(REAL)
    for name, value in REAL.items():
        check_options({name.replace("_", "-"): value, name.replace("-", "_"): value})


@pytest.mark.parametrize("name", ["", "a b", "a=b", "--datadir", "-h", "data\ndir", "@x", "\x1b[31m"])
def test_invalid_option_name_is_refused(name: str) -> None:
    """An option name has letters, digits and dashes. Other characters must not reach the command line or the terminal."""
    with pytest.raises(InputError, match="expected the name of a server option") as refused:
        check_options({name: "1"})
    assert "\x1b" not in str(refused.value)


def test_option_name_is_checked_with_and_without_prefixes() -> None:
    assert meanings("loose-skip-slave-start") == ["loose-skip-slave-start", "skip-slave-start", "slave-start"]
    assert meanings("port") == ["port"]


@pytest.mark.server
@pytest.mark.parametrize("kind", ["mariadb", "mysql-8.0"])
def test_every_path_option_of_a_real_server_is_refused(kind: str, request: pytest.FixtureRequest) -> None:
    """The server's own help lists the options whose value is a path."""
    program = find_program(kind)
    if program is None:
        skip_loudly(request, missing_sentence(kind))
    assert program is not None
    command = [*program.command, "--no-defaults", "--verbose", "--help"]
    text = subprocess.run(command, capture_output=True, check=False, text=True, errors="replace").stdout
    listed = [line.split(maxsplit=1) for line in text.partition("\nVariables (")[2].splitlines()]
    paths = {pair[0]: pair[1] for pair in listed if len(pair) == 2 and pair[1].strip().startswith("/")}
    assert {"basedir", "plugin-dir", "tmpdir"} <= paths.keys()
    for name, value in paths.items():
        with pytest.raises(InputError):
            check_options({name: value})
