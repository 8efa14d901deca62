# SPDX-License-Identifier: Apache-2.0
"""Runs several replays in turn (comparisons, sweeps), or a replay with the capture of its target's slow log.

Joins the stages; knows no command line: whoever calls it hands in the options of each replay.
"""
