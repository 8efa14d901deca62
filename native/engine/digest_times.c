/* SPDX-License-Identifier: Apache-2.0 */
/* Time by digest, noted where the outcomes are read: no session's thread has to do with it.
 *
 *   chunk of records ──► of each record: its digest's set of 8 slots ──► there:    add
 *                                                                    ├─► a slot is free: take it
 *                                                                    └─► full: take the slot with the least time
 *
 * So what costs most stays in it, whatever the number of digests: a digest that takes another's slot begins with that
 * one's time as `unsure_ns`, for it may have been here before and have lost as much (Space-Saving, Metwally et al.
 * 2005, by sets). `sum_ns` and `count` are what was surely seen.
 */
#include "engine/digest_times.h"

#include <stdlib.h>

enum { SLOTS = 8, SETS = 512 };

struct qt_digest_times {
    pthread_mutex_t lock;
    struct qt_digest_time slot[SETS][SLOTS]; /* count 0 = free, and so are those behind it */
};

struct qt_digest_times *qt_digest_times_new(void)
{
    struct qt_digest_times *t = calloc(1, sizeof *t);
    if (t != NULL)
        pthread_mutex_init(&t->lock, NULL);
    return t;
}

void qt_digest_times_free(struct qt_digest_times *t)
{
    if (t == NULL)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t);
}

uint64_t qt_digest_number(const char *text, size_t len)
{
    uint64_t number = 0;

    if (text == NULL || len != 16)
        return 0;
    for (size_t i = 0; i < len; i++) {
        unsigned c = (unsigned char)text[i], letter = (c | 0x20) - 'a';
        if (c - '0' < 10)
            number = number << 4 | (c - '0');
        else if (letter < 6)
            number = number << 4 | (letter + 10);
        else
            return 0;
    }
    return number;
}

/* What a digest may have cost at most: by this it stays or goes. */
static int64_t weight(const struct qt_digest_time *slot) { return slot->sum_ns + slot->unsure_ns; }

/* The digest's slot; an empty one of its set; or, with what it had as `unsure_ns`, the lightest one. */
static struct qt_digest_time *find_slot(struct qt_digest_times *t, uint64_t digest)
{
    struct qt_digest_time *set = t->slot[digest % SETS], *least = set;

    for (struct qt_digest_time *slot = set; slot < set + SLOTS; slot++) {
        if (slot->count != 0 && slot->digest == digest)
            return slot;
        if (slot->count == 0) {
            slot->digest = digest;
            return slot;
        }
        if (weight(slot) < weight(least))
            least = slot;
    }
    *least = (struct qt_digest_time){.digest = digest, .unsure_ns = weight(least)};
    return least;
}

void qt_digest_times_note(struct qt_digest_times *t, const struct qt_record *record, int32_t n)
{
    pthread_mutex_lock(&t->lock);
    for (const struct qt_record *r = record; r < record + n; r++) {
        if (r->digest == 0 || r->reason != QT_EXECUTED || r->sent_ns == QT_NONE || r->done_ns == QT_NONE)
            continue;
        int64_t ns = r->done_ns - r->sent_ns;
        struct qt_digest_time *slot = find_slot(t, r->digest);
        slot->count++;
        slot->sum_ns += ns > 0 ? ns : 0;
        slot->max_ns = ns > slot->max_ns ? ns : slot->max_ns;
    }
    pthread_mutex_unlock(&t->lock);
}

/* Puts a slot among the first n of `out`, the most time first; returns how many there are now. */
static int32_t put_in_order(struct qt_digest_time *out, int32_t n, int32_t most, const struct qt_digest_time *slot)
{
    int32_t at = n < most ? n : most - 1;

    if (n == most && out[at].sum_ns >= slot->sum_ns)
        return n;
    for (; at > 0 && out[at - 1].sum_ns < slot->sum_ns; at--)
        out[at] = out[at - 1];
    out[at] = *slot;
    return n < most ? n + 1 : n;
}

int32_t qt_engine_slowest(struct qt_engine *e, struct qt_digest_time *out, int32_t most)
{
    struct qt_digest_times *t = e->measured.digest_times;
    int32_t n = 0;

    if (most <= 0)
        return 0;
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < SETS; i++)
        for (int k = 0; k < SLOTS && t->slot[i][k].count != 0; k++)
            n = put_in_order(out, n, most, &t->slot[i][k]);
    pthread_mutex_unlock(&t->lock);
    return n;
}
