/* SPDX-License-Identifier: Apache-2.0 */
/* The null server's parser accepts bytes in any pieces. The engine can run against the null server. */
#include "null_server/null_protocol.h"

#include "base/clock.h"
#include "check.h"
#include "replay_run.h"

/* Bytes of a login, a query, long data (no reply), the preparation of a statement with two parameters, and COM_QUIT. */
static const uint8_t TALK[] = {
    3, 0, 0, 1, 'a',  'b', 'c',      /* login with arbitrary content */
    2, 0, 0, 0, 3,    'x',           /* COM_QUERY */
    3, 0, 0, 0, 0x18, 1,   2,        /* COM_STMT_SEND_LONG_DATA */
    4, 0, 0, 0, 0x16, '?', ',', '?', /* COM_STMT_PREPARE */
    1, 0, 0, 0, 1,                   /* COM_QUIT */
};

static int talk(size_t piece)
{
    struct qt_null_peer p = {.state = 0};
    uint8_t out[QT_NULL_ROOM];
    int answers = 0, definitions = 0;

    for (size_t at = 0; at < sizeof TALK;) {
        size_t n = sizeof TALK - at < piece ? sizeof TALK - at : piece, used;
        size_t len = qt_null_take(&p, TALK + at, n, &used, out);
        at += used;
        answers += len > 0;
        if (len > 12)
            CHECK_INT(out[4 + 7], 2);
        while (p.pending > 0)
            definitions += qt_null_make_definitions(&p, out) > 0;
        if (p.state == 2)
            break;
    }
    CHECK_INT(p.state, 2);
    CHECK_INT(definitions, 1);
    return answers;
}

static void piece_size_does_not_change_the_commands(void)
{
    for (size_t piece = 1; piece <= sizeof TALK; piece++)
        CHECK_INT(talk(piece), 3);
}

/* A packet of 16 MiB - 1 continues in the next packet. Together they are one command. */
static void packets_of_16_mib_continue_in_the_next_packet(void)
{
    struct qt_null_peer p = {.state = 1};
    uint8_t out[QT_NULL_ROOM], *big = calloc(1, 0xFFFFFF + 4), tail[] = {1, 0, 0, 1, '?'};
    size_t used;

    CHECK(big != NULL);
    big[0] = big[1] = big[2] = 0xFF;
    big[4] = 3;
    CHECK_INT(qt_null_take(&p, big, 0xFFFFFF + 4, &used, out), 0);
    CHECK_INT(qt_null_take(&p, tail, sizeof tail, &used, out), 11);
    CHECK_INT(p.command, 3);
    free(big);
}

static void run_against_it(int64_t delay_ns, const char *socket_path)
{
    struct qt_error err = {0, ""};
    struct qt_null_server *s = qt_null_start(socket_path, 2, delay_ns, &err);
    struct replay r;

    CHECK_TEXT(err.message, "");
    replay_init(&r);
    r.options.port = qt_null_port(s);
    r.options.pace = QT_PACE_NONE;
    if (socket_path != NULL) {
        r.options.host = NULL;
        r.options.socket = socket_path;
    }
    for (int i = 1; i <= 20; i++) {
        replay_session(&r, i, 0, 7, NULL);
        for (int k = 1; k <= 5; k++)
            replay_event(&r, i, k, 0, "SELECT 1");
        replay_put(&r, &(struct planned){.session = i, .seq = 6, .command = 2, .stmt = 1, .sql = "DO ?", .len = 4});
        replay_put(&r, &(struct planned){.session = i,
                                         .seq = 7,
                                         .command = 3,
                                         .stmt = 1,
                                         .params = "E\1\0\1\0\0\0\0\1\1\0\7",
                                         .params_len = 12});
    }
    replay_run(&r);
    CHECK_INT(r.stats.counts.executed, 140);
    CHECK_INT(r.stats.counts.errors, 0);
    for (size_t i = 0; i < r.n; i++)
        if (r.outcome[i].seq < 6)
            CHECK(r.outcome[i].done_ns - r.outcome[i].sent_ns >= delay_ns);
    CHECK(qt_null_answers(s) >= 140);
    qt_null_stop(s);
    replay_free(&r);
}

static void engine_can_replay_against_the_null_server(void)
{
    char path[64];
    run_against_it(0, NULL);
    run_against_it(20 * MS, NULL);
    snprintf(path, sizeof path, "/tmp/qt-null-%d", (int)getpid());
    run_against_it(0, path);
    unlink(path);
}

static void invalid_addresses_are_refused(void)
{
    char path[200];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = 0;
    CHECK(qt_null_start(NULL, 0, 0, NULL) == NULL);
    CHECK(qt_null_start(path, 1, 0, NULL) == NULL);
    CHECK(qt_null_start("/nowhere/at/all", 1, 0, NULL) == NULL);
    qt_null_stop(NULL);
}

int main(void)
{
    RUN(piece_size_does_not_change_the_commands);
    RUN(packets_of_16_mib_continue_in_the_next_packet);
    RUN(engine_can_replay_against_the_null_server);
    RUN(invalid_addresses_are_refused);
    return 0;
}
