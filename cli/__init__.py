# SPDX-License-Identifier: Apache-2.0
"""The command line. `commands` has one file per command. No code outside this folder imports click."""
