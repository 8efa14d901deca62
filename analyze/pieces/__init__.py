# SPDX-License-Identifier: Apache-2.0
"""Build a report in pieces.

The events are distributed to partitions that fit into memory, and the results of the partitions are combined.
"""
