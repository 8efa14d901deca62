# SPDX-License-Identifier: Apache-2.0
"""Option files are read as MySQL's own programs read them."""

from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.servers.option_files import option_value, read_options


def test_groups(tmp_path: Path) -> None:
    """[client] is read, then the other group, which overrides it; names have underscores, switches no value."""
    file = tmp_path / "my.cnf"
    file.write_text(
        "!includedir /etc/x\n[mysqld]\nport = 1\n[client]\nuser=app\n  ssl-ca = /ca.pem\nskip-ssl\n[stage]\nuser='two'\n"
    )
    assert read_options(file) == {"user": "app", "ssl_ca": "/ca.pem", "skip_ssl": ""}
    assert read_options(file, "stage")["user"] == "two"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """A missing file or group is an error, and so is a file of something else."""
    file = tmp_path / "my.cnf"
    with pytest.raises(InputError, match="cannot be read as an option file"):
        read_options(file)
    file.write_text("[client]\n")
    with pytest.raises(InputError, match=r"--defaults-group live: .*has no group \[live\]"):
        read_options(file, "live")
    file.write_text("user = before any group\n")
    with pytest.raises(InputError, match="cannot be read as an option file"):
        read_options(file)


@pytest.mark.parametrize(
    ("text", "value"),
    [("plain", "plain"), ("'a b'", "a b"), ('"q#1" # c', "q#1"), ("a#b", "a"), (r"a\sb\\c", r"a b\c"), (r"\q", r"\q")],
)
def test_option_value(text: str, value: str) -> None:
    """Values are read as MySQL's own programs read them."""
    assert option_value(text) == value
