# SPDX-License-Identifier: Apache-2.0
"""Prometheus metrics of running replays and captures: their names, their current values, and the page that serves them.

Imports go one way: names <- collector. The module `page` knows only a registry.
"""
