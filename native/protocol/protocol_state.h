/* SPDX-License-Identifier: Apache-2.0 */
/* Types that the parts of the decoder share; and who includes whom, from the bottom:
 *
 *   state.h                these types
 *   executions.c           executions of them, read and written for the tape
 *   prepared_statements.c  prepared statements, what else their commands carry
 *   login_packets.c        packets of a login, parsed: greeting, response, CHANGE_USER, PROXY header
 *   pending.c              commands that wait for their answers (a queue: they may be pipelined): push, finish, lose
 *   server_replies.c       server packets -> the answer of the first command that waits
 *   client_commands.c      client packets -> commands that wait
 *   opening.c              first bytes: PROXY header, the X protocol, connections without an event
 *   resync.c            what can only be a command
 *   login.c                greeting, login, authentication
 *   compression.c          compressed frames -> bytes
 *   encrypted.c            TLS -> bytes
 *   decoder.c              life; bytes -> frames -> MySQL packets -> login, commands, replies; gaps and finding back
 */
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
    PHASE_GREETING, /* nothing was said yet, but for a PROXY header */
    PHASE_LOGIN,    /* the client's turn */
    PHASE_AUTH,     /* to and fro, until the server says OK or ERR */
    PHASE_COMMAND,
    PHASE_LOST, /* joined midway or after a gap: waits for a client packet that can only be a command */
    PHASE_DONE  /* encrypted without keys, a binary log stream, or ended: nothing more can be read */
};

enum qt_reply {
    REPLY_FIRST,   /* the first packet of a result */
    REPLY_COLUMNS, /* column definitions, `left` of them */
    REPLY_COLUMNS_EOF,
    REPLY_ROWS,
    REPLY_PARAMS, /* of a PREPARE: parameter definitions, then columns' */
    REPLY_PARAMS_EOF,
    REPLY_FILE /* LOCAL INFILE: the client sends the file; then comes OK */
};

struct qt_stmt {
    struct qt_stmt *next;
    uint32_t id; /* the server's; known when the PREPARE was answered */
    int answered, failed, closed;
    int owners;     /* the list, and each waiting command that names it */
    int64_t number; /* in the session, from 1 */
    uint16_t params, columns;
    struct qt_bytes text;
    struct qt_bytes types, names; /* as last sent: two bytes a parameter; length-encoded names, where they were sent */
    int of_others;                /* `types` are those that other connections sent with this text */
    uint8_t *has_long_data;       /* a byte a parameter; NULL before the first */
};

struct qt_pending_command {
    int type; /* COM_..., or -1 = login */
    const char *name;
    int no_reply;
    struct qt_bytes text;      /* what the event's statement is */
    struct qt_bytes payload;   /* of the packet behind the command byte, where the text isn't all of it */
    struct qt_bytes file;      /* LOCAL INFILE: the files that the server asked for, one behind the other */
    struct qt_bytes file_ends; /* of each file that came to its end: where it ends in `file`, 8 bytes */
    struct qt_stmt *stmt;
    uint64_t bytes; /* of the whole command, also what was not kept */
    int cut;        /* text, payload or file is not whole */
    int64_t first_ns, last_ns, packet;
    int64_t reply_first_ns, reply_last_ns;
    enum qt_reply state;
    uint64_t left;         /* definitions that are still due */
    uint64_t columns_left; /* of a PREPARE, behind the parameters */
    int binary;            /* rows in the binary protocol */
    int whole;             /* the answer was read to its end */
    int64_t rows, affected, warnings, insert_id, errno_;
    int status; /* of the server, as last seen in this answer; -1 = none was */
    uint64_t reply_bytes;
    struct qt_bytes error, schema; /* schema: that the server tells it has changed to */
    struct qt_bytes ids; /* of a query's results so far: 8 bytes each, the id that it says was generated or 0 */
    int has_schema;
    int only_found; /* the last OK says that each row of several was there before */
    struct qt_checksum checksum;
};

struct qt_stream {            /* one way */
    struct qt_bytes part;     /* a packet whose end has not come yet, header included */
    struct qt_bytes frame;    /* the same, of a compressed frame */
    int64_t first_ns, packet; /* of the first byte of `part` */
    int goes_on;              /* the packet before had the largest length: this one continues it */
    int aligned;              /* the next byte is a packet's first */
    size_t skip;              /* bytes of a packet that was told, which are skipped */
    uint8_t seq;
};

struct qt_decoder {
    struct qt_decoder_options options;
    struct qt_decoder_sink sink;
    char *host; /* the client's address, or what the PROXY header says */
    int32_t port;
    enum qt_phase phase;
    int midway_said, session_told, ended;
    struct qt_stream way[2];
    uint64_t server_caps, caps; /* caps: as agreed; has_caps */
    int has_caps;
    int deprecate_eof;        /* 1, 0, -1 = not known yet */
    int compressed;           /* 0, 1 = zlib, 2 = zstd */
    void *zstd;               /* ZSTD_DCtx; NULL before the first frame */
    struct qt_bytes inflated; /* the frame being read */
    int64_t thread_id;
    struct qt_bytes user, login_user, db, login_db, attributes, version;
    int has_user, has_db, has_attributes;
    int charset;
    int connect_seen, quit_seen, encrypted, decrypted;
    struct qt_tls *tls; /* owned; NULL before the client asks for it, and when nothing more of it can be read */
    enum qt_tls_end tls_end;
    struct qt_pending_command *pending; /* a ring of pending_room: [first_pending, first_pending + n_pending) */
    size_t pending_room, first_pending, n_pending;
    struct qt_stmt *stmts, *last_stmt;
    int64_t n_stmts;
    struct qt_bytes params; /* of the event being told */
    struct qt_opening {
        uint8_t first[12];
        int n;
        uint64_t bytes; /* of the way in all, without a PROXY header */
    } opening[2];
    int64_t opening_packet; /* where the connection begins */
    int x_protocol;
    size_t misfit; /* of an execution that is not understood: the byte at which it stopped to fit; 0 = none */
};

struct qt_piece { /* one MySQL packet, or a part of a split one */
    const uint8_t *p;
    size_t n;
    uint8_t seq;
    int continued; /* it continues the one before */
    int more;      /* the next one continues it */
    int64_t first_ns, last_ns, packet;
};

static inline struct qt_pending_command *qt_first_pending(const struct qt_decoder *d)
{
    return &d->pending[d->first_pending];
}

/* Tells a problem with the client and the command it came with. `found`: a text; NULL = `len` bytes, whose content is
 * somebody's data and is not shown. */
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

/* The packet is a problem. */
static inline void qt_decoder_packet_problem(const struct qt_decoder *d, const struct qt_piece *piece, const char *kind,
                                             const char *message)
{
    qt_decoder_problem(d, piece->packet, kind, message, NULL, piece->n);
}

static inline struct qt_pending_command *qt_last_pending(const struct qt_decoder *d)
{
    return &d->pending[(d->first_pending + d->n_pending - 1) % d->pending_room];
}

/* Replaces the content of `b`. 0, or -1 when out of memory. */
static inline int qt_bytes_set(struct qt_bytes *b, struct qt_span text)
{
    b->len = 0;
    return text.p != NULL ? qt_bytes_add(b, text.p, text.len) : 0;
}

/* Never with p NULL. */
static inline struct qt_span qt_bytes_span(const struct qt_bytes *b)
{
    return (struct qt_span){b->p != NULL ? b->p : "", b->len};
}

#endif
