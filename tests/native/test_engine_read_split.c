/* SPDX-License-Identifier: Apache-2.0 */
/* Events for the read target, and the states that keep the reads of a session on the main target: transactions,
 * temporary tables and locks. */
#include <mysql.h>

#include "check.h"
#include "engine/read_split.h"
#include "engine/engine_state.h"
#include "replay_run.h"

static struct qt_address reader;

/* Returns the pin state of a session after a command, given its state before the command. */
static int32_t pinned_after(int command, int64_t actions, int32_t before)
{
    static struct qt_engine e;
    struct qt_session s = {.engine = &e, .pinned = before};
    struct qt_planned_event ev = {.command = command, .actions = actions};
    e.options.read_target = &reader;
    qt_mirror_event(&s, &ev);
    return s.pinned;
}

enum { TABLES = QT_PINNED_BY_TABLES, LOCKS = QT_PINNED_BY_LOCKS, BOTH = TABLES | LOCKS };

static void temporary_tables_and_locks_pin_a_session(void)
{
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, 0, 0), 0);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_TEMPORARY_TABLE, 0), TABLES);
    CHECK_INT(pinned_after(QT_COMMAND_EXECUTE, QT_ACTION_TEMPORARY_TABLE, LOCKS), BOTH);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_LOCK_TABLES, 0), LOCKS);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_LOCK_TABLES, TABLES), BOTH);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, 0, BOTH), BOTH);
}

static void unlock_begin_and_reset_release_pins(void)
{
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_UNLOCK_TABLES, BOTH), TABLES);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_BEGIN, BOTH), TABLES);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_COMMIT, BOTH), BOTH);
    CHECK_INT(pinned_after(QT_COMMAND_QUERY, QT_ACTION_UNLOCK_TABLES | QT_ACTION_LOCK_TABLES, LOCKS), LOCKS);
    CHECK_INT(pinned_after(QT_COMMAND_RESET_CONNECTION, 0, BOTH), 0);
    CHECK_INT(pinned_after(QT_COMMAND_CHANGE_USER, 0, BOTH), 0);
    CHECK_INT(pinned_after(QT_COMMAND_PING, 0, BOTH), BOTH);
}

/* Without a read target, or after a lost connection, the pin state does not change. */
static void pins_do_not_change_without_a_read_target(void)
{
    static struct qt_engine e;
    struct qt_session s = {.engine = &e};
    struct qt_planned_event ev = {.command = QT_COMMAND_QUERY, .actions = QT_ACTION_TEMPORARY_TABLE};
    qt_mirror_event(&s, &ev);
    CHECK_INT(s.pinned, 0);
    e.options.read_target = &reader;
    s.broken = QT_CONNECTION_LOST;
    qt_mirror_event(&s, &ev);
    CHECK_INT(s.pinned, 0);
}

/* A run against two servers. */
struct pair {
    struct replay r;
    struct fake_server reader;
    struct qt_address address;
    int64_t n;
};

static void begin(struct pair *p, int64_t events)
{
    replay_init(&p->r);
    memset(&p->reader, 0, sizeof p->reader);
    fake_start(&p->reader);
    p->address = (struct qt_address){.host = "127.0.0.1", .port = p->reader.port, .user = "u", .password = "p"};
    p->r.options.read_target = &p->address;
    p->r.options.pace = QT_PACE_NONE;
    p->n = 0;
    replay_session(&p->r, 1, 0, events, NULL);
}

static void put(struct pair *p, struct planned e)
{
    e.session = 1;
    e.seq = e.due_ns = ++p->n;
    e.len = e.sql == NULL ? 0 : strlen(e.sql);
    replay_put(&p->r, &e);
}

/* Adds a query with the given plan flags. */
static void ask(struct pair *p, const char *sql, int64_t flags)
{
    put(p, (struct planned){.command = QT_COMMAND_QUERY, .sql = sql, .flags = flags});
}

static void run(struct pair *p)
{
    replay_run(&p->r);
    fake_settle(&p->reader);
}

static void end(struct pair *p)
{
    replay_free(&p->r);
    fake_stop(&p->reader);
}

enum { TARGET = 1, READER = 2 };

