# SPDX-License-Identifier: Apache-2.0
"""Servers: their addresses, accounts and TLS, what they say of themselves, and private ones for tests and demo."""
