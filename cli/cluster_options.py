# SPDX-License-Identifier: Apache-2.0
"""Declares the options of commands that work in tasks on a Ray cluster: `report` and `capture KIND`."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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
    from ..capture.source import SourceKind
    from ..capture.tools.many import Many

OPTION = "--cluster ray"
# Memory of a task beside the limit of its database.
OVERHEAD_BYTES = 300 << 20
# Memory of the capture of one file.
CAPTURE_BYTES = 1 << 30
NOT_ON_CLUSTER = ("follow", "from_end", "part_every", "keep", "interface", "source", "metrics")
LEAST_EVENTS = 100_000  # a share of fewer events takes less time than its task


class Cluster(Parsed[str]):
    """`ray` or `ray:ADDRESS`, as the address of the head."""

    name = "cluster"

    def _parse(self, text: str) -> str:
        kind, _, address = text.partition(":")
        if kind != "ray":
            raise ValueError(f"expected ray or ray:ADDRESS, found {text!r}")
        return address or "auto"


INSECURE = option(
    "--insecure-cluster",
    is_flag=True,
    help="Use a Ray cluster without authentication. Anyone who reaches such a cluster can run programs in it.",
)
FOLDER: dict[str, Any] = {
    "type": LocalPath(exists=True, file_okay=False),
    "metavar": "FOLDER",
    "is_eager": True,  # copies of addresses go to this folder
}
capture_cluster = (
    option(
        "--cluster",
        type=Cluster(),
        metavar="ray[:ADDRESS]",
        help="Capture each file in a task on a Ray cluster, into a set with a tape of each file. All nodes must see the"
        " files and -o at the same paths.",
    ),
    option(
        "--cluster-folder",
        **FOLDER,
        help="With --cluster and -o in an object store: folder for the set until it is copied. All nodes must see it.",
    ),
    INSECURE,
)
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
        **FOLDER,
        help="With --cluster: folder in which the tasks exchange their files. Tapes and runs in an object store are"
        " copied to it. The files are removed at the end.",
    ),
    INSECURE,
)


@contextmanager
def on_cluster(settings: "Settings", options: dict[str, Any], tape: Path, runs: Sequence[Path]) -> "Iterator[Settings]":
    """Yield the settings of a report, with the cluster if the user named one.

    Raises UsageError for options that do not fit together. Raises InputError if the cluster cannot be used.
    """
    address, folder = options["cluster"], options["cluster_folder"]
    if address is None:
        refuse_alone(options, "cluster_folder", "insecure_cluster")
        yield settings
        return
    if folder is None:
        raise click.UsageError("--cluster requires --cluster-folder FOLDER")
    from ..analyze.model import Work
    from ..cluster.tasks import ray_tasks
    from ..schemas import open_folder

    memory = parse_memory(settings.memory) + OVERHEAD_BYTES
    with ray_tasks(address, memory, options["insecure_cluster"], OPTION) as tasks, own_folder(folder) as own:
        events = int((open_folder("tape", tape).tape_info.get("counts") or {}).get("events") or 0)
        shares = max(1, min(tasks.cpus, events // LEAST_EVENTS))
        yield replace(settings, work=Work(own, shares, tasks, threads=1))


def refuse_alone(options: Mapping[str, Any], *names: str) -> None:
    """Raise UsageError if one of these options is given, because they need --cluster."""
    for name in names:
        if options[name]:
            raise click.UsageError(f"--{name.replace('_', '-')} requires --cluster")


def capture_on_cluster(kind: "SourceKind", files: Sequence[str], output: Path, options: dict[str, Any]) -> "Many":
    """Capture each file in a task. `options`: those of `capture KIND`.

    Raises UsageError for options that a task cannot use. Raises InputError if the cluster or a file cannot be used.
    """
    address, insecure = options.pop("cluster"), options.pop("insecure_cluster")
    wrong = [f"--{name.replace('_', '-')}" for name in NOT_ON_CLUSTER if options.get(name)]
    if wrong or not files or not all(map(os.path.isfile, files)):
        raise click.UsageError(f"--cluster: expected only names of files, found {', '.join(wrong) or 'another input'}")
    if address_of(output) and options.get("cluster_folder") is None:
        raise click.UsageError("--cluster with -o in an object store requires --cluster-folder FOLDER")
    del options["cluster_folder"]
    from ..capture import Settings
    from ..capture.tools.many import capture_many
    from ..cluster.tasks import ray_tasks

    zone = options.pop("log_timezone", None)
    own = {option.name.replace("-", "_"): options.get(option.name.replace("-", "_")) for option in kind.options}
    with ray_tasks(address, CAPTURE_BYTES, insecure, OPTION) as tasks:
        return capture_many(kind.name, files, output, Settings(timezone_ns=zone, extra=own), tasks)


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
