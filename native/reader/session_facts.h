/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what a source knows of sessions beyond their events, until it is taken as rows. */
#ifndef QT_SESSION_FACTS_H
#define QT_SESSION_FACTS_H

#include <pthread.h>

#include "base/arrow_build.h"
#include "base/bytes.h"
#include "querytape.h"

/* -1 and p NULL = unknown. A later fact of a session completes or corrects an earlier one. */
struct qt_session_fact {
    int64_t session, thread_id;
    struct qt_span user, host, db;
    int32_t port;
    int64_t client_flags;
    struct qt_span charset, attributes;
    int open_at_start, open_at_end, encrypted; /* 1, 0, -1 */
};

struct qt_session_facts {
    pthread_mutex_t lock; /* the parser adds while another thread takes */
    struct qt_columns columns;
    int ready;
};

int qt_session_facts_init(struct qt_session_facts *); /* 0, or -1 when out of memory */
void qt_session_facts_free(struct qt_session_facts *);
void qt_session_facts_add(struct qt_session_facts *, const struct qt_session_fact *);
/* A stream of what was added since the last call: the columns of struct qt_session_fact, in its order. */
int qt_session_facts_take(struct qt_session_facts *, struct ArrowArrayStream *out, struct qt_error *);

#endif
