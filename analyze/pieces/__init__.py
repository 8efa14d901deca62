# SPDX-License-Identifier: Apache-2.0
"""A report in pieces: events dealt to partitions that fit into memory, and what comes of each put together."""
