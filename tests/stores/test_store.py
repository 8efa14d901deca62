# SPDX-License-Identifier: Apache-2.0
"""Use the objects of a folder, and turn the errors of the library into sentences."""

import errno
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from querytape.common.errors import InputError, RefusedError
from querytape.stores.store import NotThereError, Store, StoreError, _plain, reason_of

from ..helpers.object_store import KEY, SECRET, ObjectStore
from ..helpers.processes import QUERYTAPE

REFUSED = (
    "Generic S3 error: Error performing list request: Error performing GET http://127.0.0.1:7071/b?list-type=2 in"
    " 586.53ms, after 3 retries, max_retries: 3, retry_timeout: 10s  - HTTP error: error sending request\n\nDebug"
    " source:\nGeneric {"
)
DENIED = (
    "The operation lacked the necessary privileges: Server returned non-2xx status code: 403 Forbidden: <?xml"
    ' version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>'
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (REFUSED, "no answer from http://127.0.0.1:7071"),
        (DENIED, "Access Denied (AccessDenied)"),
        ("some other error\n\nDebug source:\nX", "some other error"),
        ("bad\x1b[31m", "bad [31m"),
    ],
)
def test_reason_of_an_error_is_one_sentence(text: str, reason: str) -> None:
    assert reason_of(text) == reason


@pytest.mark.parametrize(
    "address",
    [
        *(
            "s3://bucket",
            "s3://bucket/",
            "s3:///path",
            "gs://",
            "az://a//b",
            "http://x/y",
            "S3://bucket/x",
            "s3:/bucket/x",
        ),
        *("s3://b/..", "s3://b/x/../y", "s3://b/x/.", "s3://b/./x", "s3://b/x?y", "s3://b/x#y", "s3://b/%2e%2e"),
        *("s3://u:p@b/x", "s3://b:80/x", "s3://b/address", "s3://b/x\n", "s3://b/a\\b"),
    ],
)
def test_incomplete_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"expected s3://BUCKET/PATH|the address has the invalid character"):
        Store(address)


def test_missing_library_is_named() -> None:
    """In a new process, because the library cannot be unloaded."""
    code = (
        "import sys; sys.modules['obstore'] = None\n"
        "from querytape.stores.store import Store\n"
        "try: Store('s3://bucket/x.tape')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(RefusedError.__name__)
    assert "pip install 'querytape[store]'" in done.stdout


@pytest.mark.server
def test_objects_are_written_listed_read_and_removed(store: ObjectStore, tmp_path: Path) -> None:
    folder = Store(store.address("one.tape/"))
    assert folder.sizes() == {}
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * 100_000)
    folder.put("events/part-00000.parquet", large)
    folder.put("tape.json", b"{}")
    assert folder.sizes() == {"events/part-00000.parquet": 25_600_000, "tape.json": 2}
    folder.get("events/part-00000.parquet", tmp_path / "read")
    assert (tmp_path / "read").read_bytes() == large.read_bytes()
    folder.delete(["events/part-00000.parquet", "tape.json", "never.written"])
    assert folder.sizes() == {}


@pytest.mark.server
def test_folder_with_the_same_beginning_is_another_folder(store: ObjectStore) -> None:
    Store(store.address("two.tape2")).put("tape.json", b"{}")
    assert Store(store.address("two.tape")).sizes() == {}


@pytest.mark.server
def test_missing_object_has_its_own_error(store: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(NotThereError, match=r"three\.tape: "):
        Store(store.address("three.tape")).get("tape.json", tmp_path / "x")


@pytest.mark.server
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("AWS_SECRET_ACCESS_KEY", "wrong", "SignatureDoesNotMatch"),
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1", "no answer from http://127.0.0.1:1"),
    ],
)
def test_store_that_refuses_or_is_away_is_an_error(
    store: ObjectStore, name: str, value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(StoreError, match=said):
        Store(store.address("four.tape"), quick=True).sizes()


@pytest.mark.server
def test_empty_objects_in_place_of_folders_are_left_out(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [("", 0), ("events", 0), ("events/part-00000.parquet", 5), ("empty", 0), ("tape.json", 2)]
    page = [{"path": path, "size": size} for path, size in found]
    monkeypatch.setattr("obstore.list", lambda *args, **more: [page])
    assert Store(store.address("six.tape")).sizes() == {"events/part-00000.parquet": 5, "empty": 0, "tape.json": 2}


@pytest.mark.server
def test_object_is_created_only_once(store: ObjectStore) -> None:
    folder = Store(store.address("seven.tape"))
    assert folder.read("one") is None
    assert folder.create("one", b"mine")
    assert not folder.create("one", b"theirs")
    assert folder.read("one") == b"mine"


@pytest.mark.server
def test_missing_bucket_is_named(store: ObjectStore) -> None:
    with pytest.raises(StoreError, match="NoSuchBucket"):
        Store("s3://no-such-bucket/x.tape").sizes()


@pytest.mark.parametrize("endpoint", ["localhost:9000", "ftp://host", "http://", "//host"])
def test_endpoint_that_is_no_address_is_refused(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(InputError, match=rf"AWS_ENDPOINT_URL={endpoint}: expected http://HOST or https://HOST"):
        Store("s3://bucket/x.tape")


def test_ctrl_c_does_not_wait_for_a_silent_store(tmp_path: Path) -> None:
    """The store accepts the connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        given = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
        command = [*QUERYTAPE, "inspect", "s3://bucket/x.tape"]
        with subprocess.Popen(command, env={**os.environ, **given}, stderr=subprocess.PIPE) as process:
            connection, _ = silent.accept()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 130  # a request may take a minute
            connection.close()


@pytest.mark.server
def test_profile_of_boto3_gives_the_credentials(
    store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = tmp_path / "credentials"
    profile.write_text(f"[tests]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n", encoding="utf-8")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(profile))
    monkeypatch.setenv("AWS_PROFILE", "tests")
    folder = Store(store.address("five.tape"))
    folder.put("tape.json", b"{}")
    assert folder.sizes() == {"tape.json": 2}


@pytest.mark.server
def test_error_without_credentials_names_their_variables(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error with credentials has no such hint."""
    with pytest.raises(StoreError) as caught:
        Store("s3://no-such-bucket/x.tape").sizes()
    assert "No credentials" not in str(caught.value)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(StoreError, match=r"No credentials are set \(AWS_ACCESS_KEY_ID"):
        Store(store.address("eight.tape"), quick=True).sizes()


def test_full_local_disk_is_not_blamed_on_the_store() -> None:
    with pytest.raises(StoreError, match="the disk of the local copy is full: set TMPDIR"), _plain("s3://b/x.tape"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