/* Each text arrives once, on the intended server. */
static void each_statement_arrives_on_the_intended_server(void)
{
    static const struct {
        const char *sql;
        int64_t flags;
        int where;
    } EVENT[] = {
        {"SELECT 1", QT_PLAN_FOR_READ_TARGET, READER},
        {"SELECT 2", 0, TARGET},
        {"INSERT 3", 0, TARGET},
        {"SET x = 4", QT_PLAN_FOR_BOTH, TARGET | READER},
        {"BEGIN", 0, TARGET},
        {"SELECT 5", QT_PLAN_FOR_READ_TARGET, TARGET},
        {"COMMIT", 0, TARGET},
        {"SELECT 6", QT_PLAN_FOR_READ_TARGET, READER},
        {"SET autocommit=0", 0, TARGET},
        {"SELECT 7", QT_PLAN_FOR_READ_TARGET, TARGET},
        {"SET autocommit=1", 0, TARGET},
        {"SELECT 8", QT_PLAN_FOR_READ_TARGET, READER},
        {"LOCK TABLES t READ", 0, TARGET},
        {"SELECT 9", QT_PLAN_FOR_READ_TARGET, TARGET},
        {"UNLOCK TABLES", 0, TARGET},
        {"SELECT 10", QT_PLAN_FOR_READ_TARGET, READER},
        {"CREATE TEMPORARY TABLE t (a INT)", 0, TARGET},
        {"SELECT 11", QT_PLAN_FOR_READ_TARGET, TARGET},
    };
    enum { N = sizeof EVENT / sizeof *EVENT };
    struct pair p;

    begin(&p, N);
    for (size_t i = 0; i < N; i++)
        ask(&p, EVENT[i].sql, EVENT[i].flags);
    run(&p);
    CHECK_INT(p.r.stats.counts.executed, N);
    for (size_t i = 0; i < N; i++) {
        CHECK_INT(fake_count(&p.r.server, 3, EVENT[i].sql), (EVENT[i].where & TARGET) != 0);
        CHECK_INT(fake_count(&p.reader, 3, EVENT[i].sql), (EVENT[i].where & READER) != 0);
    }
    CHECK_INT(p.r.stats.counts.read_target_errors, 0);
    end(&p);
}

#define NO_PARAMETERS "E\0\0\0\1\0\0\0"

/* A statement prepared on both servers is executed on the read target. A statement prepared only on the main target is
 * executed on the main target. An Execute from a log is sent as its text. */
static void prepared_statement_is_executed_where_it_was_prepared(void)
{
    struct pair p;
    begin(&p, 5);
    put(&p, (struct planned){.command = QT_COMMAND_PREPARE, .stmt = 1, .sql = "SELECT 1", .flags = QT_PLAN_FOR_BOTH});
    put(&p, (struct planned){.command = QT_COMMAND_PREPARE, .stmt = 2, .sql = "SELECT 2", .flags = 0});
    put(&p, (struct planned){.command = QT_COMMAND_EXECUTE,
                             .stmt = 1,
                             .params = NO_PARAMETERS,
                             .params_len = 8,
                             .flags = QT_PLAN_FOR_READ_TARGET});
    put(&p, (struct planned){.command = QT_COMMAND_EXECUTE,
                             .stmt = 2,
                             .params = NO_PARAMETERS,
                             .params_len = 8,
                             .flags = QT_PLAN_FOR_READ_TARGET});
    put(&p, (struct planned){
                .command = QT_COMMAND_EXECUTE, .stmt = NO_VALUE, .sql = "SELECT 3", .flags = QT_PLAN_FOR_READ_TARGET});
    run(&p);
    CHECK_INT(p.r.stats.counts.executed, 5);
    CHECK_INT(fake_count(&p.r.server, 0x16, NULL), 2);
    CHECK_INT(fake_count(&p.reader, 0x16, NULL), 1);
    CHECK_INT(fake_count(&p.r.server, 0x17, NULL), 1);
    CHECK_INT(fake_count(&p.reader, 0x17, NULL), 1);
    CHECK_INT(fake_count(&p.r.server, 3, "SELECT 3"), 0);
    CHECK_INT(fake_count(&p.reader, 3, "SELECT 3"), 1);
    end(&p);
}

/* Errors of the read target are counted separately. If the read connection is lost, the session is lost. */
static void errors_of_the_read_target_are_counted_separately(void)
{
    struct pair p;
    begin(&p, 3);
    p.reader.fails = 2;
    put(&p, (struct planned){.command = QT_COMMAND_INIT_DB, .db = "d", .flags = QT_PLAN_FOR_BOTH});
    ask(&p, "ERROR", QT_PLAN_FOR_BOTH); /* failed on the target, so it is not mirrored */
    ask(&p, "SELECT 1", QT_PLAN_FOR_READ_TARGET);
    run(&p);
    CHECK_INT(p.r.stats.counts.read_target_errors, 1);
    CHECK_INT(p.r.stats.counts.executed, 3);
    CHECK_INT(fake_count(&p.reader, 3, "ERROR"), 0);
    CHECK_INT(fake_count(&p.reader, 3, "SELECT 1"), 1);
    end(&p);

    begin(&p, 3);
    p.reader.drops = 2;
    ask(&p, "INSERT 1", 0);
    put(&p, (struct planned){.command = QT_COMMAND_INIT_DB, .db = "d", .flags = QT_PLAN_FOR_BOTH});
    ask(&p, "INSERT 2", 0);
    run(&p);
    CHECK_INT(replay_count(&p.r, "not_sent", "connection_lost"), 1);
    CHECK_INT(fake_count(&p.r.server, 3, "INSERT 1"), 1);
    CHECK_INT(fake_count(&p.r.server, 3, "INSERT 2"), 0);
    end(&p);
}

/* Tests each event against the state of both connections. Statement 0 is prepared only on the main target. Statement 1
 * is prepared on both servers. Statements 2 and 3 are prepared on both servers, with a cursor on the main target (2) or
 * on the read target (3). */
