# SPDX-License-Identifier: Apache-2.0
"""Check the tape, the target and the machine before the first statement is sent. The checks never use the run."""
