# SPDX-License-Identifier: Apache-2.0
"""The native part: parsers, digests and the replay engine in C, reached through cffi."""
