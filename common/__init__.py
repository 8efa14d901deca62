# SPDX-License-Identifier: Apache-2.0
"""Shared foundations of all packages: errors, signals, files, DuckDB, units and text. Imports no other querytape
package.
"""
