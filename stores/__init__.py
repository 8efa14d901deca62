# SPDX-License-Identifier: Apache-2.0
"""Tapes, sets and runs in an object store: S3, Google Cloud Storage or Azure Blob Storage.

Commands work on local folders. `fetched` copies a folder of a store to this machine, and `published` copies a new local
folder to a store while it is written. `fetch_tapes` completes a copy of a set.
"""

from .fetch import fetch_tapes, fetched
from .publish import published

__all__ = ["fetch_tapes", "fetched", "published"]
