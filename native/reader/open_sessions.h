/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that were open before a capture began, as reported by their server. They contain the account and the
 * statements that bring a new connection into the same state. After qt_reader_set_open_sessions, only the parsing
 * thread uses them. */
#ifndef QT_OPEN_SESSIONS_H
#define QT_OPEN_SESSIONS_H

#include <stdint.h>

#include "base/bytes.h"
#include "querytape.h"

struct qt_open_statement {
    struct qt_open_statement *next;
    int64_t id; /* server's id of a prepared statement; -1 = a statement to send unchanged */
    struct qt_span text;
    uint16_t params; /* number of parameters of a prepared statement */
};

struct qt_open_session {
    int64_t thread_id;
    struct qt_span host; /* client's address; p NULL = any */
    int32_t port;        /* client's port; 0 = unknown */
    struct qt_span user, db, charset;
    struct qt_session_mode mode;
    struct qt_open_statement *statements, *last;
    int taken; /* already assigned to a session of the input */
};

/* Returns the normalizer for the statements of these sessions. */
struct qt_normalizer *qt_open_sessions_normalizer(const struct qt_open_sessions *);
/* Returns the session of a thread id or of a client. Returns NULL if this session is unknown or already taken. */
struct qt_open_session *qt_open_sessions_find_thread(struct qt_open_sessions *, int64_t thread_id);
struct qt_open_session *qt_open_sessions_find_client(struct qt_open_sessions *, struct qt_span host, int32_t port);

#endif
