/* SPDX-License-Identifier: Apache-2.0 */
/* What they hold is bounded by the key log's bound on all that waits; how many there are is bounded here. */
#include "packets/tcp_parked.h"

#include <stdlib.h>

#include "base/error.h"
#include "protocol/await_secrets.h"

enum { MOST = 1 << 14 };
#define LONGEST_NS (60 * INT64_C(1000000000))

static int end_one(struct qt_tcp *t, struct qt_tcp_parked **at)
{
    struct qt_tcp_parked *p = *at;
    *at = p->next;
    if (p->next == NULL)
        t->parked_last = at;
    t->n_parked--;
    int code = qt_decoder_end(p->decoder);
    qt_decoder_free(p->decoder);
    free(p);
    return code;
}

int qt_tcp_park(struct qt_tcp *t, struct qt_tcp_connection *c)
{
    struct qt_tcp_parked *p = calloc(1, sizeof *p);
    if (p == NULL)
        return QT_ENOMEM;
    p->decoder = c->decoder;
    p->owner = c->owner;
    c->decoder = NULL;
    qt_decoder_set_connection(p->decoder, &p->owner);
    if (t->parked == NULL)
        t->parked_last = &t->parked;
    *t->parked_last = p;
    t->parked_last = &p->next;
    t->n_parked++;
    return t->n_parked > MOST ? end_one(t, &t->parked) : QT_OK;
}

int qt_tcp_parked_look(struct qt_tcp *t, int64_t now_ns)
{
    int code = QT_OK;
    for (struct qt_tcp_parked **at = &t->parked; *at != NULL && code == QT_OK;) {
        struct qt_tcp_parked *p = *at;
        p->since_ns = p->since_ns != 0 ? p->since_ns : now_ns;
        code = qt_decoder_look(p->decoder);
        if (code == QT_OK && (!qt_decoder_waits(p->decoder) || now_ns - p->since_ns > LONGEST_NS))
            code = end_one(t, at);
        else
            at = &p->next;
    }
    return code;
}

int qt_tcp_parked_end(struct qt_tcp *t)
{
    int code = QT_OK;
    while (t->parked != NULL && code == QT_OK)
        code = end_one(t, &t->parked);
    return code;
}

void qt_tcp_parked_free(struct qt_tcp *t)
{
    while (t->parked != NULL) {
        struct qt_tcp_parked *p = t->parked;
        t->parked = p->next;
        qt_decoder_free(p->decoder);
        free(p);
    }
}
