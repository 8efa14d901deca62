# SPDX-License-Identifier: Apache-2.0
"""Worker process that runs jobs. It reads one JSON line per job from standard input and prints null or an error."""

import json
import signal
import sys

import duckdb

from .executors import Job, run_job


def main() -> None:
    """Run jobs until standard input ends. Ctrl-C is left to the parent process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        fields = json.loads(line)
        queries = tuple((file, query) for file, query in fields["queries"])
        failed = None
        try:
            run_job(Job(tuple(fields["setup"]), queries, fields["memory"], fields["threads"], fields["spill"]))
        except (duckdb.Error, OSError) as error:
            failed = {"error": type(error).__name__, "text": str(error)}
        print(json.dumps(failed), flush=True)


if __name__ == "__main__":
    main()
