# SPDX-License-Identifier: Apache-2.0
"""The commands, one file for each. No command imports another."""
