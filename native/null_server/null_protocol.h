/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of the null server. The code takes the bytes of a connection and produces the answers. It uses no
 * sockets and no allocations. Only one thread at a time may use a connection. */
#ifndef QT_NULL_PROTOCOL_H
#define QT_NULL_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

enum { QT_NULL_ROOM = 512 }; /* maximum length of an answer in bytes */
enum { QT_NULL_LOGIN = 0, QT_NULL_COMMANDS = 1, QT_NULL_ENDED = 2 };

/* The parser of one connection. It accepts bytes in pieces of any size and produces the answers. */
struct qt_null_peer {
    uint8_t head[4], command, seq;
    uint8_t n_head;      /* number of bytes received in `head` */
    uint8_t state;       /* QT_NULL_LOGIN, ... */
    uint8_t goes_on;     /* the previous packet was full: this packet continues it */
    uint32_t left, seen; /* payload bytes of the packet: still missing, and received */
    uint32_t marks;      /* number of `?` in the prepared text; each counts as a parameter */
    uint32_t pending;    /* definition packets that are still to be sent */
    uint32_t statements;
};

/* Writes the greeting. Returns its length, at most QT_NULL_ROOM. */
size_t qt_null_make_greeting(uint32_t connection_id, uint8_t *out);
/* Reads up to n bytes, at most to the end of one command. Sets *used to the number of bytes read. Returns the length of
 * the answer in `out`. 0 means that there is no answer yet, or that the command has none. `peer->state` becomes
 * QT_NULL_ENDED when the client quits. */
size_t qt_null_take(struct qt_null_peer *, const uint8_t *in, size_t n, size_t *used, uint8_t *out);
/* Writes the next part of the parameter definitions. Returns the length of this part, or 0 at the end. Call the
 * function after the answer to a PREPARE with parameters. */
size_t qt_null_make_definitions(struct qt_null_peer *, uint8_t *out);

#endif
