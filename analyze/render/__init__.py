# SPDX-License-Identifier: Apache-2.0
"""Write a report as terminal text, HTML page, Markdown, JSON, JUnit, tables and charts; a tape's summary; a sweep."""
