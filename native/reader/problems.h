/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what a parser did not understand, with its place: of each kind up to a limit, beyond which it says that there
 * are more. So what is certainly lost is told, however much else was found before it. */
#ifndef QT_PROBLEMS_H
#define QT_PROBLEMS_H

#include <pthread.h>

#include "base/arrow_abi.h"
#include "base/bytes.h"
#include "querytape.h"

#define QT_PROBLEMS_KEPT 10000 /* of one kind */
#define QT_PROBLEM_KINDS 64

struct qt_problem {
    int64_t file, line, offset;
    const char *kind; /* a constant text */
    char *detail;
};

struct qt_problems {
    pthread_mutex_t lock; /* the parser adds while another thread takes */
    struct qt_problem *items;
    size_t n, room;
    struct {
        const char *kind;
        uint64_t n;
    } kinds[QT_PROBLEM_KINDS];
    uint64_t total;
};

int qt_problems_init(struct qt_problems *);
void qt_problems_free(struct qt_problems *);
/* What may be shown of something that is not understood, a part of a statement perhaps: without secrets where it tells
 * of one, else as far as its first quote. It lasts until the normalizer is used again. */
struct qt_span qt_problem_excerpt(struct qt_normalizer *, struct qt_span);
/* `found` (found_len bytes of input) is shown cut and with control bytes replaced. Out of memory: only counted. */
void qt_problems_add(struct qt_problems *, int64_t file, int64_t line, int64_t offset, const char *kind,
                     const char *message, const char *found, size_t found_len);
/* A stream of what was kept since the last call: file, line, offset, kind, detail. */
int qt_problems_take(struct qt_problems *, struct ArrowArrayStream *out, struct qt_error *);

#endif
