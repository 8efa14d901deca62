/* SPDX-License-Identifier: Apache-2.0 */
/* SPARE places stay free for fragmented packets inside fragmented packets. qt_fragments_lost runs before each frame and
 * frees places. */
#include "packets/fragments.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 256, SPARE = 8, MOST = 65536, BLOCKS = MOST / 8 };
#define LONGEST_NS (30 * INT64_C(1000000000))
#define COPIES_NS INT64_C(1000000000)

struct place {
    int used;
    int done; /* the packet is complete: further fragments are copies */
    int cut;  /* the capture truncated a fragment of the packet */
    uint8_t from[16], to[16], protocol;
    uint32_t id;
    int64_t since_ns, packet;
    size_t total; /* length of the packet; 0 = the last fragment has not arrived */
    size_t blocks;
    uint8_t has[BLOCKS / 8];
    uint8_t *bytes; /* buffer of MOST bytes, reused by the next packet in this place */
};

struct qt_fragments {
    struct place *places[PLACES]; /* NULL = never used */
    struct place *told;           /* place whose bytes the caller still uses */
    size_t n_used;
};

struct qt_fragments *qt_fragments_new(void) { return calloc(1, sizeof(struct qt_fragments)); }

void qt_fragments_free(struct qt_fragments *f)
{
    for (int i = 0; f != NULL && i < PLACES; i++) {
        if (f->places[i] != NULL)
            free(f->places[i]->bytes);
        free(f->places[i]);
    }
    free(f);
}

static void release(struct qt_fragments *f)
{
    if (f->told != NULL && !f->told->done) {
        f->told->used = 0;
        f->n_used--;
    }
    f->told = NULL;
}

static int is_of(const struct place *p, const struct qt_frame *frame)
{
    return p->used && p->id == frame->fragment.id && p->protocol == frame->fragment.protocol &&
           memcmp(p->from, frame->segment.from.ip, 16) == 0 && memcmp(p->to, frame->segment.to.ip, 16) == 0;
}

static struct place *begin(struct place *p, const struct qt_frame *frame, int64_t when_ns, int64_t packet)
{
    uint8_t *bytes = p->bytes;
    *p = (struct place){.used = 1, .protocol = frame->fragment.protocol, .id = frame->fragment.id, .bytes = bytes};
    memcpy(p->from, frame->segment.from.ip, 16);
    memcpy(p->to, frame->segment.to.ip, 16);
    p->since_ns = when_ns;
    p->packet = packet;
    return p;
}

static struct place *make_place(struct qt_fragments *f, int at, const struct qt_frame *frame, int64_t when_ns,
                                int64_t packet)
{
    struct place *p = f->places[at];
    if (p == NULL)
        p = f->places[at] = calloc(1, sizeof *p);
    if (p == NULL || (p->bytes == NULL && (p->bytes = malloc(MOST)) == NULL))
        return NULL;
    f->n_used++;
    return begin(p, frame, when_ns, packet);
}

/* Returns the place of a fragment's packet, or a new place. Returns NULL when out of memory or when all places are in
 * use. */
static struct place *find_place(struct qt_fragments *f, const struct qt_frame *frame, int64_t when_ns, int64_t packet)
{
    int free_at = -1;
    for (int i = 0; i < PLACES; i++) {
        struct place *p = f->places[i];
        if (p != NULL && is_of(p, frame))
            return p->done && when_ns - p->since_ns > COPIES_NS ? begin(p, frame, when_ns, packet) : p;
        if (free_at < 0 && (p == NULL || !p->used))
            free_at = i;
        if (p == NULL)
            break; /* all later places are unused */
    }
    return free_at >= 0 ? make_place(f, free_at, frame, when_ns, packet) : NULL;
}

/* Copies the 8-byte blocks that are still missing. */
static void add(struct place *p, const struct qt_fragment *fragment)
{
    size_t first = fragment->offset / 8;
    for (size_t at = 0; at < fragment->len; at += 8, first++) {
        uint8_t bit = (uint8_t)(1 << first % 8);
        if (p->has[first / 8] & bit)
            continue;
        p->has[first / 8] |= bit;
        p->blocks++;
        memcpy(p->bytes + first * 8, fragment->p + at, fragment->len - at < 8 ? fragment->len - at : 8);
    }
}

static void tell(struct qt_fragments *f, struct place *p, size_t len, struct qt_datagram *out)
{
    *out = (struct qt_datagram){.protocol = p->protocol, .p = p->bytes, .len = len, .packet = p->packet};
    memcpy(out->from.ip, p->from, 16);
    memcpy(out->to.ip, p->to, 16);
    f->told = p;
}

int qt_fragments_take(struct qt_fragments *f, const struct qt_frame *frame, int64_t when_ns, int64_t packet,
                      struct qt_datagram *out)
{
    const struct qt_fragment *fragment = &frame->fragment;
    struct place *p = find_place(f, frame, when_ns, packet);
    if (p == NULL)
        return -1;
    if (p->done) {
        release(f);
        return 0;
    }
    p->cut |= fragment->len < fragment->sent_len;
    add(p, fragment);
    if (!fragment->more && p->total == 0)
        p->total = fragment->offset + fragment->sent_len;
    release(f); /* this fragment may point into the packet that was returned last */
    if (p->cut || p->total == 0 || p->blocks != (p->total + 7) / 8)
        return 0;
    p->done = 1;
    p->since_ns = when_ns;
    tell(f, p, p->total, out);
    return 1;
}

static struct place *find_oldest(const struct qt_fragments *f)
{
    struct place *oldest = NULL;
    for (int i = 0; i < PLACES && f->places[i] != NULL; i++)
        if (f->places[i]->used && (oldest == NULL || f->places[i]->since_ns < oldest->since_ns))
            oldest = f->places[i];
    return oldest;
}

int qt_fragments_lost(struct qt_fragments *f, int64_t now_ns, struct qt_datagram *out)
{
    release(f);
    struct place *p;
    for (;;) {
        p = f->n_used > 0 ? find_oldest(f) : NULL;
        if (p == NULL || (f->n_used <= PLACES - SPARE && now_ns != INT64_MAX && now_ns - p->since_ns <= LONGEST_NS))
            return 0;
        if (!p->done)
            break;
        p->used = 0;
        f->n_used--;
    }
    size_t blocks = 0;
    while (blocks < BLOCKS && p->has[blocks / 8] >> blocks % 8 & 1)
        blocks++;
    tell(f, p, blocks * 8 > p->total && p->total > 0 ? p->total : blocks * 8, out);
    return 1;
}
