/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that were open before a capture began, as their server describes them: who they are, and the statements
 * that bring a new connection into their state. Read by the parsing thread alone once the reader has them. */
#ifndef QT_OPEN_SESSIONS_H
#define QT_OPEN_SESSIONS_H

#include <stdint.h>

#include "base/bytes.h"
#include "querytape.h"

struct qt_open_statement {
    struct qt_open_statement *next;
    int64_t id; /* the server's, of a prepared statement; -1 = a statement to be sent as it is */
    struct qt_span text;
    uint16_t params; /* of a prepared statement */
};

struct qt_open_session {
    int64_t thread_id;
    struct qt_span host; /* the client's address; p NULL = any */
    int32_t port;        /* the client's; -1 = not known */
    struct qt_span user, db, charset;
    struct qt_session_mode mode;
    struct qt_open_statement *statements, *last;
    int taken; /* a session of the input is it */
};

/* For their statements. */
struct qt_normalizer *qt_open_sessions_normalizer(const struct qt_open_sessions *);
/* NULL = none, or it is taken already. */
struct qt_open_session *qt_open_sessions_find_thread(struct qt_open_sessions *, int64_t thread_id);
struct qt_open_session *qt_open_sessions_find_client(struct qt_open_sessions *, struct qt_span host, int32_t port);

#endif
