/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that look like a record header are accepted if the record authenticates with a possible sequence number. The
 * number of missing records is limited, because each record has a minimum size. In TLS 1.3 the missing bytes may
 * contain a key update. The next keys are therefore also tried, with sequence numbers from 0. */
#include "tls/resync.h"

#include <openssl/crypto.h>

#include "base/error.h"
#include "tls/session.h"

enum { MAX_TRIES = 1 << 16, MAX_UPDATES = 2 };
#define MAX_TRIED (UINT64_C(3) << 30)

/* Returns the size of the data or alert record that may begin at p on this connection, or 0. */
static size_t record_size(const struct qt_tls *t, const struct qt_tls_way *w, const uint8_t *p)
{
    int version = t->hellos.version == QT_TLS_13 ? QT_TLS_12 : t->hellos.version;
    size_t n = (size_t)p[3] << 8 | p[4];
    int type_fits = p[0] == QT_TLS_DATA || (p[0] >= QT_TLS_CCS && p[0] < QT_TLS_DATA && t->hellos.version < QT_TLS_13);
    if (!type_fits || (p[1] << 8 | p[2]) != version || n > QT_TLS_RECORD_MAX || n < qt_tls_record_min(&w->keys))
        return 0;
    return QT_TLS_HEADER + n;
}

struct content {
    size_t n;
    int type;
};

/* Tries `tries` sequence numbers from `from` on. Returns the number that authenticates the record, or UINT64_MAX. */
static uint64_t find_number(struct qt_tls *t, struct qt_tls_record_keys *keys, const struct qt_tls_plain *record,
                            uint64_t from, uint64_t tries, struct content *out)
{
    for (uint64_t i = 0; i < tries && t->tried < MAX_TRIED; i++) {
        if (qt_tls_record_decrypt(keys, record->p, record->n, from + i, t->plain, &out->n, &out->type) == 0)
            return from + i;
        t->tried += record->n;
    }
    return UINT64_MAX;
}

/* Like find_number, but with the keys after one or two key updates. On success the direction uses these keys. */
static uint64_t find_behind_update(struct qt_tls *t, struct qt_tls_way *w, const struct qt_tls_plain *record,
                                   uint64_t tries, struct content *out)
{
    const struct qt_tls_suite *suite = w->keys.suite;
    struct qt_tls_secret secret = w->secret;
    struct qt_tls_record_keys later = {0};
    struct qt_tls_material m;
    uint64_t number = UINT64_MAX;
    for (int i = 0; i < MAX_UPDATES && number == UINT64_MAX; i++) {
        if (qt_tls_next_secret(suite, &secret) || qt_tls_traffic_keys(suite, &secret, &m) ||
            qt_tls_record_keys_set(&later, suite, QT_TLS_13, 0, &m))
            break;
        number = find_number(t, &later, record, 0, tries, out);
    }
    if (number != UINT64_MAX) {
        struct qt_tls_record_keys old = w->keys;
        w->secret = secret;
        w->keys = later;
        later = old;
    }
    qt_tls_record_keys_free(&later);
    OPENSSL_cleanse(&secret, sizeof secret);
    OPENSSL_cleanse(&m, sizeof m);
    return number;
}

/* Returns 1 if the record authenticates. Its content then goes to the sink. */
static int try_record(struct qt_tls *t, int way, const struct qt_tls_plain *record, int *code)
{
    struct qt_tls_way *w = &t->way[way];
    struct content content = {0, 0};
    uint64_t tries = w->lost_bytes / (QT_TLS_HEADER + qt_tls_record_min(&w->keys)) + 2;
    tries = tries < MAX_TRIES ? tries : MAX_TRIES;
    uint64_t number = find_number(t, &w->keys, record, w->seq, tries, &content);
    if (number == UINT64_MAX && t->hellos.version == QT_TLS_13)
        number = find_behind_update(t, w, record, tries, &content);
    if (number == UINT64_MAX)
        return 0;
    w->seq = number + 1;
    w->lost = 0;
    w->lost_bytes = 0;
    w->messages.has_header = w->messages.left = 0;
    *code = qt_tls_session_content(t, way, content.type, content.n, record);
    return 1;
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
