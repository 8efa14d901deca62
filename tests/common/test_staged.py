# SPDX-License-Identifier: Apache-2.0
"""Local copies of folders in an object store, and the names that the user sees."""

from pathlib import Path

import pytest
from querytape.common.staged import address_of, full_name, is_address, shown_path, stage
from querytape.common.temporary import temporary_folder


@pytest.mark.parametrize("text", ["s3://b/x", "gs://b/x", "az://a/c/x", "s3://", "S3://b/x", "s3:/b/x"])
def test_store_addresses_are_recognised(text: str) -> None:
    assert is_address(text)


@pytest.mark.parametrize("text", ["shop.tape", "/s3://b/x", "http://b/x", "mysql://h/", "xs3://b/x"])
def test_other_texts_are_no_addresses(text: str) -> None:
    assert not is_address(text)


def test_local_copy_is_shown_by_its_address() -> None:
    with temporary_folder() as room:
        path = stage(Path(room), "s3://bucket/a/shop.tape")
        assert path == Path(room) / "shop.tape"
        assert address_of(path) == shown_path(path) == full_name(path) == "s3://bucket/a/shop.tape"


def test_files_of_the_copy_are_shown_by_the_address_and_its_neighbours_are_not() -> None:
    with temporary_folder() as room:
        path = stage(Path(room), "s3://bucket/a/shop.run")
        assert shown_path(path / "events" / "x") == "s3://bucket/a/shop.run/events/x"
        assert address_of(path / "events") is None
        assert shown_path(path.with_name("shop.tape")) == f"{room}/shop.tape"


@pytest.mark.parametrize("address", ["s3://b/..", "s3://b/.", "s3://b/address"])
def test_copy_never_leaves_its_room(address: str) -> None:
    with temporary_folder() as room, pytest.raises(ValueError, match="s3"):
        stage(Path(room), address)


def test_other_folders_are_shown_by_their_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also next to a file with the name that a copy uses."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "address").write_text("s3://b/x", encoding="utf-8")
    assert shown_path(Path("shop.tape")) == "shop.tape"
    assert full_name(Path("shop.tape")) == str(tmp_path / "shop.tape")
    assert address_of(tmp_path / "shop.tape") is None
