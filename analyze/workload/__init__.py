# SPDX-License-Identifier: Apache-2.0
"""The workload of a tape: tables and columns by role, transactions, loops and hot rows."""
