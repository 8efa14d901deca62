/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes are mixed with multiplications and shifts, as in splitmix64. Mixing is cheap compared with hashing a row. The
 * result depends on the order of the hashes. */
#include "base/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "querytape.h"

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return (h ^ h >> 29) * UINT64_C(0xBF58476D1CE4E5B9) ^ h >> 32;
}

static void add_hash(struct qt_checksum *c, uint64_t hash)
{
    c->rows++;
    c->ordered = mix(c->ordered, hash);
    c->set += mix(hash, c->results);
}

void qt_checksum_result(struct qt_checksum *c, uint64_t columns)
{
    c->results++;
    c->in_split = 0;
    c->ordered = mix(c->ordered, ~columns);
    c->set += mix(~columns, c->results);
}

void qt_checksum_row(struct qt_checksum *c, const void *payload, size_t n) { add_hash(c, XXH3_64bits(payload, n)); }

void qt_checksum_part(struct qt_checksum *c, const void *payload, size_t n, int more)
{
    uint64_t hash = XXH3_64bits(payload, n);
    if (c->in_split || more)
        hash = mix(c->in_split ? c->split : 0, hash);
    c->in_split = more;
    c->split = hash;
    if (!more)
        add_hash(c, hash);
}

static char *put_hex(char *out, uint64_t value)
{
    for (int shift = 60; shift >= 0; shift -= 4)
        *out++ = "0123456789abcdef"[value >> shift & 15];
    return out;
}

void qt_checksum_text(const struct qt_checksum *c, const char *protocol, char out[QT_CHECKSUM_ROOM])
{
    size_t n = strlen(protocol);
    out[0] = '\0';
    if (c->results == 0 || n + 35 > QT_CHECKSUM_ROOM)
        return;
    memcpy(out, protocol, n);
    out += n;
    *out++ = ':';
    out = put_hex(out, c->ordered);
    *out++ = ':';
    *put_hex(out, c->set) = '\0';
}

/* XXH3-128 of data that arrives in pieces. The result is in canonical (big-endian) order, as `xxhsum -H2` prints it. */

struct qt_file_hash {
    XXH3_state_t state; /* must be aligned to 64 bytes */
};

struct qt_file_hash *qt_file_hash_new(void)
{
    struct qt_file_hash *h = aligned_alloc(64, (sizeof *h + 63) / 64 * 64);
    if (h != NULL)
        XXH3_128bits_reset(&h->state);
    return h;
}

void qt_file_hash_free(struct qt_file_hash *h) { free(h); }

void qt_file_hash_add(struct qt_file_hash *h, const void *bytes, size_t n) { XXH3_128bits_update(&h->state, bytes, n); }

void qt_file_hash_hex(const struct qt_file_hash *h, char out[33])
{
    XXH128_hash_t found = XXH3_128bits_digest(&h->state);
    snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, (uint64_t)found.high64, (uint64_t)found.low64);
}
