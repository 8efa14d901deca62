# SPDX-License-Identifier: Apache-2.0
"""An object store for the tests of this folder."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..helpers.object_store import ObjectStore, running_store


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with running_store(tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture(autouse=True)
def _kept_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let failed copies stay in the folder of the test."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def store(shared_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """Return a running store that this process can use."""
    for name, value in shared_store.environment.items():
        monkeypatch.setenv(name, value)
    return shared_store
