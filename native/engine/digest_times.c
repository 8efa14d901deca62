/* SPDX-License-Identifier: Apache-2.0 */
/* Service time by digest. The thread that reads the outcomes adds the times, so session threads have no extra work.
 *
 *   chunk of records ──► each record: the 8 slots of its digest's set ──► digest is there: add
 *                                                                      ├─► a slot is free: take it
 *                                                                      └─► full: take the slot with the least time
 *
 * The most expensive digests therefore stay in memory, whatever the number of digests. A new digest that takes a slot
 * inherits the slot's time as `unsure_ns`. The new digest may have been dropped before with up to that much time. This
 * is the Space-Saving algorithm (Metwally et al. 2005), applied per set. `sum_ns` and `count` contain only measured
 * executions. */
#include "engine/digest_times.h"

#include <stdlib.h>

enum { SLOTS = 8, SETS = 512 };

struct qt_digest_times {
    pthread_mutex_t lock;
    struct qt_digest_time slot[SETS][SLOTS]; /* count 0 = free; all later slots of the set are free too */
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

/* Returns the maximum time that the digest may have cost. The slot with the smallest weight is replaced. */
static int64_t weight(const struct qt_digest_time *slot) { return slot->sum_ns + slot->unsure_ns; }

/* Returns the digest's slot, or a free slot of its set. If the set is full, replaces the lightest slot and keeps its
 * weight as `unsure_ns`. */
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

/* Inserts a slot into the first n of `out`, sorted by time in descending order. Returns the new number of slots. */
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
