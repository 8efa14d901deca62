# SPDX-License-Identifier: Apache-2.0
"""Numbers of what is under way, for Prometheus: names, values read when somebody asks, and the page that serves them.

Imports go one way: names <- collector; page knows only a registry.
"""
