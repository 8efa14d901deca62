# SPDX-License-Identifier: Apache-2.0
"""A demo of capture, replay and report on private servers: a small shop, its customers, and the steps of the demo."""
