/* SPDX-License-Identifier: Apache-2.0 */
/* A TLS 1.3 connection between two generated sides, and the output of its reader. The tests of records and key logs use
 * this file. */
#ifndef QT_TLS_TOLD_H
#define QT_TLS_TOLD_H

#include "check.h"
#include "tls/tls.h"
#include "tls_records.h"

static struct {
    char text[2][4096]; /* decrypted text of each direction */
    size_t n[2];
    int gaps, records;
    struct qt_tls_plain last;
} told;

static inline int on_plain(void *self, int way, const struct qt_tls_plain *p)
{
    (void)self;
    CHECK(told.n[way] + p->n <= sizeof told.text[way]);
    memcpy(told.text[way] + told.n[way], p->p, p->n);
    told.n[way] += p->n;
    told.records++;
    told.last = *p;
    return QT_OK;
}

static inline int on_gap(void *self, int way, uint64_t lost, int64_t when_ns, int64_t packet)
{
    (void)self;
    (void)way;
    (void)lost;
    (void)when_ns;
    (void)packet;
    told.gaps++;
    return QT_OK;
}

struct side {
    struct qt_tls_secret secret;
    uint64_t seq;
};

static inline struct qt_tls_log *log_of(const char *text)
{
    struct qt_tls_lines lines = {0};
    struct qt_tls_log *log = qt_tls_log_new();
    CHECK(log != NULL && qt_tls_log_take(log, &lines, text, strlen(text)) == 0);
    qt_tls_lines_end(&lines);
    return log;
}

static inline struct qt_tls *begin(struct qt_tls_log *log, struct side sides[2])
{
    uint8_t bytes[256];
    struct qt_tls_sink sink = {NULL, on_plain, on_gap};
    memset(&told, 0, sizeof told);
    sides[0] = (struct side){secret_of(CLIENT_SECRET), 0};
    sides[1] = (struct side){secret_of(SERVER_SECRET), 0};
    struct qt_tls *t = qt_tls_new(log, &sink);
    for (int way = 0; way < 2; way++) {
        size_t n = hello(way, bytes);
        CHECK_INT(qt_tls_take(t, way, bytes, n, 1, 1), QT_OK);
    }
    return t;
}

/* Appends the next record of a side to `out`. */
static inline size_t next(struct side *s, int type, const void *content, size_t n, uint8_t *out)
{
    return seal(&s->secret, s->seq++, type, content, n, out);
}

static inline void say(struct qt_tls *t, struct side sides[2], int way, const char *text)
{
    uint8_t bytes[4096];
    size_t n = next(&sides[way], QT_TLS_DATA, text, strlen(text), bytes);
    CHECK_INT(qt_tls_take(t, way, bytes, n, 5, 5), QT_OK);
}

#endif
