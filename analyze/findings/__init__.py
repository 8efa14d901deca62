# SPDX-License-Identifier: Apache-2.0
"""Find what breaks, differs or is slower, why, and what to do about it: a module for each question."""
