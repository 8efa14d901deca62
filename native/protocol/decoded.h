/* SPDX-License-Identifier: Apache-2.0 */
/* Output types of the decoder: events, sessions, and the sink that receives them. */
#ifndef QT_PROTOCOL_DECODED_H
#define QT_PROTOCOL_DECODED_H

#include "base/bytes.h"
#include "querytape.h"
#include "tls/key_log.h"
#include "tls/tls_types.h"

#define QT_ONLY_FOUND (UINT64_C(1) << 63)

enum qt_way { QT_WAY_CLIENT = 0, QT_WAY_SERVER = 1 }; /* direction, named after the side that sends */

/* One command and its reply. Spans are valid until the sink returns. In numbers, -1 = unknown. Times are ns since the
 * epoch. */
struct qt_decoded_event {
    const char *command;      /* a command name from schemas/names.toml */
    int64_t request_first_ns; /* capture times of the command's first and last byte */
    int64_t request_last_ns;
    int64_t reply_first_ns; /* capture times of the reply's first and last byte; -1 = no reply seen or expected */
    int64_t reply_last_ns;
    struct qt_span user, host, db; /* p NULL = unknown; `db`: default schema when the command was sent */
    struct qt_span statement; /* text of a query or prepare; for execute and bulk_execute the prepared text, if known */
    int64_t stmt;             /* number of the prepared statement in its session, from 1 */
    struct qt_span params;    /* for execute, bulk_execute, long_data, fetch, ...: see schemas/params.md */
    int64_t rows_sent, rows_affected, bytes_sent, warnings, last_insert_id;
    int only_found;            /* INSERT ... ON DUPLICATE KEY UPDATE that found every row and generated no lasting id */
    struct qt_span result_ids; /* ids that a query with several results generated, 8 bytes each: id or 0, plus
                                * QT_ONLY_FOUND; p NULL = one result */
    int64_t errno_;            /* 0 = success, -1 = no reply seen */
    struct qt_span error;      /* server's error message; p NULL = none */
    char checksum[48]; /* "" = none; "text:A:B" or "binary:A:B". A is the hash of the ordered rows, B is the hash of the
                        * row set, 16 hex digits each */
    uint32_t flags;    /* QT_F_TRUNCATED, ... */
    int no_backslash;  /* NO_BACKSLASH_ESCAPES in the server's status after the command; -1 = unknown */
    int64_t packet;    /* number of the packet that contains the command's first byte, from 1 */
};

/* Properties of a connection. The decoder reports them before the first event of the connection. It reports them again
 * when they change or the connection ends. */
struct qt_decoded_session {
    int64_t thread_id;
    struct qt_span user, host, db;      /* values at login */
    int32_t port;                       /* client's port */
    int64_t client_flags;               /* negotiated capabilities; -1 = unknown */
    struct qt_span charset, attributes; /* `attributes`: a JSON object */
    int64_t collation;                  /* collation id of `charset`; -1 = unknown */
    struct qt_span server_version;
    int connect_seen, quit_seen, open_at_start; /* `open_at_start`: the connection was joined in mid-stream */
    int encrypted, decrypted;                   /* `encrypted`: uses TLS; `decrypted`: at least partly decrypted */
    enum qt_tls_end tls_end;                    /* why decryption failed or ended early */
};

struct qt_decoder;

struct qt_decoder_sink {
    void *self;
    /* The decoder calls this function before the first event of a connection that was joined in mid-stream. The
     * function passes the known session state to the decoder (qt_decoder_set_account, ...). It returns whether any
     * state is known. The pointer may be NULL. */
    int (*midway)(void *self, void *connection, struct qt_decoder *, struct qt_span host, int32_t port);
    int (*event)(void *self, void *connection, const struct qt_decoded_event *); /* QT_OK, or a fatal error code */
    int (*session)(void *self, void *connection, const struct qt_decoded_session *);
    void (*problem)(void *self, void *connection, int64_t packet, const char *kind, const char *message,
                    const char *found, size_t found_len);
};

struct qt_decoder_options {
    void *connection;                 /* passed to the sink's functions */
    int joined_midway;                /* the capture contains no SYN of this connection */
    size_t largest_kept;              /* bytes kept per command; longer commands get QT_F_TRUNCATED */
    struct qt_tls_log *keys;          /* not owned; NULL = no TLS decryption */
    struct qt_parameter_types *types; /* parameter types shared by all connections; not owned; may be NULL */
    struct qt_span client_host;       /* client's address as text; copied */
    int32_t client_port, server_port;
};

#endif
