# SPDX-License-Identifier: Apache-2.0
"""Record the run: ticks, counters of the target, query plans, and the accounting.

The modules of this package use the plan and the options, never the run that calls them.
"""
