# SPDX-License-Identifier: Apache-2.0
"""Convert the options of a replay into the options of the native engine."""

import time
from typing import Any

from ..native.bindings.engine import EngineOptions
from ..native.bindings.libraries import login_plugins
from ..schemas import CLASSES, DANGERS
from ..schemas.names import EngineAddress, TlsKind
from ..servers.facts import Facts
from ..servers.target import Target
from .options import ReplayOptions
from .plan.rules import Plan

ROWS_BYTES = MAX_ROW_BYTES = 1 << 30
MIN_ROW_BYTES = 64 << 20
MAX_CONNECTIONS = 151  # default max_connections of the servers
# TLS modes of the engine by the names of the mysql client. PREFERRED is resolved to another mode earlier.
TLS: dict[str, TlsKind] = {
    "DISABLED": "disabled",
    "REQUIRED": "required",
    "VERIFY_CA": "verify_ca",
    "VERIFY_IDENTITY": "verify_identity",
}
READING = ("read", "transaction", "session")
IMPLIED_BY_WRITES = frozenset({"set_session_unsafe", "lock_tables"})


def engine_options(
    options: ReplayOptions,
    plan: Plan | None = None,
    facts: Facts | None = None,
    read_facts: Facts | None = None,
    rest_ns: int | None = None,
) -> EngineOptions:
    """Return the engine's options for a replay. Without `plan` and `facts` (of the target), they are only for logins.

    `rest_ns`: for a followed tape, the silence after which a session is disconnected. None means that the tape is not
    followed. A target with few connections shortens this silence.

    The effects of library functions are unknown, and a read-only session does not prevent them. A replay of reads
    therefore sends no statement that calls a library function or names a caller of such a function.
    """
    target, facts = options.target, facts or Facts("")
    library = facts.library | (read_facts or facts).library
    bound = row_bound(plan.peak_sessions, facts.number("max_allowed_packet")) if plan else 0
    return EngineOptions(
        **options.engine_settings,
        **vars(_address(target)),
        db=target.db,
        tls=TLS[target.tls.mode],
        tls_ca=target.tls.ca,
        tls_cert=target.tls.cert,
        tls_key=target.tls.key,
        cleartext=target.tls.cleartext_password,
        public_key=target.tls.server_public_key,
        plugins=login_plugins(),
        compress=target.compress,
        max_row_bytes=bound,
        init=options.first_statements,
        accounts=options.overrides.numbered,
        pace=options.pace.kind,
        zero_at_ns=_monotonic(options.start_at_ns),
        order_tables=plan.order_tables if plan else 0,
        follows=rest_ns is not None,
        rest_ns=rest_ns or 0,
        rest_open=max(1, (facts.number("max_connections") or MAX_CONNECTIONS) * 3 // 4) if rest_ns else 0,
        read_target=_address(options.reads_to) if options.reads_to else None,
        **permitted(options),
        refused_calls=library.refused() if keeps_from_libraries(options) else None,
    )


def row_bound(sessions: int, max_allowed_packet: int | None) -> int:
    """Return the size in bytes of the largest row that a session may read.

    The target's max_allowed_packet limits the size. All sessions together may use ROWS_BYTES, but each session gets at
    least MIN_ROW_BYTES.
    """
    says = max(max_allowed_packet or MAX_ROW_BYTES, MIN_ROW_BYTES)
    return min(says, max(ROWS_BYTES // max(sessions, 1), MIN_ROW_BYTES), MAX_ROW_BYTES)


def keeps_from_libraries(options: ReplayOptions) -> bool:
    """Whether calls of library functions are excluded.

    Such calls are excluded if writes and statements of the kind `instance` are not allowed.
    """
    return not options.allow_writes and "instance" not in options.allow_statements


def permitted(options: ReplayOptions) -> dict[str, Any]:
    """Return the statements that the engine permits, as bit masks.

    The engine classifies each statement again, whatever class the tape shows.
    """
    dangers = options.allow_statements | (IMPLIED_BY_WRITES if options.allow_writes else frozenset())
    classes = CLASSES if options.allow_writes else READING
    return {
        "check_statements": not (options.allow_writes and dangers >= DANGERS.keys() - {"none"}),
        "reads_only": not options.allow_writes,
        "allowed_dangers": sum(1 << DANGERS[name] for name in dangers),
        "allowed_classes": sum(1 << CLASSES.index(name) for name in classes),
    }


def _address(target: Target) -> EngineAddress:
    return EngineAddress(
        host=target.address,
        socket=target.socket,
        port=target.port,
        user=target.user,
        password=target.password,
        asks_for_key=target.asks_for_key,
    )


def _monotonic(real_ns: int | None) -> int:
    """Convert a wall clock time to CLOCK_MONOTONIC. Return 0 for None."""
    return 0 if real_ns is None else max(real_ns - time.time_ns() + time.monotonic_ns(), 1)
