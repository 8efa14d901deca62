/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "replay_run.h"

enum { QUERY = 1, PREPARE = 2, EXECUTE, CLOSE, RESET, LONG_DATA, FETCH, BULK = 24 };
#define ID "\7\0\0\0"
#define PARAMS(text) text, sizeof(text) - 1

static struct fake_entry *seen(struct replay *r, size_t n)
{
    CHECK(n < r->server.n);
    return &r->server.entry[n];
}

#define CHECK_SEEN(r, n, command_, text) \
    do { \
        struct fake_entry *e = seen(r, n); \
        CHECK_INT(e->command, command_); \
        CHECK_INT(e->len, sizeof(text) - 1); \
        CHECK(memcmp(e->bytes, text, sizeof(text) - 1) == 0); \
    } while (0)

/* The statement number of the tape is mapped to the server's id. Values arrive unchanged. */
static void statement_ids_are_mapped_and_values_unchanged(void)
{
    struct replay r;
    replay_init(&r);
    replay_session(&r, 1, 0, 8, NULL);
    replay_stmt_event(&r, 1, PREPARE, 5, "INSERT ?, ?", NULL, 0);
    replay_stmt_event(&r, 2, EXECUTE, 5, NULL, PARAMS("E\2\0\1\0\0\0\0\1\3\0\xfd\0\x2a\0\0\0\2hi"));
    replay_stmt_event(&r, 3, LONG_DATA, 5, NULL, PARAMS("L\1\0piece\0of"));
    replay_stmt_event(&r, 4, EXECUTE, 5, NULL, PARAMS("D\2\2\0\1\0\0\0\0\1\3\0\xfd\0\x2b\0\0\0"));
    replay_stmt_event(&r, 5, RESET, 5, NULL, NULL, 0);
    replay_stmt_event(&r, 6, CLOSE, 5, NULL, NULL, 0);
    replay_stmt_event(&r, 7, EXECUTE, 5, NULL, PARAMS("E\2\0\1\0\0\0\3\1\3\0\xfd\0"));
    replay_stmt_event(&r, 8, EXECUTE, -1, "INSERT 'in the text'", NULL, 0);
    replay_run(&r);
    CHECK_SEEN(&r, 0, 0x16, "INSERT ?, ?");
    CHECK_SEEN(&r, 1, 0x17, ID "\0\1\0\0\0\0\1\3\0\xfd\0\x2a\0\0\0\2hi");
    CHECK_SEEN(&r, 2, 0x18, ID "\1\0piece\0of");
    CHECK_SEEN(&r, 3, 0x17, ID "\0\1\0\0\0\0\1\3\0\xfd\0\x2b\0\0\0");
    CHECK_SEEN(&r, 4, 0x1a, ID);
    CHECK_SEEN(&r, 5, 0x19, ID);
    CHECK_SEEN(&r, 6, 3, "INSERT 'in the text'");
    CHECK_INT(replay_count(&r, "executed", NULL), 7);
    CHECK_TEXT(replay_find(&r, 1, 7)->reason, "not_prepared");
    CHECK_INT(replay_find(&r, 1, 2)->affected, 0);
    replay_free(&r);
}

/* Query attributes cannot be sent. The statement's own parameters are sent, and the dropped attributes are counted. */
static void query_attributes_are_dropped_and_counted(void)
{
    struct replay r;
    replay_init(&r);
    replay_session(&r, 1, 0, 5, NULL);
    replay_stmt_event(&r, 1, PREPARE, 1, "INSERT ?", NULL, 0);
    replay_stmt_event(&r, 2, EXECUTE, 1, NULL, PARAMS("N\3\0\0\1\0\0\0\4\1\xfd\0\3\0\xfd\0\2hi\x2a\0\0\0\0\1a\1b"));
    replay_stmt_event(&r, 3, EXECUTE, 1, NULL, PARAMS("N\2\0\0\1\0\0\0\1\1\3\0\xfd\0\2hi\0\1a"));
    replay_stmt_event(&r, 4, PREPARE, 2, "INSERT", NULL, 0);
    replay_stmt_event(&r, 5, EXECUTE, 2, NULL, PARAMS("N\1\0\0\1\0\0\0\0\1\xfd\0\2hi\1a"));
    replay_run(&r);
    CHECK_SEEN(&r, 1, 0x17, ID "\0\1\0\0\0\4\1\xfd\0\2hi");
    CHECK_SEEN(&r, 2, 0x17, ID "\0\1\0\0\0\1\1\3\0");
    CHECK_SEEN(&r, 4, 0x17, ID "\0\1\0\0\0");
    CHECK_INT(r.stats.counts.query_attributes_dropped, 4);
    replay_free(&r);
}

