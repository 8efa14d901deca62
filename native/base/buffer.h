/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of Arrow buffers that goes back to the pool it came from, whoever frees it last: the next batch gets pages
 * that the system has given already. A buffer keeps its pool alive. Any thread may free; a pool is filled by one at a
 * time.
 */
#ifndef QT_BUFFER_H
#define QT_BUFFER_H

#include <stddef.h>
#include <stdint.h>

struct qt_pool;

struct qt_pool *qt_pool_new(void);   /* NULL when out of memory */
void qt_pool_free(struct qt_pool *); /* what still has owners is freed with its last one */

/* At least `size` bytes of any content, aligned to 64. NULL when out of memory. */
void *qt_buffer_new(struct qt_pool *, size_t size);
/* Another of at least `size` bytes with the first `used` of the old one, which is freed. NULL, and the old one stays,
 * when out of memory. `buffer` may be NULL. */
void *qt_buffer_resize(struct qt_pool *, void *buffer, size_t used, size_t size);
size_t qt_buffer_size(const void *buffer); /* bytes that fit; of NULL: 0 */
/* Zeros for reading only, shared by all who ask; each frees its own. */
void *qt_buffer_zeros(struct qt_pool *, size_t size);
void qt_buffer_free(void *buffer); /* NULL is nothing */

#endif
