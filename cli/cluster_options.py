# SPDX-License-Identifier: Apache-2.0
"""Declares the options of `querytape report` that count the events in tasks on a Ray cluster."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..common.files import remove_folder
from ..common.signals import held
from ..common.staged import address_of
from ..common.temporary import PREFIX
from .option_sections import option, untitled
from .param_types import Parsed
from .stored_folders import LocalPath

if TYPE_CHECKING:
    from ..analyze import Settings

OPTION = "--cluster ray"
# Memory of a task beside the limit of its database.
OVERHEAD_BYTES = 300 << 20
LEAST_EVENTS = 100_000  # a share of fewer events takes less time than its task


class Cluster(Parsed[str]):
    """`ray` or `ray:ADDRESS`, as the address of the head."""

    name = "cluster"

    def _parse(self, text: str) -> str:
        kind, _, address = text.partition(":")
        if kind != "ray":
            raise ValueError(f"expected ray or ray:ADDRESS, found {text!r}")
        return address or "auto"


cluster_options = untitled(
    option(
        "--cluster",
        type=Cluster(),
        metavar="ray[:ADDRESS]",
        help="Count the events in tasks on a Ray cluster. All nodes must see the tape, the runs and --cluster-folder at"
        " the same paths.",
    ),
    option(
        "--cluster-folder",
        type=LocalPath(exists=True, file_okay=False),
        metavar="FOLDER",
        help="With --cluster: folder in which the tasks exchange their files. The files are removed at the end.",
    ),
    option(
        "--insecure-cluster",
        is_flag=True,
        help="Use a Ray cluster without authentication. Anyone who reaches such a cluster can run programs in it.",
    ),
)


@contextmanager
def on_cluster(settings: "Settings", options: dict[str, Any], tape: Path, runs: Sequence[Path]) -> "Iterator[Settings]":
    """Yield the settings of a report, with the cluster if the user named one.

    Raises UsageError for options that do not fit together. Raises InputError if the cluster cannot be used.
    """
    address, folder = options["cluster"], options["cluster_folder"]
    if address is None:
        for name in ("cluster_folder", "insecure_cluster"):
            if options[name]:
                raise click.UsageError(f"--{name.replace('_', '-')} requires --cluster")
        yield settings
        return
    if folder is None:
        raise click.UsageError("--cluster requires --cluster-folder FOLDER")
    if any(address_of(path) for path in (tape, *runs)):
        raise click.UsageError("--cluster: expected folders that all nodes see, found an address in an object store")
    from ..analyze.model import Work
    from ..cluster.tasks import ray_tasks
    from ..schemas import open_folder

    memory = parse_memory(settings.memory) + OVERHEAD_BYTES
    with ray_tasks(address, memory, options["insecure_cluster"], OPTION) as tasks, own_folder(folder) as own:
        events = int((open_folder("tape", tape).tape_info.get("counts") or {}).get("events") or 0)
        shares = max(1, min(tasks.cpus, events // LEAST_EVENTS))
        yield replace(settings, work=Work(own, shares, tasks, threads=1))


@contextmanager
def own_folder(folder: Path) -> Iterator[Path]:
    """Yield a new private folder, which is removed when the block ends."""
    with held():
        own = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
    try:
        yield own
    finally:
        with held():
            remove_folder(own)


def parse_memory(text: str) -> int:
    """Return the bytes of a memory limit of DuckDB, such as `1500MB`. Raises UsageError for other texts."""
    import duckdb

    from ..common.duck import small_database

    try:
        ((size,),) = small_database().execute("SELECT parse_formatted_bytes($1)", [text]).fetchall()
    except duckdb.Error:
        raise click.UsageError(f"--memory: {text!r}: expected a size such as 1500MB") from None
    return int(size)
