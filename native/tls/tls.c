/* SPDX-License-Identifier: Apache-2.0 */
/* The path of the bytes of one connection:
 *
 *   bytes of a direction -> complete records -> session.c -> the sink
 *                                |               ^
 *                                +--> waiting ---+     in their order, until there are keys */
#include "tls/tls.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tls/resync.h"
#include "tls/session.h"

#define MAX_WAITING ((size_t)1 << 20)

struct qt_tls *qt_tls_new(struct qt_tls_log *log, const struct qt_tls_sink *sink)
{
    struct qt_tls *t = calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->log = log;
    t->plain = qt_tls_log_scratch(log);
    t->sink = *sink;
    t->last = &t->first;
    return t;
}

/* ---- waiting ---- */

static void drop_first(struct qt_tls *t)
{
    struct qt_tls_waiting *w = t->first;
    t->first = w->next;
    if (t->first == NULL)
        t->last = &t->first;
    t->waiting -= w->n;
    t->way[w->way].waiting--;
    qt_tls_log_give_back(t->log, w->n);
    free(w);
}

/* Passes on the waiting records that can be read now. */
static int drain(struct qt_tls *t)
{
    int code = QT_OK;
    while (code == QT_OK && t->first != NULL && t->end == QT_TLS_GOES_ON &&
           qt_tls_session_can_take(t, t->first->way, t->first->p[0])) {
        struct qt_tls_waiting *w = t->first;
        struct qt_tls_plain record = {w->p, w->n, w->first_ns, w->last_ns, w->packet};
        code = qt_tls_session_take(t, w->way, &record);
        drop_first(t);
    }
    return code;
}

static int wait_for_keys(struct qt_tls *t, int way, const struct qt_tls_plain *record)
{
    if (t->waiting + record->n > MAX_WAITING || !qt_tls_log_may_wait(t->log, record->n)) {
        if (!qt_tls_session_ready(t, 1) && t->end == QT_TLS_GOES_ON)
            t->end = QT_TLS_NO_KEYS;
        int code = drain(t); /* the keys have just arrived, or nothing is passed on */
        return code == QT_OK && t->end == QT_TLS_GOES_ON ? qt_tls_session_take(t, way, record) : code;
    }
    struct qt_tls_waiting *w = malloc(sizeof *w + record->n);
    if (w == NULL) {
        qt_tls_log_give_back(t->log, record->n);
        return QT_ENOMEM;
    }
    *w = (struct qt_tls_waiting){NULL, way, record->first_ns, record->last_ns, record->packet, record->n};
    memcpy(w->p, record->p, record->n);
    *t->last = w;
    t->last = &w->next;
    t->waiting += record->n;
    t->way[way].waiting++;
    return QT_OK;
}

/* ---- bytes ---- */

static int take_record(struct qt_tls *t, int way, const struct qt_tls_plain *record)
{
    int type = record->p[0];
    int is_hello = type == QT_TLS_HANDSHAKE && !t->way[way].ciphered && t->way[way].waiting == 0;
    if (t->first != NULL && !is_hello) {
        int code = drain(t);
        if (code != QT_OK || t->end != QT_TLS_GOES_ON)
            return code;
    }
    if ((t->first == NULL || is_hello) && qt_tls_session_can_take(t, way, type))
        return qt_tls_session_take(t, way, record);
    return t->end == QT_TLS_GOES_ON ? wait_for_keys(t, way, record) : QT_OK;
}

/* Returns the total size of the record that begins at p, or 0 if no record begins there. */
static size_t record_size(const uint8_t *p)
{
    size_t n = (size_t)p[3] << 8 | p[4];
    return p[0] < QT_TLS_CCS || p[0] > QT_TLS_DATA || p[1] != 3 || n > QT_TLS_RECORD_MAX ? 0 : QT_TLS_HEADER + n;
}

/* Handles bytes that are not a record: they follow missing bytes, or the connection does not use TLS. */
static int lose(struct qt_tls *t, int way, const struct qt_tls_plain *bytes)
{
    struct qt_tls_way *w = &t->way[way];
    if (!w->proven) {
        t->end = QT_TLS_LOST;
        return QT_OK;
    }
    w->lost = 1;
    return t->sink.gap(t->sink.self, way, bytes->n, bytes->last_ns, bytes->packet);
}

