/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the segments of one direction in order. Sequence numbers are compared by their difference, because they wrap
 * around.
 *
 *      next (due)                held, in order of seq
 *        |  hole  [ segment ] [ segment ]   [ segment ]
 *
 * Due bytes go to the decoder at once, followed by the held segments that are now contiguous.
 *
 * A segment may acknowledge bytes of the other direction that have not arrived. The segment was sent after those bytes
 * and therefore waits for them. A reply thus never precedes its command. A lost command never gets the reply of another
 * command. */
#include "packets/tcp_reassembly.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define MAX_HELD_A_WAY ((size_t)4 << 20)
#define WAIT_SEGMENTS 64 /* number of segments in both directions; captures reorder only a few packets */
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

void qt_tcp_reassembly_drop(struct qt_tcp *t, struct qt_tcp_connection *c)
{
    for (int i = 0; i < 2; i++)
        while (c->way[i].held != NULL)
            forget(t, &c->way[i]);
}

/* Returns the number of missing bytes that the other direction sent before this segment. */
static int32_t count_missing(const struct qt_tcp_connection *c, enum qt_way way, int acks, uint32_t ack)
{
    const struct qt_tcp_way *other = &c->way[!way];
    if (!acks || !other->known)
        return 0;
    return distance(other->next, other->has_fin && ack == other->fin + 1 ? other->fin : ack);
}

static int is_due(const struct qt_tcp_connection *c, enum qt_way way)
{
    const struct qt_early_segment *h = c->way[way].held;
    return h != NULL && distance(c->way[way].next, h->seq) <= 0;
}

static int is_blocked(const struct qt_tcp_connection *c, enum qt_way way)
{
    const struct qt_early_segment *h = c->way[way].held;
    return count_missing(c, way, h->acks, h->ack) > 0;
}

static int deliver_held(struct qt_tcp *t, struct qt_tcp_connection *c, enum qt_way way)
{
    struct qt_tcp_way *w = &c->way[way];
    struct qt_early_segment *h = w->held;
    size_t known = (size_t)-distance(w->next, h->seq);
    int code = QT_OK;
    if (known < h->sent_len) {
        size_t skip = known < h->len ? known : h->len;
        code = deliver(c, way, h->bytes + skip, h->len - skip, h->sent_len - known, h->when_ns, h->packet);
    }
    forget(t, w);
    w->waited = w->held == NULL ? 0 : w->waited;
    return code;
}

/* Delivers the held segments that are due. The acknowledgements determine the order between the two directions. */
static int drain(struct qt_tcp *t, struct qt_tcp_connection *c)
{
    int code = QT_OK;
    for (int way = QT_WAY_SERVER; way >= QT_WAY_CLIENT && code == QT_OK; way--)
        while (code == QT_OK && is_due(c, (enum qt_way)way) && !is_blocked(c, (enum qt_way)way)) {
            code = deliver_held(t, c, (enum qt_way)way);
            way = QT_WAY_SERVER;
        }
    return code;
}

/* Returns the direction that waits for bytes of the direction `way`, or -1. */
static int find_waiting(const struct qt_tcp_connection *c, enum qt_way way)
{
    if (c->way[way].held != NULL && !is_due(c, way))
        return (int)way;
    return is_due(c, (enum qt_way) !way) && is_blocked(c, (enum qt_way) !way) ? !way : -1;
}

/* Gives up the missing bytes of the direction `way`, so that the direction `waiting` can continue. */
static int give_up(struct qt_tcp *t, struct qt_tcp_connection *c, enum qt_way way, enum qt_way waiting)
{
    struct qt_tcp_way *w = &c->way[way];
    const struct qt_early_segment *h = c->way[waiting].held;
    int32_t lost = way == waiting ? distance(w->next, h->seq) : count_missing(c, waiting, h->acks, h->ack);
    t->counts.gaps++;
    t->counts.lost_bytes += (uint64_t)lost;
    int code = qt_decoder_skip(c->decoder, way, (uint64_t)lost, h->when_ns, h->packet);
    w->next += (uint32_t)lost;
    c->way[waiting].waited = 0;
    c->way[waiting].waiting_since_ns = h->when_ns;
    return code == QT_OK ? drain(t, c) : code;
}

int qt_tcp_reassembly_flush(struct qt_tcp *t, struct qt_tcp_connection *c)
{
    int code = drain(t, c);
    while (code == QT_OK && (c->way[0].held != NULL || c->way[1].held != NULL))
        for (int way = 0, waiting = -1; way < 2 && waiting < 0; way++)
            if ((waiting = find_waiting(c, (enum qt_way)way)) >= 0)
                code = give_up(t, c, (enum qt_way)way, (enum qt_way)waiting);
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
    *h = (struct qt_early_segment){*at,    s->seq,      s->ack,  (s->flags & QT_TCP_ACK) != 0,
                                   s->len, s->sent_len, when_ns, packet};
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

/* Returns whether the capture most likely never recorded the bytes that `w` waits for. */
static int is_hole_final(const struct qt_tcp *t, const struct qt_tcp_way *w, int64_t when_ns)
{
    int seen_by_peer = w->acked && distance(w->held->seq, w->acked_to) >= 0;
    return (seen_by_peer && w->waited > WAIT_SEGMENTS) || w->waited > 4 * WAIT_SEGMENTS ||
           when_ns - w->waiting_since_ns > WAIT_NS || w->held_bytes > MAX_HELD_A_WAY ||
           t->held_bytes > t->options.max_held;
}

/* Takes a segment with payload. */
static int take(struct qt_tcp *t, struct qt_tcp_connection *c, enum qt_way way, const struct qt_segment *s,
                int64_t when_ns, int64_t packet)
{
    struct qt_tcp_way *w = &c->way[way];
    if (!w->known) { /* the connection was joined in mid-stream */
        w->known = 1;
        w->next = s->seq;
    }
    t->counts.cut += s->sent_len > s->len;
    int32_t ahead = distance(w->next, s->seq);
    if (ahead <= 0 && (size_t)-(int64_t)ahead >= s->sent_len) {
        t->counts.duplicates++; /* also counts TCP keep-alive probes */
        return QT_OK;
    }
    if (ahead > 0 || count_missing(c, way, (s->flags & QT_TCP_ACK) != 0, s->ack) > 0)
        return hold(t, w, s, when_ns, packet);
    size_t known = (size_t)-(int64_t)ahead, skip = known < s->len ? known : s->len;
    return deliver(c, way, (const char *)s->payload + skip, s->len - skip, s->sent_len - known, when_ns, packet);
}

int qt_tcp_reassembly_take(struct qt_tcp *t, struct qt_tcp_connection *c, enum qt_way way, const struct qt_segment *s,
                           int64_t when_ns, int64_t packet)
{
    int code = s->sent_len > 0 ? take(t, c, way, s, when_ns, packet) : QT_OK;
    if (code != QT_OK || (c->way[0].held == NULL && c->way[1].held == NULL))
        return code;
    code = drain(t, c);
    for (int i = 0; i < 2; i++)
        c->way[i].waited += c->way[i].held != NULL;
    for (int i = 0; i < 2 && code == QT_OK; i++) {
        int waiting = find_waiting(c, (enum qt_way)i);
        if (waiting >= 0 && is_hole_final(t, &c->way[waiting], when_ns))
            code = give_up(t, c, (enum qt_way)i, (enum qt_way)waiting);
    }
    return code;
}
