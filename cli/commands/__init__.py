# SPDX-License-Identifier: Apache-2.0
"""One file a command; no command imports another."""
