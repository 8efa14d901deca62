# SPDX-License-Identifier: Apache-2.0
"""`querytape` and `python -m querytape`."""

from .common.signals import quiet_start

quiet_start()  # loading takes a tenth of a second

from .cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
