# SPDX-License-Identifier: Apache-2.0
"""An object store for the tests of this folder."""

from collections.abc import Iterator

import pytest

from ..helpers.object_store import ObjectStore, running_store


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with running_store(tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture
def store(shared_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """Return a running store that this process can use."""
    for name, value in shared_store.environment.items():
        monkeypatch.setenv(name, value)
    return shared_store
