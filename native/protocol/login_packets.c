/* SPDX-License-Identifier: Apache-2.0 */
/* Packet layouts:
 *
 *   greeting              10, version NUL, thread id, scramble, 0, capabilities (lower), charset, status, capabilities
 *                         (upper), ..., MariaDB's further capabilities, ...
 *   HandshakeResponse41   capabilities, largest packet, charset, 19 zeros, MariaDB's further capabilities, account NUL,
 *                         authentication, [schema NUL], [plugin NUL], [attributes]   | SSLRequest: its first 32 bytes
 *   CHANGE_USER           account NUL, authentication with its length, schema NUL, charset, plugin, attributes
 *   PROXY header          `PROXY TCP4 client server client-port server-port` CR LF, at most 107 bytes; or binary */
#include "protocol/login_packets.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/json.h"
#include "base/reading.h"
#include "protocol/protocol.h"

enum { GREETING_VERSION = 10, FIXED_RESPONSE = 32 };

int qt_parse_greeting(const uint8_t *p, size_t n, struct qt_greeting *out)
{
    struct qt_reading r = qt_reading(p, n);
    uint64_t version = qt_take_int(&r, 1);
    out->version = qt_take_nul(&r);
    out->thread_id = (int64_t)qt_take_int(&r, 4);
    qt_take(&r, 9); /* first part of the scramble, and a filler byte */
    uint64_t caps = qt_take_int(&r, 2);
    qt_take(&r, 3); /* skips collation and status */
    caps |= qt_take_int(&r, 2) << 16;
    qt_take(&r, 7);
    uint64_t upper = qt_take_int(&r, 4);
    out->caps = caps | (caps & CLIENT_LONG_PASSWORD ? 0 : upper << 32);
    return version == GREETING_VERSION && !r.bad ? 0 : -1;
}

/* Parses the fields after the account name. */
static void parse_login_tail(struct qt_reading *r, struct qt_login_response *out)
{
    if (out->caps & CLIENT_PLUGIN_AUTH_LENENC)
        qt_take_string(r);
    else if (out->caps & CLIENT_SECURE_CONNECTION)
        qt_take(r, qt_take_int(r, 1));
    else
        qt_take_nul(r);
    if (out->caps & CLIENT_CONNECT_WITH_DB && qt_left(r) > 0)
        out->db = qt_take_nul(r);
    out->has_db = !r->bad;
    if (out->caps & CLIENT_PLUGIN_AUTH && qt_left(r) > 0)
        qt_take_nul(r);
    if (out->caps & CLIENT_CONNECT_ATTRS && qt_left(r) > 0 && !r->bad)
        out->attributes = qt_take_string(r);
}

int qt_parse_login_response(const uint8_t *p, size_t n, uint64_t server_caps, struct qt_login_response *out)
{
    struct qt_reading r = qt_reading(p, n);
    *out = (struct qt_login_response){.caps = qt_take_int(&r, 4)};
    if (!(out->caps & CLIENT_PROTOCOL_41) || n < FIXED_RESPONSE)
        return -1;
    qt_take(&r, 4);
    out->charset = (int)qt_take_int(&r, 1);
    qt_take(&r, 19);
    uint64_t upper = qt_take_int(&r, 4);
    if (!(out->caps & CLIENT_LONG_PASSWORD) || !(server_caps & CLIENT_LONG_PASSWORD))
        out->caps |= upper << 32;
    out->has_caps = 1;
    out->wants_tls = n == FIXED_RESPONSE && out->caps & CLIENT_SSL;
    if (out->wants_tls)
        return 0;
    out->user = qt_take_nul(&r);
    if (r.bad)
        return -1;
    parse_login_tail(&r, out);
    return 0;
}

static int write_json_text(struct qt_bytes *out, struct qt_span text)
{
    char escaped[QT_JSON_ESCAPE];
    int bad = qt_bytes_add(out, "\"", 1);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (qt_json_must_escape(c))
            bad |= qt_bytes_add(out, escaped, qt_json_escape(escaped, c));
        else
            bad |= qt_bytes_add(out, text.p + i, 1);
    }
    return bad | qt_bytes_add(out, "\"", 1);
}

int qt_write_attributes(struct qt_span attributes, struct qt_bytes *out)
{
    struct qt_reading in = qt_reading(attributes.p, attributes.len);
    out->len = 0;
    int bad = qt_bytes_add(out, "{", 1);
    while (qt_left(&in) > 0) {
        struct qt_span key = qt_take_string(&in), value = qt_take_string(&in);
        if (in.bad)
            break;
        if (out->len > 1)
            bad |= qt_bytes_add(out, ", ", 2);
        bad |= write_json_text(out, key) | qt_bytes_add(out, ": ", 2) | write_json_text(out, value);
    }
    return bad | qt_bytes_add(out, "}", 1);
}

int qt_parse_change_user(struct qt_span payload, struct qt_span *user, struct qt_span *db, int *collation)
{
    struct qt_reading r = qt_reading(payload.p != NULL ? payload.p : "", payload.len);
    *user = qt_take_nul(&r);
    qt_take(&r, qt_take_int(&r, 1));
    *db = qt_take_nul(&r);
    *collation = !r.bad && qt_left(&r) >= 2 ? (int)qt_take_int(&r, 2) : -1;
    return r.bad ? -1 : 0;
}

int qt_write_collation(struct qt_span payload, struct qt_bytes *out)
{
    struct qt_span user, db;
    int collation = -1;
    if (qt_parse_change_user(payload, &user, &db, &collation) != 0 || collation < 0)
        return 1;
    return qt_bytes_add(out, "C", 1) | qt_bytes_add_int(out, (uint64_t)collation, 2);
}

static int parse_binary_header(const uint8_t *p, size_t n, struct qt_proxy_header *out)
{
    if (n < 16)
        return -1;
    size_t len = (size_t)p[14] << 8 | p[15];
    if (n < 16 + len)
        return -1;
    out->used = 16 + len;
    int is4 = p[13] >> 4 == 1 && len >= 12, is6 = p[13] >> 4 == 2 && len >= 36;
    if ((p[12] & 15) != 1 || !(is4 || is6)) /* LOCAL: a health check by the proxy */
        return 1;
    inet_ntop(is4 ? AF_INET : AF_INET6, p + 16, out->host, sizeof out->host);
    const uint8_t *port = p + 16 + (is4 ? 8 : 32);
    out->port = port[0] << 8 | port[1];
    return 1;
}

int qt_parse_proxy_header(const char *p, size_t n, struct qt_proxy_header *out)
{
    static const char binary[12] = "\r\n\r\n\0\r\nQUIT\n";
    char line[108], server[64];
    int other;
    *out = (struct qt_proxy_header){.used = 0};
    if (n == 0)
        return 0;
    if (memcmp(p, binary, n < 12 ? n : 12) == 0)
        return parse_binary_header((const uint8_t *)p, n, out);
    if (memcmp(p, "PROXY ", n < 6 ? n : 6) != 0)
        return 0;
    const char *end = memchr(p, '\n', n < sizeof line ? n : sizeof line - 1);
    if (end == NULL)
        return n < sizeof line - 1 ? -1 : 0;
    memcpy(line, p, (size_t)(end - p));
    line[end - p] = '\0';
    out->used = (size_t)(end - p) + 1;
    if (sscanf(line, "PROXY TCP%*1[46] %63s %63s %d %d", out->host, server, &out->port, &other) != 4)
        out->host[0] = '\0';
    return 1;
}