/* A server other than MariaDB gets each row of a bulk execution separately. Rows with DEFAULT cannot be sent this
 * way. */
static void bulk_execution_becomes_single_executions(void)
{
    struct replay r;
    replay_init(&r);
    replay_session(&r, 1, 0, 4, NULL);
    replay_stmt_event(&r, 1, PREPARE, 1, "INSERT ?, ?", NULL, 0);
    replay_stmt_event(&r, 2, BULK, 1, NULL, PARAMS("B\2\x80\0\1\0\xfd\0\0\x05\0\2hi\0\x06\1\1\0\3you"));
    replay_stmt_event(&r, 3, BULK, 1, NULL, PARAMS("B\2\x80\0\1\0\xfd\0\0\x05\0\2hi\2\0\1x"));
    replay_stmt_event(&r, 4, BULK, 1, NULL, PARAMS("B\2\x80\0\1\0\xfd\0\0\x05\0\xf0hi"));
    replay_run(&r);
    CHECK_SEEN(&r, 1, 0x17, ID "\0\1\0\0\0\0\1\1\0\xfd\0\5\2hi");
    CHECK_SEEN(&r, 2, 0x17, ID "\0\1\0\0\0\2\1\1\0\xfd\0\6");
    CHECK_SEEN(&r, 3, 0x17, ID "\0\1\0\0\0\1\1\1\0\xfd\0\3you");
    CHECK_INT(r.server.n, 5); /* including COM_QUIT */
    CHECK_INT(r.stats.counts.bulk_rows_expanded, 3);
    CHECK_TEXT(replay_find(&r, 1, 3)->reason, "params_mismatch");
    CHECK_TEXT(replay_find(&r, 1, 4)->reason, "params_mismatch");
    replay_free(&r);
}

/* Only the first execution of an expanded bulk execution uses the insert id. */
static void first_execution_of_a_bulk_uses_the_insert_id(void)
{
    struct replay r;
    struct planned e = {.session = 1, .due_ns = 1, .command = BULK, .stmt = 1, .insert_id = 7, .params_len = 0};
    static const char three[] = "B\2\x80\0\1\0\xfd\0\0\x05\0\2hi\0\x06\1\1\0\3you";
    static const char one[] = "B\2\x80\0\1\0\xfd\0\0\x05\0\2hi";
    replay_init(&r);
    replay_session(&r, 1, 0, 3, NULL);
    replay_stmt_event(&r, 1, PREPARE, 1, "INSERT ?, ?", NULL, 0);
    e.seq = 2, e.params = one, e.params_len = sizeof one - 1;
    replay_put(&r, &e);
    e.seq = 3, e.params = three, e.params_len = sizeof three - 1;
    replay_put(&r, &e);
    replay_run(&r);
    CHECK_INT(r.stats.counts.bulk_rows_expanded, 4);
    CHECK_INT(r.stats.counts.overrides_failed, 1);
    replay_free(&r);
}

