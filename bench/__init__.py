# SPDX-License-Identifier: Apache-2.0
"""Benches: each compares querytape with a peer, or holds it to a figure; `make bench` runs them."""
