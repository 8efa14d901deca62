/* SPDX-License-Identifier: Apache-2.0 */
/* Commands sent before an event: its schema, the multi-statement option, the clock and ids. Covers which events need
 * them, and the result of a refusal by the target. */
#include "check.h"
#include "replay_run.h"

enum { QUERY = 1, PREPARE = 2, EXECUTE = 3, INIT_DB = 8, PING = 9 }; /* command numbers of the tape */
enum { FAILED = 1, NO_PARAMETERS = 8 };

static void begin(struct replay *r, int64_t client_flags, int64_t events)
{
    replay_init(r);
    r->options.pace = QT_PACE_NONE;
    r->client_flags = client_flags;
    replay_session(r, 1, 0, events, NULL);
}

static void put(struct replay *r, struct planned e)
{
    e.session = 1;
    e.seq = e.due_ns = r->events.col[0].rows + 1;
    e.len = e.sql == NULL ? 0 : strlen(e.sql);
    replay_put(r, &e);
}

/* Returns all commands that the server received, as "command text|command text". */
static const char *got(struct replay *r)
{
    static char out[4096];
    size_t at = 0;
    replay_run(r);
    out[0] = 0;
    for (size_t i = 0; i < r->server.n; i++) {
        const struct fake_entry *e = &r->server.entry[i];
        const char *text = e->command == 3 || e->command == 2 || e->command == 0x16 ? e->bytes : "";
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%x%s%s", at > 0 ? "|" : "", (unsigned)e->command,
                               *text ? " " : "", text);
    }
    return out;
}

/* Only events that run statements get a clock and ids. If the target refuses the setting, the event is still sent. The
 * refusal is counted and the clock is set again for the next event. */
static void only_events_that_run_statements_get_clock_and_ids(void)
{
    struct replay r;

    begin(&r, 0, 7);
    put(&r, (struct planned){.command = PING, .clock_us = 5000001, .insert_id = 7});
    put(&r, (struct planned){.command = INIT_DB, .db = "d", .clock_us = 5000001});
    put(&r, (struct planned){.command = PREPARE, .stmt = 3, .sql = "INSERT", .clock_us = 5000001, .insert_id = 7});
    put(&r, (struct planned){.command = EXECUTE,
                             .stmt = 3,
                             .params = "E\0\0\0\1\0\0\0",
                             .params_len = NO_PARAMETERS,
                             .clock_us = 5000001});
    put(&r, (struct planned){.command = EXECUTE, .stmt = NO_VALUE, .sql = "a", .clock_us = 5000001, .insert_id = 8});
    put(&r, (struct planned){.command = QUERY, .sql = "b", .clock_us = 1999999, .insert_id = 9});
    put(&r, (struct planned){.command = QUERY, .sql = "c"});
    CHECK_TEXT(got(&r), "e|2 d|16 INSERT|3 SET timestamp=5.000001|17|3 SET insert_id=8|3 a|"
                        "3 SET timestamp=1.999999,insert_id=9|3 b|3 c|1");
    CHECK_INT(r.stats.counts.injected, 3);
    CHECK_INT(r.stats.counts.overrides_failed, 0);
    replay_free(&r);

    begin(&r, 0, 4);
    r.server.fails = 3;
    put(&r, (struct planned){.command = QUERY, .sql = "a", .clock_us = 5000001});
    put(&r, (struct planned){.command = QUERY, .sql = "b", .clock_us = 5000001});
    put(&r, (struct planned){.command = QUERY, .sql = "c", .insert_id = 5});
    put(&r, (struct planned){.command = QUERY, .sql = "d"});
    CHECK_TEXT(got(&r), "3 SET timestamp=5.000001|3 a|3 SET timestamp=5.000001|3 b|3 SET insert_id=5|3 c|3 d|1");
    CHECK_INT(r.stats.counts.injected, 3);
    CHECK_INT(r.stats.counts.overrides_failed, 3);
    CHECK_INT(r.stats.counts.executed, 4);
    CHECK_INT(r.stats.counts.errors, 4);
    replay_free(&r);
}

/* The multi-statement option is enabled for texts with several statements. It is not enabled for prepared statements,
 * known clients or texts that failed. A refused request is repeated. */
static void multi_statement_option_is_set_only_when_needed(void)
{
    struct replay r;

    begin(&r, 0, 3);
    put(&r, (struct planned){.command = PREPARE, .stmt = 3, .sql = "INSERT a; INSERT b"});
    put(&r, (struct planned){.command = EXECUTE, .stmt = NO_VALUE, .sql = "INSERT c; INSERT d"});
    put(&r, (struct planned){.command = QUERY, .sql = "INSERT e"});
    CHECK_TEXT(got(&r), "16 INSERT a; INSERT b|3 INSERT c; INSERT d|3 INSERT e|1");
    CHECK_INT(r.stats.counts.several_statements, 0);
    CHECK_INT(r.stats.counts.injected, 0);
    replay_free(&r);

    begin(&r, 1 << 9, 1);
    put(&r, (struct planned){.command = QUERY, .sql = "INSERT a; INSERT b"});
    CHECK_TEXT(got(&r), "3 INSERT a; INSERT b|1");
    CHECK_INT(r.stats.counts.several_statements, 0);
    replay_free(&r);

    begin(&r, 0, 3);
    r.server.fails = 0x1b;
    put(&r, (struct planned){.command = QUERY, .sql = "INSERT a; INSERT b", .flags = (int64_t)1 << 42});
    put(&r, (struct planned){.command = QUERY, .sql = "INSERT c; INSERT d"});
    put(&r, (struct planned){.command = QUERY, .sql = "INSERT e; INSERT f"});
    CHECK_TEXT(got(&r), "3 INSERT a; INSERT b|1b|3 INSERT c; INSERT d|1b|3 INSERT e; INSERT f|1");
    CHECK_INT(r.stats.counts.several_statements, 2);
    CHECK_INT(r.stats.counts.injected, 2);
    replay_free(&r);
}

/* A schema is selected once, before an event that needs it. A schema that does not exist is selected again when the
 * event is due. If this fails, the event is not sent. */
static void schema_is_selected_once_before_an_event(void)
{
    struct replay r;

    begin(&r, 0, 7);
    put(&r, (struct planned){.command = PING, .db = "d"});
    put(&r, (struct planned){.command = QUERY, .db = "d", .sql = "a"});
    put(&r, (struct planned){.command = PREPARE, .db = "d", .stmt = 3, .sql = "b"});
    put(&r, (struct planned){.command = QUERY, .db = "missing", .sql = "c; d", .clock_us = 5000001, .waits = "0:9"});
    put(&r, (struct planned){.command = QUERY, .db = "e", .sql = "f"});
    put(&r, (struct planned){.command = QUERY, .sql = "g"});
    put(&r, (struct planned){.command = QUERY, .db = "e", .sql = "h"});
    CHECK_TEXT(got(&r), "e|2 d|3 a|16 b|2 missing|1b|3 SET timestamp=5.000001|2 missing|2 e|3 f|3 g|3 h|1");
    CHECK_TEXT(replay_find(&r, 1, 4)->reason, "schema_failed");
    CHECK_INT(r.stats.counts.injected, 6);
    replay_free(&r);
}

int main(void)
{
    RUN(only_events_that_run_statements_get_clock_and_ids);
    RUN(multi_statement_option_is_set_only_when_needed);
    RUN(schema_is_selected_once_before_an_event);
    return 0;
}