/* Executions with mismatched parameters or unprepared statements are not sent but reported. The session continues. */
static void executions_that_cannot_be_sent_are_reported(void)
{
    struct replay r;
    replay_init(&r);
    replay_session(&r, 1, 0, 13, NULL);
    replay_stmt_event(&r, 1, PREPARE, 1, "ERROR", NULL, 0);
    replay_stmt_event(&r, 2, EXECUTE, 1, NULL, PARAMS("E\0\0\1\0\0\0"));
    replay_stmt_event(&r, 3, PREPARE, 2, "INSERT ?", NULL, 0);
    replay_stmt_event(&r, 4, EXECUTE, 2, NULL, PARAMS("E\2\0\1\0\0\0\3\1\3\0\xfd\0"));
    replay_stmt_event(&r, 5, EXECUTE, 2, NULL, PARAMS("N\2\0"));
    replay_stmt_event(&r, 6, EXECUTE, 2, NULL, PARAMS("E"));
    replay_stmt_event(&r, 7, LONG_DATA, 2, NULL, PARAMS("L\1\0x"));
    replay_stmt_event(&r, 8, FETCH, 2, NULL, PARAMS("F\3\0\0\0"));
    replay_stmt_event(&r, 9, RESET, 3, NULL, NULL, 0);
    replay_event(&r, 1, 10, 10, "SELECT 1");
    replay_stmt_event(&r, 11, EXECUTE, 2, "INSERT ?", NULL, 0);
    replay_stmt_event(&r, 12, LONG_DATA, 2, NULL, NULL, 0);
    replay_stmt_event(&r, 13, FETCH, 2, NULL, NULL, 0);
    replay_run(&r);
    for (int seq = 11; seq <= 13; seq++)
        CHECK_TEXT(replay_find(&r, 1, seq)->reason, "params_mismatch");
    CHECK_INT(replay_find(&r, 1, 1)->error, 1064);
    CHECK_TEXT(replay_find(&r, 1, 1)->text, "no such words");
    CHECK_TEXT(replay_find(&r, 1, 2)->reason, "not_prepared");
    for (int seq = 4; seq <= 7; seq++)
        CHECK_TEXT(replay_find(&r, 1, seq)->reason, "params_mismatch");
    CHECK_TEXT(replay_find(&r, 1, 8)->reason, "no_cursor");
    CHECK_TEXT(replay_find(&r, 1, 9)->reason, "nothing_to_close");
    CHECK_INT(replay_find(&r, 1, 10)->rows, 2);
    CHECK_INT(r.stats.counts.sessions_lost, 0);
    replay_free(&r);
}

/* RESET_CONNECTION discards the prepared statements. Their numbers may be used again. */
static void reset_connection_discards_prepared_statements(void)
{
    struct replay r;
    replay_init(&r);
    replay_session(&r, 1, 0, 5, NULL);
    replay_stmt_event(&r, 1, PREPARE, 1, "INSERT", NULL, 0);
    replay_full_event(&r, 1, 2, 2, 10, 0, NULL, NULL, 0);
    replay_stmt_event(&r, 3, EXECUTE, 1, NULL, PARAMS("E\0\0\1\0\0\0"));
    replay_stmt_event(&r, 4, PREPARE, 1, "INSERT", NULL, 0);
    replay_stmt_event(&r, 5, EXECUTE, 1, NULL, PARAMS("E\0\0\1\0\0\0"));
    replay_run(&r);
    CHECK_TEXT(replay_find(&r, 1, 3)->reason, "not_prepared");
    CHECK_TEXT(replay_find(&r, 1, 5)->status, "executed");
    CHECK_INT(fake_count(&r.server, 0x19, NULL), 0);
    replay_free(&r);
}

/* Each file is sent once and in order, for queries and for executions. An empty file is valid. A missing file is
 * reported. */
