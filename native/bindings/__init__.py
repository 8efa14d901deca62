# SPDX-License-Identifier: Apache-2.0
"""The native part as Python sees it: one module for each kind of object that querytape.h declares."""
