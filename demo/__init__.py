# SPDX-License-Identifier: Apache-2.0
"""Shows the whole way once on private servers: a small shop, its customers, and the steps of the demo."""
