# SPDX-License-Identifier: Apache-2.0
"""Tapes, sets and runs in an object store: S3, Google Cloud Storage or Azure Blob Storage.

Commands work on local folders. `fetched` copies a folder of a store to this machine, and `published` copies a new local
folder to a store while it is written.
"""

from .fetch import fetched
from .publish import published

__all__ = ["fetched", "published"]
