# SPDX-License-Identifier: Apache-2.0
"""Find what on a tape another version refuses or does differently, by rules over the text, without a server.

A rule is one line of rules.tsv; a reserved word is one line of reserved_words.tsv.
"""
