# SPDX-License-Identifier: Apache-2.0
"""Servers that are asked, by whichever stage: addresses and passwords, what a server says of itself."""
