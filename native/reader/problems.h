/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the unparsed input of a parser with its position. At most QT_PROBLEMS_KEPT problems of each kind are kept. An
 * extra problem reports that more problems were found. A frequent kind therefore does not hide the other kinds. */
#ifndef QT_PROBLEMS_H
#define QT_PROBLEMS_H

#include <pthread.h>

#include "base/arrow_abi.h"
#include "base/bytes.h"
#include "querytape.h"

#define QT_PROBLEMS_KEPT 10000 /* maximum number per kind */
#define QT_PROBLEM_KINDS 64

struct qt_problem {
    int64_t file, line, offset;
    const char *kind; /* a constant string */
    char *detail;
};

struct qt_problems {
    pthread_mutex_t lock; /* the parser adds problems while another thread takes them */
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
/* Returns the printable part of unparsed input that may contain a statement. If the input contains secrets, the
 * redacted text is returned. Otherwise the text ends before its first quote. The result is valid until the next use of
 * the normalizer. */
struct qt_span qt_problem_excerpt(struct qt_normalizer *, struct qt_span);
/* Adds a problem. `found` (found_len bytes of input) is shown truncated and without control bytes. When out of memory,
 * the problem is only counted. */
void qt_problems_add(struct qt_problems *, int64_t file, int64_t line, int64_t offset, const char *kind,
                     const char *message, const char *found, size_t found_len);
/* Returns the problems kept since the last call as a stream: file, line, offset, kind, detail. */
int qt_problems_take(struct qt_problems *, struct ArrowArrayStream *out, struct qt_error *);

#endif
