# SPDX-License-Identifier: Apache-2.0
"""Makes the plan of a replay from a tape: what is sent, when, in which order, and what is excluded.

Imports go one way: windows, catalog <- rules (pacing, selection, overrides) <- database <- transactions,
commit_order <- make_plan. Nothing here connects to a server but `read_catalog`.
"""
