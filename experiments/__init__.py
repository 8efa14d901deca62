# SPDX-License-Identifier: Apache-2.0
"""Runs several replays in turn (comparisons, sweeps), or a replay while it captures the target's slow log.

This package joins the stages and is independent of the command line. The caller passes the options of each replay.
"""
