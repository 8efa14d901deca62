# SPDX-License-Identifier: Apache-2.0
"""Replays the tapes of a set with several driver processes on one clock, on this machine or on other machines.

lead (replay --drivers)                         driver (querytape driver, or started by the lead)
  tapes of each driver ─────────── welcome ──►  plans its tapes
  first and last event of all ◄─── span ──────  waits until all have planned
  clock offset and its bound ◄──── clock ────►  answers at once
  all sessions are open ◄───────── ready ─────  sessions open, the engine waits
  start time in the future ─────── go ───────►  start time on its own CLOCK_MONOTONIC
  one line per second ◄─────────── tick, file ─ replays as any replay, into a part of its own
  one run folder ◄──────────────── ended ─────  accounting

A fleet (fleet.py) leads drivers in the same way, but each driver has its own tape, target and run.

Imports go one way: channel, clock, launch <- shares, ssh, ray_nodes <- local, secured, delivery <- driver, member
<- merging, lost <- gathering <- lead, fleet.
"""
