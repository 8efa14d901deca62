# SPDX-License-Identifier: Apache-2.0
"""Tests of private servers as the target of a command."""

from pathlib import Path

import pytest
from querytape.common.errors import InputError, OptionError
from querytape.servers.sandbox import Server, private_folder, start_server
from querytape.servers.sandbox_url import Sandbox, parse_sandbox


@pytest.mark.parametrize("text", ["mysql://app@sandbox/shop", "sandboxes", "", "?data=/", "mysql://a@h/?socket=/s"])
def test_other_targets_are_not_private_servers(text: str) -> None:
    """The parser of private servers returns None for all other targets. parse_target handles them."""
    assert parse_sandbox(text) is None


def test_private_server_with_data_and_options(tmp_path: Path) -> None:
    """A value may contain `=`, `:`, `?`, `+` and `;`."""
    assert parse_sandbox("sandbox") == Sandbox("mariadb") == parse_sandbox("sandbox:?")
    assert parse_sandbox(f"sandbox:mysql-8.4?data={tmp_path}") == Sandbox("mysql-8.4", tmp_path)
    options = {"innodb_data_file_path": "ibdata1:1G;ibdata2:1G", "optimizer_switch": "mrr=on", "x": "a?b+c"}
    text = "&".join(f"{name}={value}" for name, value in options.items())
    assert parse_sandbox(f"sandbox?{text}&data={tmp_path}") == Sandbox("mariadb", tmp_path, options)


def test_percent_encoding_of_values(tmp_path: Path) -> None:
    """Separators and the percent sign are encoded as in a URL."""
    folder = tmp_path / "a & b+c 100%"
    folder.mkdir()
    text = str(folder).replace("%", "%25").replace("&", "%26")
    assert parse_sandbox(f"sandbox?data={text}") == Sandbox(data=folder)
    assert parse_sandbox("sandbox?sql_mode=A%26B") == Sandbox(config={"sql_mode": "A&B"})


def test_tilde_is_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A shell does not replace the tilde inside a word."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse_sandbox("sandbox?data=~") == Sandbox(data=tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sandbox?data", "--target sandbox: expected data=FOLDER or NAME=VALUE after ?, found 'data'"),
        ("sandbox:mysql?data=", "--target sandbox:mysql: expected data=FOLDER or NAME=VALUE after ?, found 'data='"),
        ("sandbox?a=1&", "--target sandbox: expected data=FOLDER or NAME=VALUE after ?, found ''"),
        ("sandbox?a=1&a=2", "--target sandbox: a is given twice"),
        ("sandbox?data=/nowhere", "--target sandbox: data=/nowhere: no such folder"),
        ("sandbox?folder=/srv", "--target sandbox: folder: a private server does not accept options with a path"),
        ("sandbox?datadir=/srv", "--target sandbox: datadir: querytape sets datadir itself for a private server"),
    ],
)
def test_error_names_the_target_and_the_wrong_part(text: str, expected: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_sandbox(text)
    assert str(refused.value).startswith(expected)
    assert isinstance(refused.value, OptionError) == ("private server" not in expected)


@pytest.mark.server
def test_private_server_starts_with_data_and_options() -> None:
    """The server runs on a copy of the folder, and the original stays unchanged."""
    folder = private_folder()
    with start_server("mariadb", folder) as stopped:
        stopped.execute("CREATE DATABASE shop")
    try:
        sandbox = Sandbox("mariadb", folder / "data", {"sort_buffer_size": "65536"})
        with sandbox.start() as server:
            assert isinstance(server, Server)
            assert server.datadir != folder / "data"
            assert server.execute("SELECT @@sort_buffer_size")[0][0] == 65536
            assert ("shop",) in {tuple(row) for row in server.execute("SHOW DATABASES")}
    finally:
        stopped.remove()
