/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the session properties that are not part of events. The properties stay until they are taken as rows. */
#ifndef QT_SESSION_FACTS_H
#define QT_SESSION_FACTS_H

#include <pthread.h>

#include "base/arrow_build.h"
#include "base/bytes.h"
#include "querytape.h"

/* Properties of a session. -1 and p NULL = unknown. A later entry completes or corrects an earlier entry of the same
 * session. */
struct qt_session_fact {
    int64_t session, thread_id;
    struct qt_span user, host, db;
    int32_t port;
    int64_t client_flags;
    struct qt_span charset, attributes;
    int open_at_start, open_at_end, encrypted; /* 1 = yes, 0 = no, -1 = unknown */
};

struct qt_session_facts {
    pthread_mutex_t lock; /* the parser adds rows while another thread takes them */
    struct qt_columns columns;
    int ready;
};

int qt_session_facts_init(struct qt_session_facts *); /* returns 0, or -1 when out of memory */
void qt_session_facts_free(struct qt_session_facts *);
void qt_session_facts_add(struct qt_session_facts *, const struct qt_session_fact *);
/* Returns the properties added since the last call as a stream. The columns are those of struct qt_session_fact, in
 * order. */
int qt_session_facts_take(struct qt_session_facts *, struct ArrowArrayStream *out, struct qt_error *);

#endif
