/* SPDX-License-Identifier: Apache-2.0 */
/* Freed buffers wait in their pool for the next batch:
 *
 *   head (64 bytes: pool, size) │ bytes ...     a buffer is the address after its head
 *   pool: up to KEPT buffers, KEPT_BYTES together; small buffers go back to the allocator */
#include "base/buffer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 128, HEAD = 64 };
#define KEPT_BYTES ((size_t)128 << 20)
#define MIN_KEPT ((size_t)16 << 10) /* smaller buffers go back to the allocator */

struct head {
    struct qt_pool *pool;
    size_t size; /* usable bytes after the head */
    _Atomic int owners;
};

struct qt_pool {
    pthread_mutex_t lock;
    struct head *kept[KEPT];
    int n;
    size_t bytes;
    struct head *zeros; /* shared read-only zeros; NULL until the first request */
    int open;
    _Atomic int owners; /* the creator, plus one for each buffer in use */
};

static struct head *get_head(const void *buffer) { return (struct head *)((uintptr_t)buffer - HEAD); }

struct qt_pool *qt_pool_new(void)
{
    struct qt_pool *p = calloc(1, sizeof *p);
    if (p == NULL || pthread_mutex_init(&p->lock, NULL) != 0) {
        free(p);
        return NULL;
    }
    p->open = 1;
    atomic_store(&p->owners, 1);
    return p;
}

static void release_pool(struct qt_pool *p)
{
    if (atomic_fetch_sub(&p->owners, 1) != 1)
        return;
    for (int i = 0; i < p->n; i++)
        free(p->kept[i]);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void qt_pool_free(struct qt_pool *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    struct head *zeros = p->zeros;
    p->zeros = NULL;
    p->open = 0;
    pthread_mutex_unlock(&p->lock);
    if (zeros != NULL)
        qt_buffer_free((char *)zeros + HEAD);
    release_pool(p);
}

/* Returns the smallest kept block of `size` to about 2 * `size` bytes. The caller holds the lock. */
static struct head *take_kept(struct qt_pool *p, size_t size)
{
    int best = -1;
    for (int i = 0; i < p->n; i++)
        if (p->kept[i]->size >= size && p->kept[i]->size / 2 <= size &&
            (best < 0 || p->kept[i]->size < p->kept[best]->size))
            best = i;
    if (best < 0)
        return NULL;
    struct head *taken = p->kept[best];
    p->kept[best] = p->kept[--p->n];
    p->bytes -= taken->size;
    return taken;
}

void *qt_buffer_new(struct qt_pool *p, size_t size)
{
    pthread_mutex_lock(&p->lock);
    struct head *h = size >= MIN_KEPT ? take_kept(p, size) : NULL;
    pthread_mutex_unlock(&p->lock);
    if (h == NULL) {
        size_t whole = size >= MIN_KEPT ? size + size / 8 : size; /* spare room for a slightly larger batch */
        whole = (whole + HEAD - 1) / HEAD * HEAD;
        h = whole < size || whole > SIZE_MAX - HEAD ? NULL : aligned_alloc(HEAD, HEAD + whole);
        if (h == NULL)
            return NULL;
        h->pool = p;
        h->size = whole;
    }
    atomic_store(&h->owners, 1);
    atomic_fetch_add(&p->owners, 1);
    return (char *)h + HEAD;
}

void *qt_buffer_resize(struct qt_pool *p, void *buffer, size_t used, size_t size)
{
    if (buffer != NULL && get_head(buffer)->size >= size)
        return buffer;
    void *larger = qt_buffer_new(p, size);
    if (larger == NULL)
        return NULL;
    if (used > 0)
        memcpy(larger, buffer, used);
    qt_buffer_free(buffer);
    return larger;
}

size_t qt_buffer_size(const void *buffer) { return buffer != NULL ? get_head(buffer)->size : 0; }

void *qt_buffer_zeros(struct qt_pool *p, size_t size)
{
    pthread_mutex_lock(&p->lock);
    struct head *zeros = p->zeros;
    pthread_mutex_unlock(&p->lock);
    if (zeros == NULL || zeros->size < size) {
        char *made = qt_buffer_new(p, size);
        if (made == NULL)
            return NULL;
        memset(made, 0, get_head(made)->size);
        pthread_mutex_lock(&p->lock);
        p->zeros = get_head(made);
        pthread_mutex_unlock(&p->lock);
        if (zeros != NULL)
            qt_buffer_free((char *)zeros + HEAD);
        zeros = get_head(made);
    }
    atomic_fetch_add(&zeros->owners, 1);
    return (char *)zeros + HEAD;
}

void qt_buffer_free(void *buffer)
{
    if (buffer == NULL)
        return;
    struct head *h = get_head(buffer);
    if (atomic_fetch_sub(&h->owners, 1) != 1)
        return;
    struct qt_pool *p = h->pool;
    pthread_mutex_lock(&p->lock);
    int keep = p->open && p->n < KEPT && h->size >= MIN_KEPT && p->bytes + h->size <= KEPT_BYTES;
    if (keep) {
        p->kept[p->n++] = h;
        p->bytes += h->size;
    }
    pthread_mutex_unlock(&p->lock);
    if (!keep)
        free(h);
    release_pool(p);
}
