/* SPDX-License-Identifier: Apache-2.0 */
/* What looks like a record's header is one if the bytes behind it authenticate with one of the sequence numbers that
 * are possible: the smallest records there are could have filled the gap. */
#include "tls/find_back.h"

#include "base/error.h"
#include "tls/session.h"

enum { MAX_TRIES = 1 << 16 };
#define MAX_TRIED (UINT64_C(1) << 30)

/* Does a record of data or an alert, as this connection has them, begin here? Its whole size, or 0. */
static size_t record_size(const struct qt_tls *t, const struct qt_tls_way *w, const uint8_t *p)
{
    int version = t->hellos.version == QT_TLS_13 ? QT_TLS_12 : t->hellos.version;
    size_t n = (size_t)p[3] << 8 | p[4];
    int type_fits = p[0] == QT_TLS_DATA || (p[0] >= QT_TLS_CCS && p[0] < QT_TLS_DATA && t->hellos.version < QT_TLS_13);
    if (!type_fits || (p[1] << 8 | p[2]) != version || n > QT_TLS_RECORD_MAX || n < qt_tls_record_min(&w->keys))
        return 0;
    return QT_TLS_HEADER + n;
}

/* 1 = the record authenticates, and its content was told. */
static int try_record(struct qt_tls *t, int way, const struct qt_tls_plain *record, int *code)
{
    struct qt_tls_way *w = &t->way[way];
    uint64_t tries = w->lost_bytes / (QT_TLS_HEADER + qt_tls_record_min(&w->keys)) + 2;
    for (uint64_t i = 0; i < tries && i < MAX_TRIES && t->tried < MAX_TRIED; i++) {
        size_t n;
        int type;
        if (qt_tls_record_decrypt(&w->keys, record->p, record->n, w->seq + i, t->plain, &n, &type) == 0) {
            w->seq += i + 1;
            w->lost = 0;
            w->lost_bytes = 0;
            w->messages.has_header = w->messages.left = 0;
            *code = qt_tls_session_content(t, way, type, n, record);
            return 1;
        }
        t->tried += record->n;
    }
    return 0;
}

size_t qt_tls_find_back(struct qt_tls *t, int way, const struct qt_tls_plain *bytes, int *code)
{
    struct qt_tls_way *w = &t->way[way];
    size_t at = 0;
    for (; at + QT_TLS_HEADER <= bytes->n; at++, w->lost_bytes++) {
        size_t n = record_size(t, w, bytes->p + at);
        struct qt_tls_plain record = {bytes->p + at, n, bytes->first_ns, bytes->last_ns, bytes->packet};
        if (n == 0)
            continue;
        if (bytes->n - at < n)
            break;
        if (try_record(t, way, &record, code))
            return at + n;
        if (t->tried >= MAX_TRIED) {
            t->end = QT_TLS_LOST;
            return bytes->n;
        }
    }
    return at;
}
