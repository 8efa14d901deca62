/* SPDX-License-Identifier: Apache-2.0 */
/* Check macros for C tests. A test is a function. A failed check prints its location and ends the program. */
#ifndef QT_CHECK_H
#define QT_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

#define CHECK_INT(found, expected) \
    do { \
        long long found_ = (long long)(found), expected_ = (long long)(expected); \
        if (found_ != expected_) { \
            fprintf(stderr, "%s:%d: %s: expected %lld, found %lld\n", __FILE__, __LINE__, #found, expected_, found_); \
            exit(1); \
        } \
    } while (0)

#define CHECK_TEXT(found, expected) \
    do { \
        const char *found_ = (found); \
        if (found_ == NULL || strcmp(found_, (expected)) != 0) { \
            fprintf(stderr, "%s:%d: %s: expected \"%s\", found \"%s\"\n", __FILE__, __LINE__, #found, (expected), \
                    found_ == NULL ? "(null)" : found_); \
            exit(1); \
        } \
    } while (0)

/* Returns the case step n: a test runs only every n-th case. QT_STEP in the Makefile sets n. The slow ASan build needs
 * an n larger than 1. */
static inline size_t case_step(void)
{
    const char *step = getenv("QT_STEP");
    return step == NULL ? 1 : strtoul(step, NULL, 10);
}

#define RUN(test) \
    do { \
        test(); \
        printf("ok %s\n", #test); \
        fflush(stdout); \
    } while (0)

#endif
