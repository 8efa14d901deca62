# SPDX-License-Identifier: Apache-2.0
"""Servers: addresses, accounts, TLS, properties that a server reports, and private servers for tests and the demo."""
