# SPDX-License-Identifier: Apache-2.0
"""Make the plan of a replay from a tape: the events to send, their times and order, and the excluded events.

Imports go one way: windows, catalog <- rules (pacing, selection, overrides) <- database <- transactions, commit_order
<- make_plan. Only `read_catalog` connects to a server.
"""
