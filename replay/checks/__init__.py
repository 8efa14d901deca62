# SPDX-License-Identifier: Apache-2.0
"""Checks tape, target and machine before anything is sent. Knows plan and options, never the run."""
