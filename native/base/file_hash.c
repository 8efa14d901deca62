/* SPDX-License-Identifier: Apache-2.0 */
/* XXH3-128 of bytes that come one after the other, in its canonical order (big endian), as `xxhsum -H2` prints it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "querytape.h"

struct qt_file_hash {
    XXH3_state_t state; /* aligned to 64 */
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
