/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers for Arrow batches. A freed buffer returns to the pool that it came from, so the next batch reuses its memory
 * pages. Each buffer keeps its pool alive. Any thread may free a buffer. Only one thread at a time may allocate from a
 * pool. */
#ifndef QT_BUFFER_H
#define QT_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct qt_pool;

struct qt_pool *qt_pool_new(void);   /* NULL when out of memory */
void qt_pool_free(struct qt_pool *); /* buffers in use stay valid; freeing the last buffer frees the pool */

/* Returns a buffer of at least `size` uninitialized bytes, aligned to 64 bytes. Returns NULL when out of memory. */
void *qt_buffer_new(struct qt_pool *, size_t size);
/* Returns a buffer of at least `size` bytes that begins with the first `used` bytes of `buffer`. Frees the old buffer
 * if a new one was needed. Returns NULL when out of memory, and the old buffer stays valid. `buffer` may be NULL. */
void *qt_buffer_resize(struct qt_pool *, void *buffer, size_t used, size_t size);
size_t qt_buffer_size(const void *buffer); /* capacity in bytes; 0 for NULL */
/* Returns a shared, read-only buffer of zeros. Each caller frees its own reference with qt_buffer_free. */
void *qt_buffer_zeros(struct qt_pool *, size_t size);
void qt_buffer_free(void *buffer); /* NULL is allowed */

#endif
