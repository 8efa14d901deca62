# SPDX-License-Identifier: Apache-2.0
"""Check the tape, the target and the machine before anything is sent. Uses the plan and the options, never the run."""