static void local_files_are_sent_in_order(void)
{
    struct replay r;
    replay_init(&r);
    replay_session(&r, 1, 0, 9, NULL);
    replay_stmt_event(&r, 1, QUERY, -1, "FILES 1", PARAMS("Ione"));
    replay_stmt_event(&r, 2, QUERY, -1, "FILES 1", PARAMS("I"));
    replay_stmt_event(&r, 3, QUERY, -1, "FILES 3", PARAMS("S\0\5first\0\5third"));
    replay_stmt_event(&r, 4, QUERY, -1, "FILES 1", NULL, 0);
    replay_stmt_event(&r, 5, QUERY, -1, "FILES 2", PARAMS("Ionly one"));
    replay_stmt_event(&r, 6, PREPARE, 5, "FILES 1", NULL, 0);
    replay_stmt_event(&r, 7, EXECUTE, 5, NULL, PARAMS("S\7E\0\0\1\0\0\0\4rows"));
    replay_stmt_event(&r, 8, EXECUTE, 5, NULL, PARAMS("S\0\4rows"));
    replay_stmt_event(&r, 9, QUERY, -1, "FILES 1",
                      PARAMS("S\x7f"
                             "cut"));
    replay_run(&r);
    for (int seq = 1; seq <= 3; seq++)
        CHECK_INT(replay_find(&r, 1, seq)->error, 0);
    CHECK_INT(replay_find(&r, 1, 3)->affected, 3);
    CHECK_TEXT(replay_find(&r, 1, 4)->text, "the tape does not contain the file that the statement loads");
    CHECK_INT(replay_find(&r, 1, 5)->error, 2);
    CHECK_INT(replay_find(&r, 1, 7)->error, 0);
    CHECK_TEXT(replay_find(&r, 1, 8)->reason, "params_mismatch");
    CHECK_TEXT(replay_find(&r, 1, 9)->reason, "params_mismatch");
    CHECK_SEEN(&r, 1, 0xfb, "one");
    CHECK_SEEN(&r, 2, 0xfb, "");
    CHECK_SEEN(&r, 4, 0xfb, "");
    CHECK_SEEN(&r, 6, 0xfb, "first");
    CHECK_SEEN(&r, 8, 0xfb, "");
    CHECK_SEEN(&r, 9, 0xfb, "third");
    CHECK_INT(fake_count(&r.server, 0xfb, "only one"), 1);
    CHECK_INT(fake_count(&r.server, 0xfb, "rows"), 1);
    CHECK_INT(r.stats.counts.sessions_lost, 0);
    replay_free(&r);
}

/* MySQL cannot prepare BEGIN, but MariaDB can. If the target cannot prepare a statement without parameters, the
 * statement is sent as a query. It is not sent as a query if it also failed on the tape. */
static void unpreparable_statement_is_sent_as_a_query(void)
{
    const int64_t FAILED = QT_PLAN_FAILED;
    struct replay r;
    replay_init(&r);
    replay_session(&r, 1, 0, 8, NULL);
    replay_stmt_event(&r, 1, PREPARE, 1, "BEGIN", NULL, 0);
    replay_stmt_event(&r, 2, EXECUTE, 1, NULL, PARAMS("E\0\0\1\0\0\0"));
    replay_stmt_event(&r, 3, EXECUTE, 1, NULL, PARAMS("E\1\0\1\0\0\0\0\1\3\0\x2a\0\0\0"));
    replay_stmt_event(&r, 4, RESET, 1, NULL, NULL, 0);
    replay_stmt_event(&r, 5, CLOSE, 1, NULL, NULL, 0);
    replay_stmt_event(&r, 6, EXECUTE, 1, NULL, PARAMS("E\0\0\1\0\0\0"));
    replay_put(&r, &(struct planned){.session = 1,
                                     .seq = 7,
                                     .due_ns = 7,
                                     .command = PREPARE,
                                     .flags = FAILED,
                                     .stmt = 2,
                                     .sql = "BEGIN",
                                     .len = 5});
    replay_stmt_event(&r, 8, CLOSE, 2, NULL, NULL, 0);
    replay_run(&r);
    CHECK_INT(replay_find(&r, 1, 1)->error, 0);
    CHECK_TEXT(replay_find(&r, 1, 2)->status, "executed");
    CHECK_INT(replay_find(&r, 1, 2)->affected, 1);
    CHECK_TEXT(replay_find(&r, 1, 3)->reason, "params_mismatch");
    CHECK_TEXT(replay_find(&r, 1, 6)->reason, "not_prepared");
    CHECK_INT(replay_find(&r, 1, 7)->error, 1295);
    CHECK_TEXT(replay_find(&r, 1, 8)->reason, "nothing_to_close");
    CHECK_INT(fake_count(&r.server, 3, "BEGIN"), 1);
    CHECK_INT(r.stats.counts.executed_as_query, 1);
    replay_free(&r);
}

int main(void)
{
    RUN(statement_ids_are_mapped_and_values_unchanged);
    RUN(query_attributes_are_dropped_and_counted);
    RUN(bulk_execution_becomes_single_executions);
    RUN(first_execution_of_a_bulk_uses_the_insert_id);
    RUN(executions_that_cannot_be_sent_are_reported);
    RUN(reset_connection_discards_prepared_statements);
    RUN(local_files_are_sent_in_order);
    RUN(unpreparable_statement_is_sent_as_a_query);
    return 0;
}
