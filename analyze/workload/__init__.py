# SPDX-License-Identifier: Apache-2.0
"""What the statements of a tape do: tables and columns by role, transactions, loops, hot rows."""
