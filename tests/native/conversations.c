/* SPDX-License-Identifier: Apache-2.0 */
#include "conversations.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "check.h"
#include "protocol/parameter_types.h"
#include "sources.h"
#include "test_normalize_util.h"

size_t read_talks(const char *path, struct talk *talks)
{
    static char file[1 << 18];
    size_t n = read_plain(path, file, sizeof file), at = 24, found = 0;
    while (at + 16 <= n) {
        const uint8_t *frame = (const uint8_t *)file + at + 16;
        size_t size = qt_get_le24((const uint8_t *)file + at + 8), payload = 14 + 20 + (size_t)(frame[46] >> 4) * 4;
        unsigned from = (unsigned)frame[34] << 8 | frame[35], to = (unsigned)frame[36] << 8 | frame[37];
        size_t which = (to == 3306 ? from : to) - FIRST_PORT;
        CHECK(which < MOST_TALKS);
        found = which >= found ? which + 1 : found;
        struct talk *talk = &talks[which];
        if (size > payload) {
            struct segment *s = &talk->segment[talk->n++];
            CHECK(talk->n < MOST_SEGMENTS && size - payload <= SEGMENT_ROOM);
            s->way = to == 3306 ? QT_WAY_CLIENT : QT_WAY_SERVER;
            s->n = size - payload;
            memcpy(s->p, frame + payload, s->n);
        }
        at += 16 + size;
    }
    return found;
}

static int answer(struct listener *l) { return ++l->calls == l->stops_at ? STOPPED : QT_OK; }

static void hear(struct listener *l, const void *p, size_t n) { l->hash = hash_more(l->hash, p, n); }

static void hear_span(struct listener *l, struct qt_span s)
{
    size_t n = s.p != NULL ? s.len : SIZE_MAX;
    hear(l, &n, sizeof n);
    if (s.p != NULL && s.len > 0)
        hear(l, s.p, s.len);
}

static int on_event(void *self, void *connection, const struct qt_decoded_event *e)
{
    struct listener *l = self;
    const int64_t numbers[] = {e->request_first_ns, e->request_last_ns, e->reply_first_ns, e->reply_last_ns, e->stmt,
                               e->rows_sent,        e->rows_affected,   e->bytes_sent,     e->warnings,      e->errno_,
                               e->last_insert_id,   e->flags,           e->no_backslash,   e->packet};
    (void)connection;
    CHECK(e->packet >= 0 && e->packet < MOST_SEGMENTS);
    CHECK(e->request_first_ns >= 0 && e->request_first_ns <= e->request_last_ns);
    CHECK(e->reply_last_ns < 0 || (e->reply_first_ns >= 0 && e->reply_first_ns <= e->reply_last_ns));
    hear(l, numbers, sizeof numbers);
    hear(l, e->command, strlen(e->command));
    hear(l, e->checksum, strlen(e->checksum));
    struct qt_span texts[] = {e->user, e->host, e->db, e->statement, e->params, e->result_ids, e->error};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hear_span(l, texts[i]);
    return answer(l);
}

static int on_session(void *self, void *connection, const struct qt_decoded_session *s)
{
    struct listener *l = self;
    const int64_t numbers[] = {s->thread_id, s->port,      s->client_flags,  s->collation, s->connect_seen,
                               s->quit_seen, s->encrypted, s->open_at_start, s->decrypted, s->tls_end};
    (void)connection;
    hear(l, numbers, sizeof numbers);
    struct qt_span texts[] = {s->user, s->host, s->db, s->charset, s->attributes, s->server_version};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hear_span(l, texts[i]);
    return answer(l);
}

static void on_problem(void *self, void *connection, int64_t packet, const char *kind, const char *expected,
                       const char *found, size_t len)
{
    struct listener *l = self;
    (void)connection;
    CHECK(packet >= 0 && packet < MOST_SEGMENTS);
    hear(l, &packet, sizeof packet);
    hear(l, kind, strlen(kind));
    hear(l, expected, strlen(expected));
    hear_span(l, (struct qt_span){found, len});
}

static int on_midway(void *self, void *connection, struct qt_decoder *d, struct qt_span host, int32_t port)
{
    struct listener *l = self;
    const struct qt_span user = {"app", 3}, db = {"shop", 4}, text = {"SELECT ?", 8}, none = {NULL, 0};
    (void)connection;
    hear_span(l, host);
    hear(l, &port, sizeof port);
    if (!l->knows)
        return 0;
    CHECK_INT(qt_decoder_set_account(d, 5, l->knows == 1 ? none : user, l->knows == 2 ? none : db), QT_OK);
    for (uint32_t id = 1; id < 4; id++)
        CHECK_INT(qt_decoder_add_statement(d, id, text, (uint16_t)id), QT_OK);
    return 1;
}

