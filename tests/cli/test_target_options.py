# SPDX-License-Identifier: Apache-2.0
"""Options that say where a replay goes."""

from pathlib import Path

import pytest
from querytape.cli.replay_settings import parse_replay_options, sandbox_config
from querytape.cli.target_options import TARGET
from querytape.common.errors import InputError


def test_options_of_a_private_server(tmp_path: Path) -> None:
    """Any number of them, a value may hold `=` and `:`; what is the private server's own is refused."""
    names = {name for names, _ in TARGET.options for name in names}
    assert {"--sandbox-data", "--sandbox-option"} <= names
    words = ["--target", "sandbox:mysql", "-o", str(tmp_path / "r")]
    given = ["innodb_data_file_path=ibdata1:1G:autoextend", "optimizer_switch=mrr=on"]
    options = parse_replay_options([*words, *(w for text in given for w in ("--sandbox-option", text))])
    expected = {"innodb_data_file_path": "ibdata1:1G:autoextend", "optimizer_switch": "mrr=on"}
    assert sandbox_config(options) == expected
    with pytest.raises(InputError, match="a private server has its own datadir"):
        sandbox_config(parse_replay_options([*words, "--sandbox-option", "datadir=/var/lib/mysql"]))
