/* SPDX-License-Identifier: Apache-2.0 */
/* Threads with a stack of a chosen size: thousands of them fit into little memory. */
#ifndef QT_THREAD_H
#define QT_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* stack_bytes 0 = the system's default. 0, or an errno: no thread was started. The caller joins it. */
int qt_thread_start(pthread_t *, int64_t stack_bytes, void *(*run)(void *), void *arg);

#endif
