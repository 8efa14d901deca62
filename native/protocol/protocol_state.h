/* SPDX-License-Identifier: Apache-2.0 */
/* Types shared by the parts of the decoder. The parts, each including only parts above it:
 *
 *   protocol_state.h       these types
 *   executions.c           executions of prepared statements, read and written for the tape
 *   prepared_statements.c  prepared statements, and the other parameters of commands
 *   login_packets.c        packets of a login, parsed: greeting, response, CHANGE_USER, PROXY header
 *   pending.c              queue of commands that wait for replies: push, finish, lose
 *   server_replies.c       server packets -> the reply of the first pending command
 *   client_commands.c      client packets -> pending commands
 *   opening.c              first bytes: PROXY header, the X Protocol, connections without an event
 *   resync.c               recognizes commands after a loss of synchronization
 *   login.c                greeting, login, authentication
 *   compression.c          compressed frames -> bytes
 *   encrypted.c            TLS -> bytes
 *   decoder.c              creation; bytes -> frames -> MySQL packets -> login, commands, replies; missing bytes */
#ifndef QT_PROTOCOL_STATE_H
#define QT_PROTOCOL_STATE_H

#include <stdio.h>

#include "base/bytes.h"
#include "base/checksum.h"
#include "protocol/decoded.h"
#include "protocol/protocol.h"
#include "tls/tls.h"

enum { MAX_PENDING = 1024, KEEP_BYTES = 64 << 10 };

enum qt_phase {
    PHASE_GREETING, /* no bytes yet, except a PROXY header */
    PHASE_LOGIN,    /* waiting for the client's login */
    PHASE_AUTH,     /* authentication, until the server sends OK or ERR */
    PHASE_COMMAND,
    PHASE_LOST, /* joined in mid-stream or bytes missing: waits for a recognizable command */
    PHASE_DONE  /* the rest is unreadable (TLS without keys, binary log stream) or the connection ended */
};

enum qt_reply {
    REPLY_FIRST,   /* waiting for the first packet of a result */
    REPLY_COLUMNS, /* column definitions; `left` of them still follow */
    REPLY_COLUMNS_EOF,
    REPLY_ROWS,
    REPLY_PARAMS, /* PREPARE: parameter definitions, then column definitions */
    REPLY_PARAMS_EOF,
    REPLY_FILE /* LOCAL INFILE: the client sends the file, then OK follows */
};

struct qt_stmt {
    struct qt_stmt *next;
    uint32_t id; /* server's id, known after the PREPARE was answered */
    int answered, failed, closed;
    int owners;     /* reference count: the list, `last_stmt` and each pending command that uses the statement */
    int64_t number; /* number of the statement in its session, from 1 */
    uint16_t params, columns;
    struct qt_bytes text;
    struct qt_bytes types, names; /* as last sent: 2 bytes per parameter; length-encoded names, if any */
    int of_others;                /* `types` come from other connections that sent the same text */
    uint8_t *has_long_data;       /* 1 byte per parameter; NULL before the first long data */
};

struct qt_pending_command {
    int type; /* COM_..., or -1 for the login */
    const char *name;
    int no_reply;
    struct qt_bytes text;      /* statement text of the event */
    struct qt_bytes payload;   /* bytes after the command byte, unless `text` contains them all */
    struct qt_bytes file;      /* LOCAL INFILE: contents of all requested files, concatenated */
    struct qt_bytes file_ends; /* offset in `file` of each finished file's end, 8 bytes each */
    struct qt_stmt *stmt;
    uint64_t bytes; /* length of the whole command, including bytes that were not kept */
    int cut;        /* `text`, `payload` or `file` is incomplete */
    int64_t first_ns, last_ns, packet;
    int64_t reply_first_ns, reply_last_ns;
    enum qt_reply state;
    uint64_t left;         /* definitions that are still expected */
    uint64_t columns_left; /* PREPARE: column definitions after the parameters */
    int binary;            /* the rows use the binary protocol */
    int whole;             /* the reply is complete */
    int64_t rows, affected, warnings, insert_id, errno_;
    int status; /* last server status in this reply; -1 = none */
    uint64_t reply_bytes;
    struct qt_bytes error, schema; /* `schema`: the new default schema that the server reported */
    struct qt_bytes ids;           /* generated ids of a query's results so far, 8 bytes each: id or 0 */
    int has_schema;
    int only_found; /* the last OK reports that each of several rows already existed */
    struct qt_checksum checksum;
};

