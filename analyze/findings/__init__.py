# SPDX-License-Identifier: Apache-2.0
"""Put into sentences what a report shows: headline, trust, changes over time, query plans."""
