# SPDX-License-Identifier: Apache-2.0
"""Serves pages of a folder's tapes, runs and comparisons over HTTP, and a page of each running replay.

shelf (folder contents) <- orders (inputs of a page) <- page_cache ──process──► maker (makes one page)
live, history (read at each request) <- app (routes) <- server (socket, signals); access: permissions
"""
