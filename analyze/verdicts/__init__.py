# SPDX-License-Identifier: Apache-2.0
"""Measure how much slower or faster each statement became, and give a verdict."""