/* Takes the complete records in these bytes. Returns the number of bytes taken. */
static size_t take_records(struct qt_tls *t, int way, struct qt_tls_plain bytes, int *code)
{
    struct qt_tls_way *w = &t->way[way];
    const uint8_t *begin = bytes.p;
    int64_t last_ns = bytes.last_ns;
    while (*code == QT_OK && t->end == QT_TLS_GOES_ON && !w->ended && bytes.n >= QT_TLS_HEADER) {
        size_t n = 0;
        if (w->lost) {
            n = qt_tls_find_back(t, way, &bytes, code);
            if (n == 0)
                break;
        } else if ((n = record_size(bytes.p)) == 0) {
            *code = lose(t, way, &bytes);
            continue;
        } else if (n > bytes.n) {
            break;
        } else {
            struct qt_tls_plain record = bytes;
            record.n = n;
            *code = take_record(t, way, &record);
        }
        bytes.p += n;
        bytes.n -= n;
        bytes.first_ns = last_ns; /* later records begin in the current packet */
    }
    return (size_t)(bytes.p - begin);
}

int qt_tls_take(struct qt_tls *t, int way, const void *p, size_t n, int64_t when_ns, int64_t packet)
{
    struct qt_tls_way *w = &t->way[way];
    int code = QT_OK;
    if (t->end != QT_TLS_GOES_ON || w->ended)
        return QT_OK;
    if (w->part.len == 0) {
        size_t used = take_records(t, way, (struct qt_tls_plain){p, n, when_ns, when_ns, packet}, &code);
        w->first_ns = when_ns;
        w->packet = packet;
        return qt_bytes_add(&w->part, (const char *)p + used, n - used) != 0 ? QT_ENOMEM : code;
    }
    if (qt_bytes_add(&w->part, p, n) != 0)
        return QT_ENOMEM;
    struct qt_tls_plain bytes = {(uint8_t *)w->part.p, w->part.len, w->first_ns, when_ns, w->packet};
    size_t used = take_records(t, way, bytes, &code);
    if (used > 0) {
        memmove(w->part.p, w->part.p + used, w->part.len - used);
        w->part.len -= used;
        w->first_ns = when_ns;
        w->packet = packet;
    }
    return code;
}

int qt_tls_skip(struct qt_tls *t, int way, uint64_t lost, int64_t when_ns, int64_t packet)
{
    struct qt_tls_way *w = &t->way[way];
    if (t->end != QT_TLS_GOES_ON || w->ended)
        return QT_OK;
    int code = t->first != NULL ? drain(t) : QT_OK;
    if (code == QT_OK)
        code = t->sink.gap(t->sink.self, way, lost, when_ns, packet);
    if (code != QT_OK || t->end != QT_TLS_GOES_ON)
        return code;
    if (t->first != NULL || !qt_tls_session_ready(t, 1) || w->keys.version == QT_TLS_10) {
        t->end = t->end == QT_TLS_GOES_ON ? QT_TLS_LOST : t->end;
        return QT_OK;
    }
    w->lost = 1;
    w->lost_bytes += lost + w->part.len;
    w->part.len = 0;
    return QT_OK;
}

int qt_tls_waits(const struct qt_tls *t) { return t->end == QT_TLS_GOES_ON && !t->ready && t->first != NULL; }

int qt_tls_look(struct qt_tls *t) { return qt_tls_waits(t) && qt_tls_session_ready(t, 0) ? drain(t) : QT_OK; }

int qt_tls_finish(struct qt_tls *t)
{
    int code = QT_OK;
    if (t->end == QT_TLS_GOES_ON && qt_tls_session_ready(t, 1))
        code = drain(t);
    if (t->end == QT_TLS_GOES_ON && !t->ready)
        t->end = QT_TLS_NO_KEYS;
    else if (t->end == QT_TLS_GOES_ON && !t->way[0].proven && !t->way[1].proven)
        t->end = t->way[0].handshake > 1 ? QT_TLS_WRONG_KEYS : QT_TLS_REFUSED;
    else if (t->end == QT_TLS_GOES_ON && (t->way[0].lost || t->way[1].lost))
        t->end = QT_TLS_LOST;
    return code;
}

enum qt_tls_end qt_tls_end_of(const struct qt_tls *t) { return t->end; }

void qt_tls_describe(const struct qt_tls *t, char *out, size_t size)
{
    const struct qt_tls_hellos *h = &t->hellos;
    out[0] = '\0';
    if (h->has_server)
        snprintf(out, size, "TLS 1.%d, cipher suite 0x%04X", (h->version & 0xFF) - 1, (unsigned)h->suite);
}

void qt_tls_free(struct qt_tls *t)
{
    if (t == NULL)
        return;
    while (t->first != NULL)
        drop_first(t);
    for (int i = 0; i < 2; i++) {
        qt_bytes_free(&t->way[i].part);
        qt_bytes_free(&t->way[i].messages.hello);
        qt_tls_record_keys_free(&t->way[i].keys);
    }
    OPENSSL_cleanse(t, sizeof *t);
    free(t);
}
