# SPDX-License-Identifier: Apache-2.0
"""The command line: one group, one file a command in `commands`; nothing below this folder knows click."""
