# SPDX-License-Identifier: Apache-2.0
"""An emulated AWS for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.rds import KEYS, Aws, emulated_aws


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """An emulated AWS with an empty log, which boto3 takes for the real one."""
    pytest.importorskip("boto3", reason="capture rds needs boto3")
    pytest.importorskip("moto", reason="the tests of capture rds need moto")
    with emulated_aws(tmp_path / "rds") as made:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": made.url, "XDG_STATE_HOME": str(tmp_path / "state")}.items():
            monkeypatch.setenv(name, value)
        yield made
