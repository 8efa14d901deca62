# SPDX-License-Identifier: Apache-2.0
"""`querytape` and `python -m querytape`."""

import signal

# Loading takes a tenth of a second, in which Ctrl-C ends the program without a word.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from .cli.main import main

if __name__ == "__main__":
    main()
