/* SPDX-License-Identifier: Apache-2.0 */
/* Entries are stored in blocks that never move, so that no copy of a secret remains in memory. The hash table contains
 * the entries' numbers. If the store is full, a new entry replaces the oldest entry. */
#include "tls/key_store.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { BLOCK = 1024 };

struct qt_tls_store {
    uint32_t most, buckets;
    uint64_t n; /* number of connections ever added; connection i is stored at index i % most */
    struct qt_tls_secrets **blocks;
    uint32_t n_blocks;
    uint32_t *table; /* index + 1 of the first entry with a hash; 0 = none */
};

struct qt_tls_store *qt_tls_store_new(uint32_t most)
{
    struct qt_tls_store *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->most = most;
    s->buckets = 1024;
    s->table = calloc(s->buckets, sizeof *s->table);
    s->blocks = calloc((size_t)most / BLOCK + 1, sizeof *s->blocks);
    if (s->table != NULL && s->blocks != NULL)
        return s;
    qt_tls_store_free(s);
    return NULL;
}

void qt_tls_store_free(struct qt_tls_store *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->n_blocks; i++) {
        OPENSSL_cleanse(s->blocks[i], BLOCK * sizeof **s->blocks);
        free(s->blocks[i]);
    }
    free(s->blocks);
    free(s->table);
    free(s);
}

static struct qt_tls_secrets *entry(const struct qt_tls_store *s, uint64_t place)
{
    return &s->blocks[place / BLOCK][place % BLOCK];
}

static uint32_t *bucket(const struct qt_tls_store *s, const uint8_t *random)
{
    return &s->table[XXH3_64bits(random, QT_TLS_RANDOM) & (s->buckets - 1)];
}

static struct qt_tls_secrets *find(const struct qt_tls_store *s, const uint8_t *random)
{
    for (uint32_t at = *bucket(s, random); at != 0; at = entry(s, at - 1)->next)
        if (memcmp(entry(s, at - 1)->random, random, QT_TLS_RANDOM) == 0)
            return entry(s, at - 1);
    return NULL;
}

static void forget(struct qt_tls_store *s, uint32_t place)
{
    struct qt_tls_secrets *e = entry(s, place);
    uint32_t *at = bucket(s, e->random);
    while (*at != place + 1)
        at = &entry(s, *at - 1)->next;
    *at = e->next;
    OPENSSL_cleanse(e, sizeof *e);
}

static int grow(struct qt_tls_store *s)
{
    if (s->n < s->buckets || s->n >= s->most)
        return 0;
    uint32_t *table = calloc((size_t)s->buckets * 2, sizeof *table);
    if (table == NULL)
        return -1;
    free(s->table);
    s->table = table;
    s->buckets *= 2;
    for (uint64_t i = 0; i < s->n; i++) {
        uint32_t *at = bucket(s, entry(s, i)->random);
        entry(s, i)->next = *at;
        *at = (uint32_t)i + 1;
    }
    return 0;
}

/* Returns an empty entry at the next index. */
static struct qt_tls_secrets *add(struct qt_tls_store *s, const uint8_t *random)
{
    uint32_t place = (uint32_t)(s->n % s->most);
    if (grow(s) != 0)
        return NULL;
    if (s->n >= s->most) {
        forget(s, place);
    } else if (place / BLOCK == s->n_blocks) {
        struct qt_tls_secrets *block = calloc(BLOCK, sizeof *block);
        if (block == NULL)
            return NULL;
        s->blocks[s->n_blocks++] = block;
    }
    struct qt_tls_secrets *e = entry(s, place);
    uint32_t *at = bucket(s, random);
    memcpy(e->random, random, QT_TLS_RANDOM);
    e->next = *at;
    *at = place + 1;
    s->n++;
    return e;
}

int qt_tls_store_add(struct qt_tls_store *s, const uint8_t random[QT_TLS_RANDOM], enum qt_tls_label label,
                     const struct qt_tls_secret *secret)
{
    struct qt_tls_secrets *e = find(s, random);
    if (e == NULL && (e = add(s, random)) == NULL)
        return -1;
    e->of[label] = *secret;
    return 0;
}

const struct qt_tls_secrets *qt_tls_store_find(const struct qt_tls_store *s, const uint8_t random[QT_TLS_RANDOM])
{
    return find(s, random);
}

uint64_t qt_tls_store_count(const struct qt_tls_store *s, uint64_t *forgotten)
{
    *forgotten = s->n > s->most ? s->n - s->most : 0;
    return s->n;
}
