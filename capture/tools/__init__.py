# SPDX-License-Identifier: Apache-2.0
"""Tools for tapes: derive, export, pseudonymize, salvage, verify."""
