# SPDX-License-Identifier: Apache-2.0
"""Fixture: an emulated AWS for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.rds import KEYS, Aws, emulated_aws


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """Start an emulated AWS with an empty log. boto3 sends its requests to this server."""
    pytest.importorskip("boto3", reason="capture rds needs boto3")
    pytest.importorskip("moto", reason="the tests of capture rds need moto")
    with emulated_aws(tmp_path / "rds") as made:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": made.url, "XDG_STATE_HOME": str(tmp_path / "state")}.items():
            monkeypatch.setenv(name, value)
        yield made
