# SPDX-License-Identifier: Apache-2.0
"""Log in once per account in the same way as the sessions of the replay.

The engine logs in before it sends statements.
"""

import time
from dataclasses import replace

from ...common.errors import TargetError
from ...native.bindings.engine import Engine, State
from ..engine_options import engine_options
from ..options import ReplayOptions
from ..run_folder import RunFolder, open_storage

SLICE_NS = 50_000_000
# One session without events for each account. NULL is the run's own account. Its session begins in the target's schema.
# Other accounts may lack access to this schema, so their sessions begin in the schema of --map-db.
SESSIONS = (
    "SELECT range + 1 AS session, 0::BIGINT AS open_due_ns, 0::BIGINT AS events,"
    " CASE WHEN range > 0 THEN '' END AS db,"
    " true AS opened_ahead, CASE WHEN range > 0 THEN range - 1 END::INTEGER AS account, NULL::BIGINT AS client_flags,"
    " NULL::VARCHAR AS charset, NULL::INTEGER AS collation_id, NULL::VARCHAR AS names FROM range({})"
)


def check_logins(options: ReplayOptions, folder: RunFolder) -> None:
    """Log in and out with each account.

    Raises TargetError with the server's message for the first account that cannot log in.
    """
    users = [options.target.user, *(user for user, _ in options.overrides.numbered)]
    settings = replace(
        engine_options(replace(options, commit_order=False, start_at_ns=None)),
        pace="schedule",
        timer_probes=0,
        max_concurrent_sessions=0,
    )
    with open_storage(folder.spill) as con, Engine(settings) as engine:
        engine.sessions(con.sql(SESSIONS.format(len(users))))
        engine.start()
        engine.feed_end()
        until = time.monotonic() + 2 * options.connect_timeout_s
        while engine.peek().state is not State.DONE and time.monotonic() < until:
            con.register("slice", engine.outcomes(SLICE_NS))
            con.execute("SELECT count(*) FROM slice").fetchall()
            con.unregister("slice")
        if engine.peek().state is not State.DONE:
            raise TargetError(
                f"sessions cannot log in: {options.target.name}: the server did not answer the first statements"
            )
        con.register("results", engine.session_results())
        rows = con.execute("SELECT session, errno, error FROM results WHERE errno <> 0 ORDER BY session").fetchall()
    for session, errno, error in rows:
        target = replace(options.target, user=users[session - 1])
        raise TargetError(f"sessions cannot log in: {target.login_fault(int(errno), str(error))}")