void run_begin(struct run *r, struct qt_tls_log *keys, int midway, int knows, long stops_at)
{
    *r = (struct run){.listener = {.hash = HASH_BEGIN, .stops_at = stops_at, .knows = knows}, .keys = keys};
    struct qt_decoder_sink sink = {&r->listener, on_midway, on_event, on_session, on_problem};
    r->types = qt_parameter_types_new();
    struct qt_decoder_options options = {.joined_midway = midway,
                                         .largest_kept = 3000,
                                         .keys = keys,
                                         .types = r->types,
                                         .client_host = {"10.0.0.5", 8},
                                         .client_port = FIRST_PORT};
    r->decoder = qt_decoder_new(&options, &sink);
    CHECK(r->types != NULL && r->decoder != NULL);
}

void run_say(struct run *r, enum qt_way way, const char *p, size_t n, size_t number)
{
    if (r->code == QT_OK && n > 0)
        r->code = qt_decoder_take(r->decoder, way, p, n, (int64_t)number * 1000, (int64_t)number);
}

void run_skip(struct run *r, enum qt_way way, size_t lost, size_t number)
{
    if (r->code == QT_OK)
        r->code = qt_decoder_skip(r->decoder, way, lost, (int64_t)number * 1000, (int64_t)number);
}

uint64_t run_end(struct run *r)
{
    if (r->code == QT_OK)
        r->code = qt_decoder_end(r->decoder);
    uint64_t used = qt_parameter_types_count(r->types);
    hear(&r->listener, &used, sizeof used);
    qt_decoder_free(r->decoder);
    qt_parameter_types_free(r->types);
    return r->listener.hash + (uint64_t)r->code;
}

uint64_t run_whole(struct run *r, const struct talk *talk, size_t from, struct qt_tls_log *keys, long stops_at)
{
    run_begin(r, keys, from > 0, from > 0 ? 3 : 0, stops_at);
    for (size_t i = from; i < talk->n; i++)
        run_say(r, talk->segment[i].way, talk->segment[i].p, talk->segment[i].n, i);
    return run_end(r);
}

uint64_t run_in_pieces(struct run *r, const struct talk *talk, size_t most, struct qt_tls_log *keys, uint64_t *state)
{
    run_begin(r, keys, 0, 0, 0);
    for (size_t i = 0; i < talk->n; i++)
        for (size_t at = 0, n; at < talk->segment[i].n; at += n) {
            n = 1 + random_below(state, most);
            n = n < talk->segment[i].n - at ? n : talk->segment[i].n - at;
            run_say(r, talk->segment[i].way, talk->segment[i].p + at, n, i);
        }
    return run_end(r);
}

void check_answers(const struct talk *talk, size_t from, struct qt_tls_log *keys)
{
    struct run r;
    run_whole(&r, talk, from, keys, 0);
    long calls = r.listener.calls;
    CHECK(calls > 0);
    for (long number = 1; number <= calls; number++) {
        run_whole(&r, talk, from, keys, number);
        CHECK_INT(r.code, STOPPED);
        CHECK_INT(r.listener.calls, number);
    }
}

uint64_t run_with_gaps(struct run *r, const struct talk *talk, struct qt_tls_log *keys, uint64_t *state)
{
    size_t gap = random_below(state, talk->n), gaps = 1 + random_below(state, 2);
    run_begin(r, keys, 0, 0, 0);
    for (size_t i = 0; i < talk->n; i++) {
        const struct segment *s = &talk->segment[i];
        if (i < gap || gaps == 0) {
            run_say(r, s->way, s->p, s->n, i);
            continue;
        }
        size_t from = random_below(state, s->n + 1), lost = random_below(state, s->n - from + 1);
        run_say(r, s->way, s->p, from, i);
        run_skip(r, s->way, lost, i);
        run_say(r, s->way, s->p + from + lost, s->n - from - lost, i);
        gap = i + 1 + random_below(state, 6);
        gaps--;
    }
    return run_end(r);
}

void check_ways(const way_to_alter *ways, size_t n_ways, int runs)
{
    for (size_t way = 0; way < n_ways; way++) {
        uint64_t state = UINT64_C(88172645463325252) + way * 1000;
        for (int i = 0; i < runs; i++)
            ways[way](&state); /* the callbacks on_event and on_problem check the output */
    }
}
