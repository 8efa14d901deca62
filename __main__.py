# SPDX-License-Identifier: Apache-2.0
"""`querytape` and `python -m querytape`."""

import signal

# Loading takes a tenth of a second, in which Ctrl-C ends the program without a word.
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
