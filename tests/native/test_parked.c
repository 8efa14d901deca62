/* SPDX-License-Identifier: Apache-2.0 */
/* Ended connections that still wait for TLS secrets: comparison with a simple list, the limits, and errors of the
 * sink. */
#include "packets/tcp.h"

#include "base/error.h"
#include "check.h"
#include "conversations.h"
#include "protocol/decoder.h"
#include "protocol/parameter_types.h"
#include "test_normalize_util.h"

enum { MOST = 1 << 14, MANY = 600 };
#define MINUTE (60 * INT64_C(1000000000))

static struct talk talks[MOST_TALKS];
static char key_lines[8192];

/* An ended connection and its expected state. */
struct one {
    struct run run;
    struct qt_tcp_connection connection;
    struct qt_decoder *decoder;
    int waits;
    int64_t since_ns;
};

static struct qt_tls_log *log_without_secrets(void)
{
    struct qt_tls_log *log = qt_tls_log_new();
    CHECK(log != NULL);
    qt_tls_log_set_grows(log);
    return log;
}

/* `waits`: the connection carries a complete TLS conversation. Otherwise it does not wait for secrets. */
static void make(struct one *o, struct qt_tls_log *log, int waits, long stops_at)
{
    *o = (struct one){.waits = waits};
    run_begin(&o->run, log, 0, 0, stops_at);
    for (size_t i = 0; i < talks[0].n && waits; i++)
        run_say(&o->run, talks[0].segment[i].way, talks[0].segment[i].p, talks[0].segment[i].n, i);
    o->decoder = o->connection.decoder = o->run.decoder;
    CHECK_INT(qt_decoder_awaits_secrets(o->decoder), waits);
}

static void park(struct qt_tcp *t, struct one *o)
{
    CHECK_INT(qt_tcp_park(t, &o->connection), QT_OK);
    CHECK(o->connection.decoder == NULL);
}

static void check_list(const struct qt_tcp *t, struct one *const *expected, size_t n)
{
    const struct qt_tcp_parked *p = t->parked;
    CHECK_INT(t->n_parked, n);
    for (size_t i = 0; i < n; i++, p = p->next) {
        CHECK(p != NULL);
        CHECK(p->decoder == expected[i]->decoder);
        CHECK_INT(p->since_ns, expected[i]->since_ns);
    }
    CHECK(p == NULL);
}

static size_t drop(struct one **list, size_t n, size_t at)
{
    memmove(list + at, list + at + 1, (n - at - 1) * sizeof *list);
    return n - 1;
}

/* Connections are added, checked and removed. They are removed after a minute, or at once if they do not wait for
 * secrets. */
static void parked_connections_match_a_simple_list(void)
{
    static struct one all[MANY];
    static struct one *list[MANY];
    struct qt_tls_log *log = log_without_secrets();
    struct qt_tcp t = {.n = 0};
    uint64_t state = 5;
    int64_t now = MINUTE;
    size_t n = 0, most = 0;
    for (size_t made = 0; made < MANY;) {
        if (random_below(&state, 3) > 0) {
            struct one *o = &all[made++];
            make(o, log, (int)random_below(&state, 4) > 0, 0);
            park(&t, o);
            list[n++] = o;
        } else if (random_below(&state, 30) == 0) {
            CHECK_INT(qt_tcp_parked_end(&t), QT_OK);
            n = 0;
        } else {
            /* exactly one minute later, just after that, or at a random time */
            now = n > 0 && list[0]->since_ns > 0 && random_below(&state, 2)
                      ? list[0]->since_ns + MINUTE + (int64_t)random_below(&state, 2)
                      : now + (int64_t)random_below(&state, 30) * (MINUTE / 60);
            CHECK_INT(qt_tcp_parked_check_secrets(&t, now), QT_OK);
            for (size_t i = 0; i < n;) {
                list[i]->since_ns = list[i]->since_ns != 0 ? list[i]->since_ns : now;
                if (!list[i]->waits || now - list[i]->since_ns > MINUTE)
                    n = drop(list, n, i);
                else
                    i++;
            }
        }
        most = n > most ? n : most;
        check_list(&t, list, n);
    }
    CHECK(most > 20);
    qt_tcp_parked_free(&t);
    for (size_t i = 0; i < MANY; i++)
        qt_parameter_types_free(all[i].run.types);
    qt_tls_log_free(log);
}

