/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   wire.c          life; bytes -> MySQL packets; gaps and finding the way again
 *   wire_login.c    greeting, login, authentication, CHANGE_USER's dialogue, PROXY header
 *   wire_compress.c compressed frames -> bytes
 *   wire_command.c  client packets -> commands that wait for their answers (a queue: commands may be pipelined)
 *   wire_reply.c    server packets -> the answer of the first command that waits -> event
 *   wire_stmt.c     prepared statements, their parameters
 */
#ifndef QT_WIRE_PRIVATE_H
#define QT_WIRE_PRIVATE_H

#include "bytes.h"
#include "checksum.h"
#include "protocol.h"
#include "reading.h"
#include "values.h"
#include "wire.h"

enum { MOST_WAITING = 1024, KEEP_BYTES = 64 << 10 };

enum qt_phase {
    PHASE_GREETING,   /* nothing was said yet, but for a PROXY header */
    PHASE_LOGIN,      /* the client's turn */
    PHASE_AUTH,       /* to and fro, until the server says OK or ERR */
    PHASE_COMMAND,
    PHASE_LOST,       /* joined midway or after a gap: waits for a client packet that can only be a command */
    PHASE_DONE        /* encrypted, a binary log stream, or ended: nothing more can be read */
};

enum qt_reply {
    REPLY_FIRST,      /* the first packet of a result */
    REPLY_COLUMNS,    /* column definitions, `left` of them */
    REPLY_COLUMNS_EOF,
    REPLY_ROWS,
    REPLY_PARAMS,     /* of a PREPARE: parameter definitions, then columns' */
    REPLY_PARAMS_EOF,
    REPLY_FILE        /* LOCAL INFILE: the client sends the file; then comes OK */
};

struct qt_stmt {
    struct qt_stmt *next;
    uint32_t id;              /* the server's; known when the PREPARE was answered */
    int answered, failed, closed;
    int owners;               /* the list, and each waiting command that names it */
    int64_t number;           /* in the session, from 1 */
    uint16_t params, columns;
    struct qt_bytes text;
    struct qt_bytes types, names; /* as last sent: two bytes a parameter; length-encoded names, where they were sent */
    uint8_t *has_long_data;   /* a byte a parameter; NULL before the first */
};

struct qt_command {
    int type;                 /* COM_..., or -1 = login */
    const char *name;
    int no_reply;
    struct qt_bytes text;     /* what the event's statement is */
    struct qt_bytes payload;  /* of the packet behind the command byte, where the text isn't all of it */
    struct qt_bytes file;     /* LOCAL INFILE */
    struct qt_stmt *stmt;
    uint64_t bytes;           /* of the whole command, also what was not kept */
    int cut;                  /* text or payload is not whole */
    int64_t first_ns, last_ns, packet;
    int64_t reply_first_ns, reply_last_ns;
    enum qt_reply state;
    uint64_t left;            /* definitions that are still due */
    uint64_t columns_left;    /* of a PREPARE, behind the parameters */
    int binary;               /* rows in the binary protocol */
    int whole;                /* the answer was read to its end */
    int64_t rows, affected, warnings, insert_id, errno_;
    uint64_t reply_bytes;
    struct qt_bytes error, schema; /* schema: that the server tells it has changed to */
    int has_schema;
    struct qt_checksum checksum;
};

struct qt_stream { /* one way */
    struct qt_bytes part;      /* a packet whose end has not come yet, header included */
    struct qt_bytes frame;     /* the same, of a compressed frame */
    int64_t first_ns, packet;  /* of the first byte of `part` */
    int goes_on;               /* the packet before had the largest length: this one continues it */
    int aligned;               /* the next byte is a packet's first */
    uint8_t seq;
};

struct qt_wire {
    struct qt_wire_options options;
    struct qt_wire_sink sink;
    char *host;               /* the client's address, or what the PROXY header says */
    int32_t port;
    enum qt_phase phase;
    int midway_said, session_told, ended;
    struct qt_stream way[2];
    uint64_t server_caps, caps; /* caps: as agreed; has_caps */
    int has_caps;
    int deprecate_eof;        /* 1, 0, -1 = not known yet */
    int compressed;           /* 0, 1 = zlib, 2 = zstd */
    void *zstd;               /* ZSTD_DCtx; NULL before the first frame */
    struct qt_bytes inflated;
    int64_t thread_id;
    struct qt_bytes user, login_user, db, login_db, attributes, version, new_user, new_db;
    int has_user, has_db, has_attributes, has_new_db;
    int charset;
    int connect_seen, quit_seen, encrypted;
    int commands_seen;
    struct qt_command *waiting; /* a ring of `room`: [first, first + n) */
    size_t room, first, n;
    struct qt_stmt *stmts, *last_stmt;
    int64_t n_stmts;
    struct qt_bytes params;   /* of the event being told */
};

struct qt_piece { /* one MySQL packet, or a part of a split one */
    const uint8_t *p;
    size_t n;
    uint8_t seq;
    int continued;            /* it continues the one before */
    int more;                 /* the next one continues it */
    int64_t first_ns, last_ns, packet;
};

/* wire.c */
int qt_wire_raw(struct qt_wire *, enum qt_way, const char *p, size_t n, int64_t when_ns, int64_t packet); /* uncompressed */
void qt_wire_problem(struct qt_wire *, int64_t packet, const char *kind, const char *expected, const void *found, size_t len);
int qt_wire_lose(struct qt_wire *, int64_t packet); /* what waits is told without an answer; then the way is sought again */
int qt_wire_set(struct qt_bytes *, struct qt_span); /* 0, or -1 when out of memory */
/* wire_login.c */
int qt_wire_login(struct qt_wire *, enum qt_way, const struct qt_piece *);
int qt_wire_proxy(struct qt_wire *, const char *p, size_t n, size_t *used); /* 1 = a header, 0 = none, -1 = more is needed */
int qt_wire_tell_session(struct qt_wire *);
int qt_wire_change_user_packet(struct qt_wire *, const struct qt_command *);
/* wire_compress.c */
int qt_wire_inflate(struct qt_wire *, enum qt_way, const char *p, size_t n, int64_t when_ns, int64_t packet);
/* wire_command.c */
int qt_wire_client(struct qt_wire *, const struct qt_piece *);
struct qt_command *qt_wire_push(struct qt_wire *, int type, const struct qt_piece *); /* NULL when out of memory */
int qt_wire_finish(struct qt_wire *); /* tells the first waiting command's event, and those behind it that need no answer */
const char *qt_wire_command_name(int type);
/* wire_reply.c */
int qt_wire_server(struct qt_wire *, const struct qt_piece *);
int qt_wire_reply_ok(struct qt_wire *, struct qt_command *, const uint8_t *p, size_t n, unsigned *status); /* parses OK */
void qt_wire_reply_err(struct qt_wire *, struct qt_command *, const uint8_t *p, size_t n);
/* wire_stmt.c */
struct qt_stmt *qt_stmt_new(struct qt_wire *);
void qt_stmt_drop(struct qt_stmt *);
struct qt_stmt *qt_stmt_find(struct qt_wire *, uint32_t id);
void qt_stmt_close(struct qt_wire *, struct qt_stmt *);
void qt_stmt_forget_all(struct qt_wire *);
/* Fills w->params for a command that has some; 0, 1 = none, -1 = not understood (raw ones are given). */
int qt_stmt_params(struct qt_wire *, struct qt_command *);

#endif
