/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the packets of a login. Copies nothing: spans point into the packet. */
#ifndef QT_PROTOCOL_LOGIN_PACKETS_H
#define QT_PROTOCOL_LOGIN_PACKETS_H

#include "base/bytes.h"

struct qt_greeting {
    struct qt_span version;
    int64_t thread_id;
    uint64_t caps; /* MariaDB's own capabilities are in the upper 32 bits */
};

struct qt_login_response {
    int has_caps;  /* `caps` and `charset` are valid, even if the rest is damaged */
    uint64_t caps; /* capabilities that the client offers */
    int charset;
    int wants_tls; /* an SSLRequest: the login follows encrypted */
    struct qt_span user;
    int has_db; /* the schema is known; `db.p` NULL = no schema */
    struct qt_span db;
    struct qt_span attributes; /* connection attributes as sent; p NULL = none */
};

struct qt_proxy_header {
    size_t used;   /* length of the header in bytes */
    char host[64]; /* client's address; "" = not in the header */
    int port;
};

/* Parses a server greeting of protocol 10. Returns 0, or -1 if the greeting is damaged or of another protocol. */
int qt_parse_greeting(const uint8_t *p, size_t n, struct qt_greeting *out);
/* Parses a HandshakeResponse41 or SSLRequest. Returns 0, or -1 if the packet is damaged or of another type. */
int qt_parse_login_response(const uint8_t *p, size_t n, uint64_t server_caps, struct qt_login_response *out);
/* Writes connection attributes as a JSON object. Stops at the first damaged attribute. Returns 0, or -1 when out of
 * memory. */
int qt_write_attributes(struct qt_span attributes, struct qt_bytes *out);
/* Parses account, schema and collation of a CHANGE_USER. Returns 0, or -1 if the packet is damaged. */
/* `*collation` is -1 if the packet has no collation. The oldest clients send none. */
int qt_parse_change_user(struct qt_span payload, struct qt_span *user, struct qt_span *db, int *collation);
/* Writes only the collation of a CHANGE_USER, because the other fields are names and a scrambled password. Returns 1 if
 * the packet has no collation. */
int qt_write_collation(struct qt_span payload, struct qt_bytes *out);
/* Parses a PROXY header in text or binary format. Returns 1 if the bytes begin with a PROXY header, 0 if not, -1 if
 * more bytes are needed. */
int qt_parse_proxy_header(const char *p, size_t n, struct qt_proxy_header *out);

#endif