/* When the secrets arrive, all waiting data is decoded as if the secrets had been known from the beginning. */
static void waiting_data_is_decoded_when_secrets_arrive(void)
{
    struct qt_tls_log *log = log_without_secrets(), *whole = log_without_secrets();
    struct qt_tls_lines lines = {.n = 0};
    struct qt_tcp t = {.n = 0};
    struct run r;
    struct one o;
    CHECK_INT(qt_tls_log_take(whole, &lines, key_lines, strlen(key_lines)), 0);
    run_begin(&r, whole, 0, 0, 0);
    run_end(&r);
    run_whole(&r, &talks[0], 0, whole, 0);
    make(&o, log, 1, 0);
    park(&t, &o);
    long before = o.run.listener.calls;
    CHECK_INT(qt_tcp_parked_check_secrets(&t, 1), QT_OK);
    CHECK_INT(o.run.listener.calls, before);
    CHECK_INT(qt_tls_log_take(log, &lines, key_lines, strlen(key_lines)), 0);
    CHECK_INT(qt_tcp_parked_check_secrets(&t, 2), QT_OK);
    CHECK(t.parked == NULL && t.n_parked == 0);
    CHECK_INT(o.run.listener.calls, r.listener.calls);
    qt_parameter_types_free(o.run.types);
    qt_tls_lines_end(&lines);
    qt_tls_log_free(log);
    qt_tls_log_free(whole);
}

/* If one connection more than the limit is added, the oldest connection ends. */
static void number_of_parked_connections_is_limited(void)
{
    static struct one all[MOST + 2];
    struct qt_tls_log *log = log_without_secrets();
    struct qt_tcp t = {.n = 0};
    for (size_t i = 0; i < MOST + 2; i++) {
        make(&all[i], log, 0, 0);
        park(&t, &all[i]);
        CHECK_INT(t.n_parked, i < MOST ? i + 1 : MOST);
        CHECK(t.parked->decoder == all[i < MOST ? 0 : i - MOST + 1].decoder);
    }
    CHECK_INT(qt_tcp_parked_end(&t), QT_OK);
    CHECK(t.parked == NULL);
    for (size_t i = 0; i < MOST + 2; i++)
        qt_parameter_types_free(all[i].run.types);
    qt_tls_log_free(log);
}

/* An error of the sink is returned at once. The other connections stay, and all memory is freed. */
static void error_of_the_sink_is_returned(void)
{
    for (int end = 0; end <= 1; end++) {
        struct qt_tls_log *log = log_without_secrets();
        struct qt_tcp t = {.n = 0};
        struct one all[3];
        for (int i = 0; i < 3; i++) {
            make(&all[i], log, 1, 0);
            if (i == 1)
                all[i].run.listener.stops_at = all[i].run.listener.calls + 1;
            park(&t, &all[i]);
        }
        int code = end ? qt_tcp_parked_end(&t) : QT_OK;
        if (!end) {
            CHECK_INT(qt_tcp_parked_check_secrets(&t, 1), QT_OK);
            code = qt_tcp_parked_check_secrets(&t, MINUTE + 2);
        }
        CHECK_INT(code, STOPPED);
        CHECK_INT(t.n_parked, 1);
        CHECK(t.parked->decoder == all[2].decoder);
        qt_tcp_parked_free(&t);
        CHECK(t.parked == NULL);
        for (int i = 0; i < 3; i++)
            qt_parameter_types_free(all[i].run.types);
        qt_tls_log_free(log);
    }
}

int main(void)
{
    FILE *in = fopen("inputs/tls.keys", "r");
    CHECK(in != NULL && fread(key_lines, 1, sizeof key_lines - 1, in) > 100 && fclose(in) == 0);
    CHECK(read_talks("inputs/tls.pcap", talks) > 0);
    RUN(parked_connections_match_a_simple_list);
    RUN(waiting_data_is_decoded_when_secrets_arrive);
    RUN(number_of_parked_connections_is_limited);
    RUN(error_of_the_sink_is_returned);
    return 0;
}
