# SPDX-License-Identifier: Apache-2.0
"""Mutants: small faults put into a copy of the checkout, to see whether a test notices. `make mutants` runs them."""
