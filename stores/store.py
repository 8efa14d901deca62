# SPDX-License-Identifier: Apache-2.0
"""One folder in an object store, through the library obstore. Errors of the library become one readable sentence.

Credentials, region and endpoint come from the environment variables of the store's own tools (AWS_ACCESS_KEY_ID,
GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME, ...), or from the machine's role. For S3, boto3 finds them
if it is installed, so that profiles work.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..common.errors import InputError, QuerytapeError, RefusedError
from ..common.files import FULL
from ..common.staged import parse_address
from ..common.text import printable
from .threads import in_thread

if TYPE_CHECKING:
    from obstore.store import ObjectStore

MAX_REASON = 300
AT_ONCE = 2  # parts of 5 MB of one object that are sent at the same time, in memory
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
# Time limit and retries of one request. A capture has shorter limits and retries by itself.
PATIENCE, RETRIES = timedelta(seconds=60), 8
QUICK, FEW_RETRIES = timedelta(seconds=10), 3
CLIENT = {"connect_timeout": "5s", "read_timeout": "30s", "timeout": "1h"}
# Variables that give credentials for S3, or make them unnecessary.
KEYS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SKIP_SIGNATURE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
)
ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")  # variables with the address of an S3 server
_ANSWER = re.compile(r"<Code>([^<]*)</Code>\s*<Message>([^<]*)</Message>")
_TRANSPORT = re.compile(r" - (?:HTTP error: )?([^\n]+)")


class StoreError(QuerytapeError):
    """A request to the object store failed."""


class NotThereError(StoreError):
    """The object does not exist (any more)."""


@contextmanager
def _plain(address: str) -> Iterator[None]:
    """Turn the errors of obstore into a StoreError that names the folder."""
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError as error:
        raise NotThereError(f"{address}: {reason_of(str(error))}") from error
    except (BaseError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in FULL:
            remedy = "set TMPDIR, or --cluster-folder, to a folder on a larger disk"
            raise StoreError(f"{address}: the disk of the local copy is full: {remedy}") from error
        raise StoreError(f"{address}: {reason_of(str(error))}{_hint(address)}") from error


def _hint(address: str) -> str:
    """Return a hint for an error of S3 if the environment has no credentials."""
    if not address.startswith("s3:") or any(os.environ.get(name) for name in KEYS) or _credentials(address):
        return ""
    return (
        ". No credentials are set (AWS_ACCESS_KEY_ID, or boto3 with AWS_PROFILE), so only a role of this machine counts"
    )


class Store:
    """The objects below an address such as `s3://bucket/shop.tape`. Several threads may use it.

    `quick`: give up after a few seconds instead of a minute. Raises InputError for an invalid address, and RefusedError
    if obstore is not installed.
    """

    def __init__(self, address: str, quick: bool = False) -> None:
        self.address = parse_address(address)
        try:
            from obstore import store as stores
        except ImportError as error:
            raise RefusedError(f"{address}: run pip install 'querytape[store]' to use object stores") from error
        patience, retries = (QUICK, FEW_RETRIES) if quick else (PATIENCE, RETRIES)
        make: Any = stores.from_url  # its types know only one kind of store at a time
        try:
            self._store: ObjectStore = make(
                self.address,
                client_options={**CLIENT, **(_plain_http() if self.address.startswith("s3:") else {})},
                retry_config={"max_retries": retries, "retry_timeout": patience},
                **_credentials(self.address),
            )
        except Exception as error:  # each kind of store has its own errors
            raise InputError(f"{address}: {reason_of(str(error))}") from error

    def sizes(self) -> dict[str, int]:
        """Return {name relative to the folder: bytes} of all objects.

        Empty objects in place of folders are left out. Some tools create them.
        """
        import obstore

        def ask() -> dict[str, int]:
            return {each["path"]: each["size"] for page in obstore.list(self._store) for each in page}

        with _plain(self.address):
            found = in_thread(ask)
        folders = {parent for name in found for parent in _parents(name)}
        return {name: size for name, size in found.items() if size or (name not in folders and name.strip("/"))}

    def get(self, name: str, path: Path) -> None:
        """Write an object into a new private file. Raises NotThereError if there is no such object."""
        import obstore

        with _plain(self.address), os.fdopen(os.open(path, NEW, 0o600), "wb") as file:
            for chunk in obstore.get(self._store, name).stream(min_chunk_size=8 << 20):
                file.write(chunk)

    def put(self, name: str, content: Path | bytes) -> None:
        """Write an object. It appears as a whole, in place of an older object of this name."""
        import obstore

        with _plain(self.address):
            obstore.put(self._store, name, content, max_concurrency=AT_ONCE)

    def create(self, name: str, content: bytes) -> bool:
        """Write a new object. Return False if an object of this name exists already."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with _plain(self.address):
            try:
                in_thread(lambda: obstore.put(self._store, name, content, mode="create"))
            except (AlreadyExistsError, PreconditionError):
                return False
        return True

    def read(self, name: str) -> bytes | None:
        """Return the content of a small object. Returns None if there is no such object."""
        import obstore

        try:
            with _plain(self.address):
                return in_thread(lambda: bytes(obstore.get(self._store, name).bytes()))
        except NotThereError:
            return None

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects. Objects that do not exist are no error."""
        import obstore

        if listed := list(names):
            with _plain(self.address):
                in_thread(lambda: obstore.delete(self._store, listed))


def _parents(name: str) -> list[str]:
    """Return the folders of an object: `a` and `a/b` for `a/b/c`."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]


def reason_of(text: str) -> str:
    """Return the reason in an error text of obstore: the answer of the store, or the network error."""
    if answer := _ANSWER.search(text):
        return printable(f"{answer[2].rstrip('.')} ({answer[1]})", MAX_REASON)
    first = text.partition("\n")[0]
    found = _TRANSPORT.search(first)
    reason = found[1] if found else first
    if "error sending request" in reason:
        address = re.search(r"https?://[^/\s]+", first)
        reason = f"no answer from {address[0] if address else 'the store'}"
    return printable(reason, MAX_REASON)


def _plain_http() -> dict[str, Any]:
    """Return the client option that allows HTTP without TLS, if the user's endpoint is such an address.

    Raises ValueError if the endpoint is not an address.
    """
    name = next((name for name in ENDPOINTS if os.environ.get(name)), None)
    if name is None:
        return {}
    if not re.match(r"https?://[^/]", os.environ[name]):
        raise ValueError(f"{name}={os.environ[name]}: expected http://HOST or https://HOST")
    return {"allow_http": True} if os.environ[name].startswith("http://") else {}


def _credentials(address: str) -> dict[str, Any]:
    """Return boto3's credentials for S3 if the environment has no key and boto3 finds a key."""
    if not address.startswith("s3:") or os.environ.get("AWS_ACCESS_KEY_ID"):
        return {}
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider

        return {"credential_provider": Boto3CredentialProvider()}
    except (ImportError, ValueError):
        return {}
