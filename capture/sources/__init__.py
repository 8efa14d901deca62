# SPDX-License-Identifier: Apache-2.0
"""The kinds of source, one file each; `capture.SOURCES` lists them."""
