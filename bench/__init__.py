# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of querytape. Each compares querytape with another program or with a limit. `make bench` runs them."""
