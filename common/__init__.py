# SPDX-License-Identifier: Apache-2.0
"""Ground of all parts: errors, signals, files, DuckDB, units, text. Imports nothing else of this package."""
