# SPDX-License-Identifier: Apache-2.0
"""Find failures, different results and slowdowns on side B, with causes and remedies.

Each module answers one question.
"""
