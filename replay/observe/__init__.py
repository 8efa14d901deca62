# SPDX-License-Identifier: Apache-2.0
"""Records what a replay does and what it meets: ticks, counters of the target, query plans; and the accounting.

The modules here know the plan and the options, never the run that calls them.
"""
