# SPDX-License-Identifier: Apache-2.0
"""One answer in three parts: what breaks, what returns something else, what is slower; and what to do about it."""