struct qt_stream {            /* one direction */
    struct qt_bytes part;     /* an incomplete packet, header included */
    struct qt_bytes frame;    /* an incomplete compressed frame, header included */
    int64_t first_ns, packet; /* time and packet number of the first byte of `part` */
    int goes_on;              /* the last packet had the maximum length: the next packet continues it */
    int aligned;              /* the next byte begins a packet */
    size_t skip;              /* bytes to skip: the rest of a packet that was already reported */
    uint8_t seq;
};

struct qt_decoder {
    struct qt_decoder_options options;
    struct qt_decoder_sink sink;
    char *host; /* client's address, from the PROXY header if there is one */
    int32_t port;
    enum qt_phase phase;
    int midway_said, session_told, ended;
    struct qt_stream way[2];
    uint64_t server_caps, caps; /* `caps`: negotiated, valid if `has_caps` */
    int has_caps;
    int deprecate_eof;        /* 1 = yes, 0 = no, -1 = unknown so far */
    int compressed;           /* 0 = no, 1 = zlib, 2 = zstd */
    void *zstd;               /* a ZSTD_DCtx; NULL before the first frame */
    struct qt_bytes inflated; /* content of the current frame */
    int64_t thread_id;
    struct qt_bytes user, login_user, db, login_db, attributes, version;
    int has_user, has_db, has_attributes;
    int charset;
    int connect_seen, quit_seen, encrypted, decrypted;
    struct qt_tls *tls; /* owned; NULL before the client requests TLS, and after the readable part */
    enum qt_tls_end tls_end;
    struct qt_pending_command *pending; /* ring of `pending_room`: [first_pending, first_pending + n_pending) */
    size_t pending_room, first_pending, n_pending;
    struct qt_stmt *stmts, *last_stmt;
    int64_t n_stmts;
    struct qt_bytes params; /* parameters of the event being reported */
    struct qt_opening {
        uint8_t first[12];
        int n;
        uint64_t bytes; /* total bytes of this direction, without a PROXY header */
    } opening[2];
    int64_t opening_packet; /* number of the packet that began the connection */
    int x_protocol;
    size_t misfit; /* first byte of an undecodable execution that does not fit; 0 = none */
};

struct qt_piece { /* one MySQL packet, or one part of a split packet */
    const uint8_t *p;
    size_t n;
    uint8_t seq;
    int continued; /* continues the previous part */
    int more;      /* another part follows */
    int64_t first_ns, last_ns, packet;
};

static inline struct qt_pending_command *qt_first_pending(const struct qt_decoder *d)
{
    return &d->pending[d->first_pending];
}

/* Reports a problem together with the client and the current command. `found` is a text of `len` bytes. If `found` is
 * NULL, only the number `len` is shown, because the bytes are user data. */
static inline void qt_decoder_problem(const struct qt_decoder *d, int64_t packet, const char *kind, const char *message,
                                      const char *found, size_t len)
{
    const char *command = d->n_pending > 0            ? qt_first_pending(d)->name
                          : d->phase == PHASE_COMMAND ? "no command"
                                                      : "login";
    char text[256];
    int n = snprintf(text, sizeof text, "%s:%d, %s", d->host, (int)d->port, command);
    if (n < (int)sizeof text && found != NULL)
        n += snprintf(text + n, sizeof text - (size_t)n, ": %.*s", (int)len, found);
    else if (n < (int)sizeof text && len > 0)
        n += snprintf(text + n, sizeof text - (size_t)n, ": %zu bytes", len);
    if (d->sink.problem != NULL)
        d->sink.problem(d->sink.self, d->options.connection, packet, kind, message, text,
                        (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* Reports a problem with the packet `piece`. */
static inline void qt_decoder_packet_problem(const struct qt_decoder *d, const struct qt_piece *piece, const char *kind,
                                             const char *message)
{
    qt_decoder_problem(d, piece->packet, kind, message, NULL, piece->n);
}

static inline struct qt_pending_command *qt_last_pending(const struct qt_decoder *d)
{
    return &d->pending[(d->first_pending + d->n_pending - 1) % d->pending_room];
}

/* Replaces the content of `b`. Returns 0, or -1 when out of memory. */
static inline int qt_bytes_set(struct qt_bytes *b, struct qt_span text)
{
    b->len = 0;
    return text.p != NULL ? qt_bytes_add(b, text.p, text.len) : 0;
}

/* Returns the content of `b`. The span's `p` is never NULL. */
static inline struct qt_span qt_bytes_span(const struct qt_bytes *b)
{
    return (struct qt_span){b->p != NULL ? b->p : "", b->len};
}

#endif
