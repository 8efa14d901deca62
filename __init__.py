# SPDX-License-Identifier: Apache-2.0
"""querytape: record MySQL traffic, replay it against other servers, compare what came back."""

__version__ = "0.1.0"
