# SPDX-License-Identifier: Apache-2.0
"""Tools for tapes: derive, deal, gather, export, pseudonymize, salvage, snapshot and verify."""
