/* SPDX-License-Identifier: Apache-2.0 */
/* Orders the segments of one way: sequence numbers are compared by their difference, so they may wrap.
 *
 *      next (due)                held, in order of seq
 *        |  hole  [ segment ] [ segment ]   [ segment ]
 *
 * What is due goes to the decoder at once, and with it what is held and has no hole before it any more.
 */
#include "packets/tcp_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define MAX_HELD_A_WAY ((size_t)4 << 20)
#define WAIT_SEGMENTS 64 /* of both ways; a capture reorders by a few packets */
#define WAIT_NS INT64_C(3000000000)

static int32_t distance(uint32_t from, uint32_t to) { return (int32_t)(to - from); }

static int deliver(struct qt_tcp_connection *c, enum qt_way way, const char *p, size_t n, size_t sent_n,
                   int64_t when_ns, int64_t packet)
{
    int code = n > 0 ? qt_decoder_take(c->decoder, way, p, n, when_ns, packet) : QT_OK;
    if (code == QT_OK && sent_n > n)
        code = qt_decoder_skip(c->decoder, way, sent_n - n, when_ns, packet);
    c->way[way].next += (uint32_t)sent_n;
    return code;
}

static void forget(struct qt_tcp *t, struct qt_tcp_way *w)
{
    struct qt_early_segment *h = w->held;
    w->held = h->next;
    w->held_bytes -= h->len;
    t->held_bytes -= h->len;
    free(h);
}

void qt_tcp_order_drop(struct qt_tcp *t, struct qt_tcp_connection *c)
{
    for (int i = 0; i < 2; i++)
        while (c->way[i].held != NULL)
            forget(t, &c->way[i]);
}

/* Hands on what is held and due now. */
static int drain(struct qt_tcp *t, struct qt_tcp_connection *c, enum qt_way way)
{
    struct qt_tcp_way *w = &c->way[way];
    int code = QT_OK;
    while (code == QT_OK && w->held != NULL && distance(w->next, w->held->seq) <= 0) {
        struct qt_early_segment *h = w->held;
        size_t known = (size_t)-distance(w->next, h->seq);
        if (known < h->sent_len) {
            size_t skip = known < h->len ? known : h->len;
            code = deliver(c, way, h->bytes + skip, h->len - skip, h->sent_len - known, h->when_ns, h->packet);
        }
        forget(t, w);
    }
    if (w->held == NULL)
        w->waited = 0;
    return code;
}

/* The hole before the first held segment will not be filled. */
static int give_up(struct qt_tcp *t, struct qt_tcp_connection *c, enum qt_way way)
{
    struct qt_tcp_way *w = &c->way[way];
    uint32_t lost = w->held->seq - w->next;
    t->counts.gaps++;
    t->counts.lost_bytes += lost;
    int code = qt_decoder_skip(c->decoder, way, lost, w->held->when_ns, w->held->packet);
    w->next = w->held->seq;
    w->waited = 0;
    w->waiting_since_ns = w->held->when_ns;
    return code == QT_OK ? drain(t, c, way) : code;
}

int qt_tcp_order_flush(struct qt_tcp *t, struct qt_tcp_connection *c, enum qt_way way)
{
    int code = QT_OK;
    while (code == QT_OK && c->way[way].held != NULL)
        code = give_up(t, c, way);
    return code;
}

static int hold(struct qt_tcp *t, struct qt_tcp_way *w, const struct qt_segment *s, int64_t when_ns, int64_t packet)
{
    struct qt_early_segment **at = &w->held;
    while (*at != NULL && distance((*at)->seq, s->seq) > 0)
        at = &(*at)->next;
    if (*at != NULL && (*at)->seq == s->seq && (*at)->sent_len >= s->sent_len) {
        t->counts.duplicates++;
        return QT_OK;
    }
    struct qt_early_segment *h = malloc(sizeof *h + s->len);
    if (h == NULL)
        return QT_ENOMEM;
    *h = (struct qt_early_segment){*at, s->seq, s->len, s->sent_len, when_ns, packet};
    memcpy(h->bytes, s->payload, s->len);
    if (w->held == NULL) {
        w->waiting_since_ns = when_ns;
        w->waited = 0;
    }
    *at = h;
    w->held_bytes += s->len;
    t->held_bytes += s->len;
    t->counts.early++;
    return QT_OK;
}

/* Is it certain enough that the bytes of the hole were never captured? */
static int is_hole_final(const struct qt_tcp *t, struct qt_tcp_way *w, int64_t when_ns)
{
    int seen_by_peer = w->acked && distance(w->held->seq, w->acked_to) >= 0;
    w->waited++;
    return (seen_by_peer && w->waited > WAIT_SEGMENTS) || when_ns - w->waiting_since_ns > WAIT_NS ||
           w->held_bytes > MAX_HELD_A_WAY || t->held_bytes > t->options.max_held;
}

int qt_tcp_order_take(struct qt_tcp *t, struct qt_tcp_connection *c, enum qt_way way, const struct qt_segment *s,
                      int64_t when_ns, int64_t packet)
{
    struct qt_tcp_way *w = &c->way[way];
    int code = QT_OK;
    if (s->sent_len > 0) {
        if (!w->known) { /* joined midway */
            w->known = 1;
            w->next = s->seq;
        }
        t->counts.cut += s->sent_len > s->len;
        int32_t ahead = distance(w->next, s->seq);
        if (ahead > 0) {
            code = hold(t, w, s, when_ns, packet);
        } else if ((size_t)-(int64_t)ahead >= s->sent_len) {
            t->counts.duplicates++; /* a keep-alive probe, too */
        } else {
            size_t known = (size_t)-(int64_t)ahead, skip = known < s->len ? known : s->len;
            code = deliver(c, way, (const char *)s->payload + skip, s->len - skip, s->sent_len - known, when_ns,
                           packet);
            if (code == QT_OK && w->held != NULL)
                code = drain(t, c, way);
        }
    }
    for (int i = 0; i < 2 && code == QT_OK; i++)
        if (c->way[i].held != NULL && is_hole_final(t, &c->way[i], when_ns))
            code = give_up(t, c, (enum qt_way)i);
    return code;
}
