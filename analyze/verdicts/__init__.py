# SPDX-License-Identifier: Apache-2.0
"""Compute how much slower or faster each statement became, and judge it."""
