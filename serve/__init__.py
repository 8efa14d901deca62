# SPDX-License-Identifier: Apache-2.0
"""Pages of a folder's tapes, runs and comparisons over HTTP, and a page of a replay that is under way.

shelf (what is in the folder) <- orders (what a page is made of) <- page_cache ──process──► maker (makes one page)
live, history (read at each request) <- app (routes) <- server (socket, signals); access: who may do what
"""
