/* SPDX-License-Identifier: Apache-2.0 */
/* A server that answers anything at once: OK to every command, a prepared statement to PREPARE. For measuring the replayer itself.
 *
 *   worker threads, each with an epoll of its own; all listen on the same socket
 *   connection: greeting ─► login, whoever ─► [ packet ─► answer, at once or after the set delay ]* ─► quit
 *
 * Nothing of a packet is kept but what its answer needs, so a connection takes a few hundred bytes.
 */
#ifndef QT_NULL_SERVER_H
#define QT_NULL_SERVER_H

#include <stddef.h>
#include <stdint.h>

enum { QT_NULL_ROOM = 512 }; /* of an answer */

/* A connection's parser: takes bytes as they come, in any pieces, and says what to answer. */
struct qt_null_peer {
    uint8_t head[4], command, seq;
    uint8_t n_head;         /* bytes of `head` so far */
    uint8_t state;          /* 0 login, 1 commands, 2 ended */
    uint8_t goes_on;        /* the packet before was full: this one is its continuation */
    uint32_t left, seen;    /* of the packet's payload */
    uint32_t marks;         /* `?` in the statement being prepared: each is taken for a parameter */
    uint32_t pending;       /* packets of definitions still to be sent */
    uint32_t statements;
};

/* The greeting; returns its length, at most QT_NULL_ROOM. */
size_t qt_null_greeting(uint32_t connection_id, uint8_t *out);
/* Takes up to n bytes; *used of them, at most to the end of one command. Returns the answer's length in `out` (0 = none yet, or none
 * at all); `peer->state` 2 = the client has said goodbye. */
size_t qt_null_take(struct qt_null_peer *, const uint8_t *in, size_t n, size_t *used, uint8_t *out);
/* After the answer to a PREPARE with parameters: the next piece of their definitions, 0 = that was all. */
size_t qt_null_definitions(struct qt_null_peer *, uint8_t *out);

#endif
