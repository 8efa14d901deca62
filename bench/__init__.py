# SPDX-License-Identifier: Apache-2.0
"""Benches: each compares querytape with a peer, or with a bound; `make bench` runs them."""
