/* SPDX-License-Identifier: Apache-2.0 */
/* Threads with a chosen stack size, so that thousands of threads need little memory. */
#ifndef QT_THREAD_H
#define QT_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Starts a thread; the caller joins it. stack_bytes 0 = the system's default. Returns 0, or an errno if no thread was
 * started. */
int qt_thread_start(pthread_t *, int64_t stack_bytes, void *(*run)(void *), void *arg);

#endif
