/* SPDX-License-Identifier: Apache-2.0 */
/* A dense array of entries and an open-addressed hash table of their indexes. Each thread id takes 48 to 64 bytes. */
#include "reader/sessions.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256u

static uint64_t mix(uint64_t x) /* finalizer of MurmurHash3 */
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

static void index_all(struct qt_sessions *s)
{
    memset(s->slots, 0, sizeof *s->slots * s->n_slots);
    for (uint32_t i = 0; i < s->n_entries; i++) {
        uint32_t at = (uint32_t)mix(s->entries[i].key) & (s->n_slots - 1);
        while (s->slots[at] != 0)
            at = (at + 1) & (s->n_slots - 1);
        s->slots[at] = i + 1;
    }
}

int qt_sessions_init(struct qt_sessions *s, uint32_t limit)
{
    memset(s, 0, sizeof *s);
    s->limit = limit;
    s->room = FIRST_ROOM;
    s->n_slots = FIRST_ROOM * 2;
    s->next_session = 1;
    s->entries = malloc(sizeof *s->entries * s->room);
    s->slots = calloc(s->n_slots, sizeof *s->slots);
    return s->entries != NULL && s->slots != NULL ? 0 : -1;
}

void qt_sessions_free(struct qt_sessions *s)
{
    free(s->entries);
    free(s->slots);
    memset(s, 0, sizeof *s);
}

static int grow(struct qt_sessions *s)
{
    struct qt_session_entry *entries = realloc(s->entries, sizeof *entries * s->room * 2);
    if (entries == NULL)
        return -1;
    s->entries = entries;
    uint32_t *slots = calloc((size_t)s->n_slots * 2, sizeof *slots);
    if (slots == NULL)
        return -1;
    free(s->slots);
    s->slots = slots;
    s->n_slots *= 2;
    s->room *= 2;
    index_all(s);
    return 0;
}

const struct qt_session_entry *qt_sessions_look_up(const struct qt_sessions *s, uint64_t key)
{
    uint32_t at = (uint32_t)mix(key) & (s->n_slots - 1);
    for (; s->slots[at] != 0; at = (at + 1) & (s->n_slots - 1))
        if (s->entries[s->slots[at] - 1].key == key)
            return &s->entries[s->slots[at] - 1];
    return NULL;
}

int64_t qt_sessions_find(struct qt_sessions *s, uint64_t key, uint64_t now)
{
    uint32_t at = (uint32_t)mix(key) & (s->n_slots - 1);
    while (s->slots[at] != 0) {
        struct qt_session_entry *entry = &s->entries[s->slots[at] - 1];
        if (entry->key == key) {
            entry->last_use = now;
            return s->slots[at] - 1;
        }
        at = (at + 1) & (s->n_slots - 1);
    }
    if (s->n_entries == s->room) {
        if (grow(s) != 0)
            return -1;
        at = (uint32_t)mix(key) & (s->n_slots - 1);
        while (s->slots[at] != 0)
            at = (at + 1) & (s->n_slots - 1);
    }
    struct qt_session_entry *entry = &s->entries[s->n_entries];
    memset(entry, 0, sizeof *entry);
    entry->key = key;
    entry->last_use = now;
    entry->prev_end_ns = INT64_MIN;
    entry->row = -1;
    s->slots[at] = ++s->n_entries;
    return s->n_entries - 1;
}

void qt_sessions_begin(struct qt_sessions *s, struct qt_session_entry *entry)
{
    entry->session = s->next_session++;
    entry->seq = 0; /* `prev_end_ns` is kept, because a thread id runs one statement at a time in any session */
    entry->own_timestamp = 0;
    entry->mode = (struct qt_session_mode){0};
    entry->ended = 0;
}

void qt_sessions_restart(struct qt_sessions *s, uint64_t since)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->n_entries; i++)
        if (s->entries[i].last_use >= since)
            s->entries[kept++] = s->entries[i];
    s->n_entries = kept;
    index_all(s);
}

static int by_last_use(const void *a, const void *b)
{
    uint64_t x = ((const struct qt_session_entry *)a)->last_use, y = ((const struct qt_session_entry *)b)->last_use;
    return x < y ? 1 : x > y ? -1 : 0;
}

int qt_sessions_trim(struct qt_sessions *s)
{
    if (s->n_entries < s->limit)
        return 0;
    qsort(s->entries, s->n_entries, sizeof *s->entries, by_last_use);
    s->forgotten += s->n_entries - s->limit / 2;
    s->n_entries = s->limit / 2;
    index_all(s);
    return 1;
}
