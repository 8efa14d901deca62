# SPDX-License-Identifier: Apache-2.0
"""Say what a report finds, a module for each kind: what breaks, differs or is slower, why, and what to do about it."""
