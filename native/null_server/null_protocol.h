/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of the null server: a connection's bytes in, what to answer out. No sockets, no allocations;
 * one connection's thread at a time. */
#ifndef QT_NULL_PROTOCOL_H
#define QT_NULL_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

enum { QT_NULL_ROOM = 512 }; /* of an answer */
enum { QT_NULL_LOGIN = 0, QT_NULL_COMMANDS = 1, QT_NULL_ENDED = 2 };

/* A connection's parser: takes bytes as they come, in any pieces, and says what to answer. */
struct qt_null_peer {
    uint8_t head[4], command, seq;
    uint8_t n_head;      /* bytes of `head` so far */
    uint8_t state;       /* QT_NULL_LOGIN, ... */
    uint8_t goes_on;     /* the packet before was full: this one is its continuation */
    uint32_t left, seen; /* of the packet's payload */
    uint32_t marks;      /* `?` in the statement being prepared: each is taken for a parameter */
    uint32_t pending;    /* packets of definitions still to be sent */
    uint32_t statements;
};

/* The greeting; returns its length, at most QT_NULL_ROOM. */
size_t qt_null_make_greeting(uint32_t connection_id, uint8_t *out);
/* Takes up to n bytes; *used of them, at most to the end of one command. Returns the answer's length in `out` (0 =
 * none yet, or none at all); `peer->state` QT_NULL_ENDED = the client has quit. */
size_t qt_null_take(struct qt_null_peer *, const uint8_t *in, size_t n, size_t *used, uint8_t *out);
/* After the answer to a PREPARE with parameters: the next piece of their definitions, 0 = that was all. */
size_t qt_null_make_definitions(struct qt_null_peer *, uint8_t *out);

#endif
