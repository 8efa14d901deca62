# SPDX-License-Identifier: Apache-2.0
"""The native part in C: parsers, digests and the replay engine. Python calls it through cffi."""
