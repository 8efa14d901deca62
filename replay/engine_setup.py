# SPDX-License-Identifier: Apache-2.0
"""From the options of a replay to those of the native engine."""

import time

from ..native.engine import Address, EngineOptions
from ..servers.target import Target
from .options import LOST, OVERLOAD, ReplayOptions
from .pacing import KINDS


def engine_options(options: ReplayOptions, order_tables: int = 0) -> EngineOptions:
    """Return the engine's options for a replay's."""
    target, failures = options.target, options.failures
    return EngineOptions(
        host=target.address,
        socket=target.socket,
        port=target.port,
        user=target.user,
        password=target.password,
        db=target.db,
        tls=target.tls.code,
        tls_ca=target.tls.ca,
        tls_cert=target.tls.cert,
        tls_key=target.tls.key,
        compress=target.compress,
        charset=options.charset,
        init=options.first_statements,
        accounts=options.forcing.numbered,
        pace=KINDS[options.pace.kind],
        zero_at_ns=_monotonic(options.start_at_ns),
        canaries=options.canaries,
        connect_timeout_s=options.connect_timeout_s,
        connect_rate=options.connect_rate,
        lead_ns=options.lead_ns,
        queue_bytes=options.queue_bytes,
        drain_ns=options.drain_ns,
        verify=options.verify,
        statement_timeout_ns=failures.statement_timeout_ns,
        max_errors=-1 if failures.max_errors is None else failures.max_errors,
        on_lost=LOST[failures.on_lost],
        overload=OVERLOAD[failures.overload],
        order_tables=order_tables,
        max_open=options.at_once,
        order_bound_ns=failures.order_bound_ns,
        reader=_address(options.reads_to),
    )


def _address(target: Target | None) -> Address | None:
    if target is None:
        return None
    return Address(target.address, target.socket, target.port, target.user, target.password)


def _monotonic(real_ns: int | None) -> int:
    """Return a time of the wall clock on CLOCK_MONOTONIC; 0 = none."""
    return 0 if real_ns is None else max(real_ns - time.time_ns() + time.monotonic_ns(), 1)
