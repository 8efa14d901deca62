/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of a pool: they are reused and shared, and may outlive the pool. */
#include "base/buffer.h"
#include "check.h"

/* Freed buffers are reused. A shared buffer of zeros stays zero. A buffer may outlive the owner of its pool. */
static void freed_buffers_are_reused(void)
{
    struct qt_pool *pool = qt_pool_new();
    char *a = qt_buffer_new(pool, 100000), *zeros = qt_buffer_zeros(pool, 50000), *more = qt_buffer_zeros(pool, 90000);
    CHECK((uintptr_t)a % 64 == 0 && qt_buffer_size(a) >= 100000);
    memset(a, 1, 100000);
    qt_buffer_free(a);
    char *b = qt_buffer_new(pool, 99000);
    CHECK(a == b);
    CHECK(zeros[49999] == 0 && more[89999] == 0);
    qt_buffer_free(zeros);
    CHECK(qt_buffer_new(pool, SIZE_MAX - 10) == NULL);
    qt_pool_free(pool);
    CHECK(more[0] == 0);
    qt_buffer_free(more);
    qt_buffer_free(b);
}

int main(void)
{
    RUN(freed_buffers_are_reused);
    return 0;
}
