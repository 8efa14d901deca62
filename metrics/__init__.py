# SPDX-License-Identifier: Apache-2.0
"""Numbers of what is under way, for Prometheus: names, values read when somebody asks, and the page that serves them.

Imports go one way: names <- collector <- replay_values, capture_values; page knows a registry alone.
"""
