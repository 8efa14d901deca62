/* SPDX-License-Identifier: Apache-2.0 */
/* One MySQL connection as its two byte streams: what was asked, what came back.
 *
 *     struct qt_wire *w = qt_wire_new(&options, &sink);
 *     qt_wire_bytes(w, QT_WAY_CLIENT, bytes, n, when_ns, packet);   in order inside each way; copies what it keeps
 *     qt_wire_gap(w, QT_WAY_SERVER, lost, when_ns, packet);         bytes that were never seen
 *     qt_wire_end(w, how, when_ns); qt_wire_free(w);
 *
 * Knows nothing of TCP. Memory: at most what options allow for a connection, whatever a length field says. One thread
 * at a time for each connection; connections are independent of each other.
 */
#ifndef QT_WIRE_H
#define QT_WIRE_H

#include "querytape.h"
#include "span.h"

enum qt_way { QT_WAY_CLIENT = 0, QT_WAY_SERVER = 1 }; /* who sent it */

enum qt_wire_ending {
    QT_WIRE_FIN = 0,
    QT_WIRE_RST = 1,
    QT_WIRE_REUSED = 2,       /* the same addresses began another connection */
    QT_WIRE_CAPTURE_ENDED = 3
};

/* One command and its answer. Spans hold until the sink returns. Numbers: -1 = unknown. Times: ns since the epoch. */
struct qt_wire_event {
    const char *command;           /* of COMMANDS in schemas/codes.py */
    int64_t request_first_ns;      /* first and last byte of the command, as seen on the wire */
    int64_t request_last_ns;
    int64_t reply_first_ns;        /* first and last byte of the answer; -1 = none was seen, or none is due */
    int64_t reply_last_ns;
    struct qt_span user, host, db; /* p NULL = unknown; db: default schema when the command was sent */
    struct qt_span statement;      /* query, prepare; of execute and bulk_execute: the prepared text where it is known */
    int64_t stmt;                  /* prepared statement, numbered in its session from 1 */
    struct qt_span params;         /* of execute, bulk_execute, long_data, fetch, ...: schemas/params.md */
    int64_t rows_sent, rows_affected, bytes_sent, warnings, last_insert_id;
    int64_t errno_;                /* 0 = succeeded, -1 = no answer was seen */
    struct qt_span error;          /* the server's message; p NULL = none */
    char checksum[48];             /* "" = none; "text:A:B" or "binary:A:B": rows in order, and as a set; 16 hex digits each */
    uint32_t flags;                /* QT_F_TRUNCATED, ... */
    int64_t packet;                /* number of the packet with the command's first byte, from 1 */
};

/* What is known of the connection, told with its first event and again when it changes or ends. */
struct qt_wire_session {
    int64_t thread_id;
    struct qt_span user, host, db; /* as at login */
    int32_t port;                  /* the client's */
    int64_t client_flags;          /* as agreed; -1 = unknown */
    struct qt_span charset, attributes; /* attributes: a JSON object */
    struct qt_span server_version;
    int connect_seen, quit_seen, encrypted, open_at_start; /* open_at_start: joined in mid-stream */
};

struct qt_wire_sink {
    void *self;
    int (*event)(void *self, void *connection, const struct qt_wire_event *);     /* QT_OK or a code, which ends all */
    int (*session)(void *self, void *connection, const struct qt_wire_session *);
    void (*problem)(void *self, void *connection, int64_t packet, const char *kind, const char *expected,
                    const char *found, size_t found_len);
};

struct qt_wire_options {
    void *connection;              /* handed to the sink's functions */
    int joined_midway;             /* no SYN was seen */
    size_t largest_kept;           /* bytes of one command kept at most; beyond it QT_F_TRUNCATED */
    struct qt_span client_host;    /* the peer's address as text; copied */
    int32_t client_port;
};

struct qt_wire *qt_wire_new(const struct qt_wire_options *, const struct qt_wire_sink *); /* NULL when out of memory */
int qt_wire_bytes(struct qt_wire *, enum qt_way, const char *bytes, size_t n, int64_t when_ns, int64_t packet);
int qt_wire_gap(struct qt_wire *, enum qt_way, uint64_t lost, int64_t when_ns, int64_t packet); /* lost: 0 = unknown how many */
int qt_wire_end(struct qt_wire *, enum qt_wire_ending, int64_t when_ns);
void qt_wire_free(struct qt_wire *);
size_t qt_wire_memory(const struct qt_wire *); /* bytes held now, about */

#endif
