/* SPDX-License-Identifier: Apache-2.0 */
/* An answer has the same outcome regardless of the pieces in which its bytes arrive. */
#include "check.h"
#include "replay_run.h"

static const char *const STATEMENTS[] = {
    "SELECT 1", "CALL",      "WARN",    "ERROR",  "BROKEN", "CHANGED",   "BEGIN",     "ROWS 0",   "ROWS 300",
    "ROWS 990", "ROWS 1100", "FILES 1", "ROWS 1", "COMMIT", "SLEEP 700", "ROWS 2500", "anything", "HANG",
};
enum { STATEMENTS_N = sizeof STATEMENTS / sizeof *STATEMENTS };

static void send_all(struct replay *r, int whole)
{
    replay_init(r);
    r->server.whole = whole;
    r->options.verify = 1;
    r->options.drain_ns = 2500 * MS;
    replay_session(r, 1, -5, STATEMENTS_N, NULL);
    for (int i = 0; i < STATEMENTS_N; i++)
        replay_event(r, 1, i + 1, 1, STATEMENTS[i]);
    replay_run(r);
}

static void reply_in_many_pieces_gives_the_same_outcome(void)
{
    struct replay whole, pieces;

    send_all(&whole, 1);
    send_all(&pieces, 0);
    for (int i = 0; i < STATEMENTS_N; i++) {
        struct outcome *a = replay_find(&whole, 1, i + 1), *b = replay_find(&pieces, 1, i + 1);
        CHECK_TEXT(a->status, b->status);
        CHECK_INT(a->rows, b->rows);
        CHECK_INT(a->affected, b->affected);
        CHECK_INT(a->bytes, b->bytes);
        CHECK_INT(a->warnings, b->warnings);
        CHECK_INT(a->error, b->error);
        CHECK_TEXT(a->text, b->text);
        CHECK_TEXT(a->checksum, b->checksum);
        CHECK_INT(a->done_ns == NO_VALUE, b->done_ns == NO_VALUE);
        CHECK(a->done_ns == NO_VALUE || (a->sent_ns <= a->first_ns && a->first_ns <= a->done_ns));
    }
    CHECK_INT(replay_find(&whole, 1, 1)->rows, 2);
    CHECK_INT(replay_find(&whole, 1, 2)->rows, 4);
    CHECK_INT(replay_find(&whole, 1, 3)->affected, 3);
    CHECK_INT(replay_find(&whole, 1, 3)->warnings, 2);
    CHECK_INT(replay_find(&whole, 1, 5)->error, 1317);
    CHECK_INT(replay_find(&whole, 1, 16)->rows, 2500);
    replay_free(&whole);
    replay_free(&pieces);
}

/* All code paths know the server status of the last answer, regardless of the parser that read it. The test uses a lost
 * transaction. */
static void lost_transaction_is_detected(void)
{
    struct replay r;

    replay_init(&r);
    r.server.whole = 1;
    r.options.on_lost = QT_LOST_REOPEN;
    replay_session(&r, 1, -5, 3, NULL);
    replay_event(&r, 1, 1, 1, "BEGIN");
    replay_event(&r, 1, 2, 2, "DROP");
    replay_event(&r, 1, 3, 3, "ROWS 1");
    replay_run(&r);
    CHECK_INT(replay_count(&r, "not_sent", "transaction_lost"), 1);
    replay_free(&r);
}

int main(void)
{
    RUN(reply_in_many_pieces_gives_the_same_outcome);
    RUN(lost_transaction_is_detected);
    return 0;
}
