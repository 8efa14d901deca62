# SPDX-License-Identifier: Apache-2.0
"""Entry point of `querytape` and `python -m querytape`."""

import signal

# Imports take 0.1 s. Ctrl-C during this time must end the program without a traceback.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from .common.leaving import leave_at_once, search_less


def main() -> None:
    """Run the command line."""
    search_less()
    from .cli.main import main as run

    leave_at_once(run)


if __name__ == "__main__":
    main()
