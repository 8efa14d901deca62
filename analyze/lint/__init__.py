# SPDX-License-Identifier: Apache-2.0
"""Find statements of a tape that another server version refuses or runs differently.

Rules search the text of the statements, so no server is needed. A rule is one line of rules.tsv. A reserved word is one
line of reserved_words.tsv.
"""
