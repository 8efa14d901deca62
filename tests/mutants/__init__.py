# SPDX-License-Identifier: Apache-2.0
"""Mutants: small faults in a copy of the checkout. They show whether a test notices the fault. `make mutants` runs the
tests with each mutant.
"""
