/* SPDX-License-Identifier: Apache-2.0 */
/* Hash table with open addressing. The key is the 128-bit hash of a text, and the text itself is not stored. */
#include "protocol/parameter_types.h"

#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SLOTS = 1 << 14, MOST = SLOTS / 4 * 3, LONGEST = 2 * 512 };

struct slot {
    XXH128_hash_t text;
    size_t n;    /* length of `types` in bytes; 0 = free */
    char *types; /* NULL = conflicting types */
};

struct qt_parameter_types {
    struct slot *slots; /* NULL until the first entry is added */
    size_t n;
    uint64_t used;
};

struct qt_parameter_types *qt_parameter_types_new(void) { return calloc(1, sizeof(struct qt_parameter_types)); }

void qt_parameter_types_free(struct qt_parameter_types *t)
{
    for (size_t i = 0; t != NULL && t->slots != NULL && i < SLOTS; i++)
        free(t->slots[i].types);
    free(t != NULL ? t->slots : NULL);
    free(t);
}

/* Returns the slot of a text. For an unknown text, returns the free slot that the text would get. */
static size_t place(const struct qt_parameter_types *t, XXH128_hash_t text)
{
    size_t at = text.low64 & (SLOTS - 1);
    while (t->slots[at].n > 0 && !XXH128_isEqual(t->slots[at].text, text))
        at = (at + 1) & (SLOTS - 1);
    return at;
}

void qt_parameter_types_add(struct qt_parameter_types *t, struct qt_span text, struct qt_span types)
{
    if (types.len == 0 || types.len > LONGEST)
        return;
    if (t->slots == NULL && (t->slots = calloc(SLOTS, sizeof *t->slots)) == NULL)
        return;
    XXH128_hash_t hash = XXH3_128bits(text.p, text.len);
    struct slot *s = &t->slots[place(t, hash)];
    if (s->n == 0) {
        char *copy = t->n < MOST ? malloc(types.len) : NULL;
        if (copy == NULL)
            return;
        memcpy(copy, types.p, types.len);
        *s = (struct slot){hash, types.len, copy};
        t->n++;
    } else if (s->types != NULL && (s->n != types.len || memcmp(s->types, types.p, s->n) != 0)) {
        free(s->types);
        s->types = NULL;
    }
}

struct qt_span qt_parameter_types_find(const struct qt_parameter_types *t, struct qt_span text, size_t n)
{
    if (t->slots == NULL)
        return (struct qt_span){NULL, 0};
    const struct slot *s = &t->slots[place(t, XXH3_128bits(text.p, text.len))];
    return s->n == n && s->types != NULL ? (struct qt_span){s->types, n} : (struct qt_span){NULL, 0};
}

void qt_parameter_types_used(struct qt_parameter_types *t) { t->used++; }

uint64_t qt_parameter_types_count(const struct qt_parameter_types *t) { return t->used; }
