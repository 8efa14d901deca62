# SPDX-License-Identifier: Apache-2.0
"""A fixture for the tests of this folder: an emulated AWS."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.rds import KEYS, Aws, emulated_aws


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """Start an emulated AWS server with an empty log. boto3 sends its requests to this server."""
    pytest.importorskip("boto3", reason="capture rds needs boto3")
    pytest.importorskip("moto", reason="the tests of capture rds need moto")
    with emulated_aws(tmp_path / "rds") as made:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": made.url, "XDG_STATE_HOME": str(tmp_path / "state")}.items():
            monkeypatch.setenv(name, value)
        yield made
