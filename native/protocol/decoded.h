/* SPDX-License-Identifier: Apache-2.0 */
/* Types of what a decoded connection tells: its events, its session, the sink that takes them. */
#ifndef QT_PROTOCOL_DECODED_H
#define QT_PROTOCOL_DECODED_H

#include "base/bytes.h"
#include "querytape.h"
#include "tls/key_log.h"
#include "tls/tls_types.h"

#define QT_ONLY_FOUND (UINT64_C(1) << 63)

enum qt_way { QT_WAY_CLIENT = 0, QT_WAY_SERVER = 1 }; /* who sent it */

/* One command and its answer. Spans hold until the sink returns. Numbers: -1 = unknown. Times: ns since the epoch. */
struct qt_decoded_event {
    const char *command;      /* of commands in schemas/names.toml */
    int64_t request_first_ns; /* first and last byte of the command, as captured */
    int64_t request_last_ns;
    int64_t reply_first_ns; /* first and last byte of the answer; -1 = none was seen, or none is due */
    int64_t reply_last_ns;
    struct qt_span user, host, db; /* p NULL = unknown; db: default schema when the command was sent */
    struct qt_span statement; /* query, prepare; of execute and bulk_execute: the prepared text where it is known */
    int64_t stmt;             /* prepared statement, numbered in its session from 1 */
    struct qt_span params;    /* of execute, bulk_execute, long_data, fetch, ...: schemas/params.md */
    int64_t rows_sent, rows_affected, bytes_sent, warnings, last_insert_id;
    int only_found; /* each row was there before: INSERT ... ON DUPLICATE KEY UPDATE generated no id that stayed */
    struct qt_span result_ids; /* of a query with several results: 8 bytes each, the id it generated or 0, and
                                  QT_ONLY_FOUND; p NULL = one */
    int64_t errno_;            /* 0 = succeeded, -1 = no answer was seen */
    struct qt_span error;      /* the server's message; p NULL = none */
    char checksum[48]; /* "" = none; "text:A:B" or "binary:A:B": rows in order, and as a set; 16 hex digits each */
    uint32_t flags;    /* QT_F_TRUNCATED, ... */
    int no_backslash;  /* the server's status behind it: NO_BACKSLASH_ESCAPES is on: 1, 0, -1 = unknown */
    int64_t packet;    /* number of the packet with the command's first byte, from 1 */
};

/* What is known of the connection, told with its first event and again when it changes or ends. */
struct qt_decoded_session {
    int64_t thread_id;
    struct qt_span user, host, db;      /* as at login */
    int32_t port;                       /* the client's */
    int64_t client_flags;               /* as agreed; -1 = unknown */
    struct qt_span charset, attributes; /* attributes: a JSON object */
    int64_t collation;                  /* what charset says, as a number; -1 = unknown */
    struct qt_span server_version;
    int connect_seen, quit_seen, open_at_start; /* open_at_start: joined in mid-stream */
    int encrypted, decrypted;                   /* it went over to TLS; and something of that could be read */
    enum qt_tls_end tls_end;                    /* why it could not, or not to the end */
};

struct qt_decoder;

struct qt_decoder_sink {
    void *self;
    /* May be NULL. Of a connection that was joined in mid-stream, before anything is told of it: gives the decoder what
     * else is known (qt_decoder_set_account, ...). Is anything? */
    int (*midway)(void *self, void *connection, struct qt_decoder *, struct qt_span host, int32_t port);
    int (*event)(void *self, void *connection, const struct qt_decoded_event *); /* QT_OK or a code, which ends all */
    int (*session)(void *self, void *connection, const struct qt_decoded_session *);
    void (*problem)(void *self, void *connection, int64_t packet, const char *kind, const char *message,
                    const char *found, size_t found_len);
};

struct qt_decoder_options {
    void *connection;                 /* handed to the sink's functions */
    int joined_midway;                /* no SYN was seen */
    size_t largest_kept;              /* bytes of one command kept at most; beyond it QT_F_TRUNCATED */
    struct qt_tls_log *keys;          /* not owned; NULL = TLS is not read */
    struct qt_parameter_types *types; /* of parameters, shared by all connections; not owned; may be NULL */
    struct qt_span client_host;       /* the peer's address as text; copied */
    int32_t client_port, server_port;
};

#endif
