# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of running replays and captures.

The package defines the names of the metrics, collects their current values, and serves them on a page. Module
`collector` imports `names`. Module `page` knows only a registry.
"""