static void read_target_gets_only_allowed_events(void)
{
    static const struct {
        int command, flagged, in_tx, pinned, autocommit;
        int64_t stmt;
        int goes;
    } CASES[] = {
        {QT_COMMAND_QUERY, 1, 0, 0, 1, -1, 1},   {QT_COMMAND_QUERY, 1, 0, 0, 1, 0, 1},
        {QT_COMMAND_QUERY, 0, 0, 0, 1, -1, 0},   {QT_COMMAND_QUERY, 1, 1, 0, 1, -1, 0},
        {QT_COMMAND_QUERY, 1, 0, 1, 1, -1, 0},   {QT_COMMAND_QUERY, 1, 0, 0, 0, -1, 0},
        {QT_COMMAND_EXECUTE, 1, 0, 0, 1, -1, 1}, {QT_COMMAND_EXECUTE, 1, 0, 0, 1, 0, 0},
        {QT_COMMAND_EXECUTE, 1, 0, 0, 1, 1, 1},  {QT_COMMAND_EXECUTE, 1, 1, 0, 1, 1, 0},
        {QT_COMMAND_EXECUTE, 0, 0, 0, 1, 1, 0},  {QT_COMMAND_FETCH, 0, 0, 0, 1, 3, 1},
        {QT_COMMAND_FETCH, 1, 0, 0, 1, 2, 0},    {QT_COMMAND_FETCH, 1, 0, 0, 1, 0, 0},
        {QT_COMMAND_FETCH, 0, 1, 1, 0, 3, 1},    {QT_COMMAND_FETCH, 1, 0, 0, 1, 1, 0},
    };
    static struct qt_engine e;
    static MYSQL_STMT without, with = {.cursor_exists = 1};
    struct qt_prepared on_target[] = {{.number = 0, .stmt = &without},
                                      {.number = 1, .stmt = &without},
                                      {.number = 2, .stmt = &with},
                                      {.number = 3, .stmt = &without}};
    struct qt_prepared on_reader[] = {
        {.number = 1, .stmt = &without}, {.number = 2, .stmt = &without}, {.number = 3, .stmt = &with}};
    MYSQL *mysql = mysql_init(NULL);

    CHECK(mysql != NULL);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct qt_session s = {.engine = &e, .in_tx = CASES[i].in_tx, .pinned = CASES[i].pinned};
        struct qt_planned_event ev = {.command = CASES[i].command,
                                      .stmt = CASES[i].stmt,
                                      .flags = CASES[i].flagged ? QT_PLAN_FOR_READ_TARGET : QT_PLAN_FOR_BOTH};
        s.backends[0].connection = (struct qt_connection){.mysql = mysql, .prepared = on_target, .n_prepared = 4};
        s.backends[1].connection = (struct qt_connection){.prepared = on_reader, .n_prepared = 3};
        mysql->server_status = CASES[i].autocommit ? SERVER_STATUS_AUTOCOMMIT : 0;
        if (qt_goes_to_read_target(&s, &ev) != CASES[i].goes) {
            fprintf(stderr, "case %zu\n", i);
            CHECK_INT(!CASES[i].goes, CASES[i].goes);
        }
    }
    mysql_close(mysql);
}

/* A statement that is not prepared on the read target is not executed or closed on the read target. The skipped command
 * is not counted. */
static void missing_statement_is_not_closed_on_the_read_target(void)
{
    struct pair p;
    begin(&p, 4);
    put(&p, (struct planned){.command = QT_COMMAND_PREPARE, .stmt = 1, .sql = "SELECT 1", .flags = 0});
    put(&p, (struct planned){.command = QT_COMMAND_CLOSE_STMT, .stmt = 1, .flags = QT_PLAN_FOR_BOTH});
    put(&p, (struct planned){.command = QT_COMMAND_PREPARE, .stmt = 2, .sql = "SELECT 2", .flags = QT_PLAN_FOR_BOTH});
    put(&p, (struct planned){.command = QT_COMMAND_CLOSE_STMT, .stmt = 2, .flags = QT_PLAN_FOR_BOTH});
    run(&p);
    CHECK_INT(p.r.stats.counts.executed, 4);
    CHECK_INT(fake_count(&p.r.server, 0x19, NULL), 2);
    CHECK_INT(fake_count(&p.reader, 0x16, NULL), 1);
    CHECK_INT(fake_count(&p.reader, 0x19, NULL), 1);
    CHECK_INT(p.r.stats.counts.injected, 2);
    CHECK_INT(p.r.stats.counts.read_target_errors, 0);
    end(&p);
}

int main(void)
{
    RUN(read_target_gets_only_allowed_events);
    RUN(missing_statement_is_not_closed_on_the_read_target);
    RUN(temporary_tables_and_locks_pin_a_session);
    RUN(unlock_begin_and_reset_release_pins);
    RUN(pins_do_not_change_without_a_read_target);
    RUN(each_statement_arrives_on_the_intended_server);
    RUN(prepared_statement_is_executed_where_it_was_prepared);
    RUN(errors_of_the_read_target_are_counted_separately);
    return 0;
}
