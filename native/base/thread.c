/* SPDX-License-Identifier: Apache-2.0 */
/* If the stack size is below the system's minimum, the minimum is used. */
#include "base/thread.h"

#include <limits.h>
#include <stddef.h>

int qt_thread_start(pthread_t *thread, int64_t stack_bytes, void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    size_t stack = stack_bytes < PTHREAD_STACK_MIN ? (size_t)PTHREAD_STACK_MIN : (size_t)stack_bytes;
    int error;

    pthread_attr_init(&attr);
    if (stack_bytes > 0)
        pthread_attr_setstacksize(&attr, stack);
    error = pthread_create(thread, &attr, run, arg);
    pthread_attr_destroy(&attr);
    return error;
}
