# SPDX-License-Identifier: Apache-2.0
"""Replays the tapes of a set by several driver processes on one clock, on this machine or on others.

lead (replay --drivers)                         driver (querytape driver, or started by the lead)
  whose tapes ──────────────────── welcome ──►  plans its tapes
  first and last of all ◄───────── span ──────  holds until all have planned
  offset and bound of its clock ◄─ clock ────►  answers at once
  all are open ◄────────────────── ready ─────  sessions open, the engine holds
  zero, which lies ahead ───────── go ───────►  zero on its own CLOCK_MONOTONIC
  one line a second ◄───────────── tick, file ─ replays as any replay, into a part of its own
  one run folder ◄──────────────── ended ─────  accounting

Imports go one way: channel, clock, shares <- local, secured, delivery <- driver, member <- merging, lost <- lead.
"""
