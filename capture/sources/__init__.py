# SPDX-License-Identifier: Apache-2.0
"""The source kinds, one file each. `capture.SOURCES` lists them."""
