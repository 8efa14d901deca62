# SPDX-License-Identifier: Apache-2.0
"""Find statements of a tape that another version refuses or runs differently, by rules over their text.

No server is needed. A rule is one line of rules.tsv. A reserved word is one line of reserved_words.tsv.
"""
