/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the packets of a login. Keeps nothing: spans point into the packet. */
#ifndef QT_PROTOCOL_LOGIN_PACKETS_H
#define QT_PROTOCOL_LOGIN_PACKETS_H

#include "base/bytes.h"

struct qt_greeting {
    struct qt_span version;
    int64_t thread_id;
    uint64_t caps; /* MariaDB's own in the upper 32 bits */
};

struct qt_login_response {
    int has_caps;  /* caps and charset were read; also where the rest is damaged */
    uint64_t caps; /* what the client offers */
    int charset;
    int wants_tls; /* an SSLRequest: the rest comes encrypted */
    struct qt_span user;
    int has_db; /* the schema is known; db.p NULL = none */
    struct qt_span db;
    struct qt_span attributes; /* names and values as sent; p NULL = none */
};

struct qt_proxy_header {
    size_t used;   /* bytes of the header */
    char host[64]; /* the client; "" where the header names none */
    int port;
};

/* The server's greeting of protocol 10. 0, or -1 where it is another or damaged. */
int qt_parse_greeting(const uint8_t *p, size_t n, struct qt_greeting *out);
/* HandshakeResponse41 or SSLRequest. 0, or -1 where it is neither or damaged. */
int qt_parse_login_response(const uint8_t *p, size_t n, uint64_t server_caps, struct qt_login_response *out);
/* Connection attributes as a JSON object; what is damaged ends it. 0, or -1 when out of memory. */
int qt_write_attributes(struct qt_span attributes, struct qt_bytes *out);
/* The account and schema that a CHANGE_USER asks for. 0, or -1 where it is damaged. */
/* `collation`: -1 where it has none, as those of the oldest clients. */
int qt_parse_change_user(struct qt_span payload, struct qt_span *user, struct qt_span *db, int *collation);
/* Of what CHANGE_USER asks for alone its collation: the rest are names, and a scrambled password. 1 = it has none. */
int qt_write_collation(struct qt_span payload, struct qt_bytes *out);
/* A PROXY header, as text or binary: 1 = one, 0 = none, -1 = more bytes are needed. */
int qt_parse_proxy_header(const char *p, size_t n, struct qt_proxy_header *out);

#endif
