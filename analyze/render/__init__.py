# SPDX-License-Identifier: Apache-2.0
"""Write a report as terminal text, HTML, Markdown, JSON, JUnit, tables and charts. Also formats tapes and sweeps."""
