# SPDX-License-Identifier: Apache-2.0
"""Mutants: small faults in a copy of the checkout that show whether a test notices them. `make mutants` runs the
mutants.
"""
