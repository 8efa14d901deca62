/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   server: greeting            thread id, version, capabilities (MariaDB's upper ones, too)
 *   client: HandshakeResponse   what is agreed; account, schema, attributes    | SSLRequest: nothing can be read from here on
 *   ... authentication: AuthSwitchRequest, AuthMoreData, next factors: whatever the two say is passed over ...
 *   server: OK | ERR            the `connect` event
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "wire_private.h"

static void add_json(struct qt_bytes *out, struct qt_span text)
{
    char escaped[8];
    (void)qt_bytes_add(out, "\"", 1);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c == '"' || c == '\\' || c < 0x20) {
            int n = snprintf(escaped, sizeof escaped, "\\u%04x", c);
            (void)qt_bytes_add(out, escaped, (size_t)n);
        } else {
            (void)qt_bytes_add(out, text.p + i, 1);
        }
    }
    (void)qt_bytes_add(out, "\"", 1);
}

/* Connection attributes as a JSON object; what is damaged ends it. */
static void attributes(struct qt_wire *w, struct qt_reading *r)
{
    uint64_t n = qt_take_lenenc(r);
    const uint8_t *p = qt_take(r, n);
    if (p == NULL)
        return;
    struct qt_reading in = qt_reading(p, n);
    struct qt_bytes *out = &w->attributes;
    out->len = 0;
    (void)qt_bytes_add(out, "{", 1);
    while (qt_left(&in) > 0) {
        struct qt_span key = qt_take_string(&in), value = qt_take_string(&in);
        if (in.bad)
            break;
        if (out->len > 1)
            (void)qt_bytes_add(out, ", ", 2);
        add_json(out, key);
        (void)qt_bytes_add(out, ": ", 2);
        add_json(out, value);
    }
    w->has_attributes = qt_bytes_add(out, "}", 1) == 0;
}

static int greeting(struct qt_wire *w, const struct qt_piece *piece)
{
    struct qt_reading r = qt_reading(piece->p, piece->n);
    uint64_t version = qt_take_int(&r, 1);
    if (version == REPLY_ERR) { /* too many connections, host blocked: refused before any login */
        struct qt_command *c = qt_wire_push(w, -1, piece);
        if (c == NULL)
            return QT_ENOMEM;
        c->reply_first_ns = piece->first_ns;
        c->reply_last_ns = piece->last_ns;
        qt_wire_reply_err(w, c, piece->p, piece->n);
        c->whole = 1;
        w->connect_seen = 1;
        int code = qt_wire_finish(w);
        w->phase = PHASE_DONE;
        return code;
    }
    struct qt_span server = qt_take_nul(&r);
    int64_t thread = (int64_t)qt_take_int(&r, 4);
    qt_take(&r, 9); /* first part of the scramble, a filler */
    uint64_t caps = qt_take_int(&r, 2);
    qt_take(&r, 3); /* collation, status */
    caps |= qt_take_int(&r, 2) << 16;
    qt_take(&r, 7);
    uint64_t upper = qt_take_int(&r, 4);
    if (version != 10 || r.bad) {
        qt_wire_problem(w, piece->packet, "bad_greeting", "a server's greeting of protocol 10", piece->p, piece->n);
        return qt_wire_lose(w, piece->packet);
    }
    w->server_caps = caps | (caps & CLIENT_LONG_PASSWORD ? 0 : upper << 32);
    w->thread_id = thread;
    w->phase = PHASE_LOGIN;
    return qt_wire_set(&w->version, server) == 0 ? QT_OK : QT_ENOMEM;
}

static int refused(struct qt_wire *w, const struct qt_piece *piece)
{
    qt_wire_problem(w, piece->packet, "bad_login", "a HandshakeResponse41", piece->p, piece->n);
    return qt_wire_lose(w, piece->packet);
}

/* The rest of a login: what stands behind the account name. */
static void login_tail(struct qt_wire *w, struct qt_reading *r, uint64_t caps)
{
    if (caps & CLIENT_PLUGIN_AUTH_LENENC)
        qt_take_string(r);
    else if (caps & CLIENT_SECURE_CONNECTION)
        qt_take(r, qt_take_int(r, 1));
    else
        qt_take_nul(r);
    if (caps & CLIENT_CONNECT_WITH_DB && qt_left(r) > 0) {
        struct qt_span db = qt_take_nul(r);
        w->has_db = !r->bad && qt_wire_set(&w->db, db) == 0;
    } else {
        w->has_db = !r->bad; /* none */
        w->db.len = 0;
    }
    if (caps & CLIENT_PLUGIN_AUTH && qt_left(r) > 0)
        qt_take_nul(r);
    if (caps & CLIENT_CONNECT_ATTRS && qt_left(r) > 0 && !r->bad)
        attributes(w, r);
}

static int response(struct qt_wire *w, const struct qt_piece *piece)
{
    struct qt_reading r = qt_reading(piece->p, piece->n);
    uint64_t caps = qt_take_int(&r, 4);
    if (!(caps & CLIENT_PROTOCOL_41) || piece->n < 32)
        return refused(w, piece);
    qt_take(&r, 4);
    w->charset = (int)qt_take_int(&r, 1);
    qt_take(&r, 19);
    uint64_t upper = qt_take_int(&r, 4);
    if (!(caps & CLIENT_LONG_PASSWORD) || !(w->server_caps & CLIENT_LONG_PASSWORD))
        caps |= upper << 32;
    w->caps = caps & w->server_caps;
    w->has_caps = 1;
    w->deprecate_eof = (w->caps & CLIENT_DEPRECATE_EOF) != 0;
    if (piece->n == 32 && caps & CLIENT_SSL) {
        w->encrypted = 1;
        w->connect_seen = 1;
        w->phase = PHASE_DONE;
        return qt_wire_tell_session(w);
    }
    struct qt_span user = qt_take_nul(&r);
    if (r.bad)
        return refused(w, piece);
    w->has_user = qt_wire_set(&w->user, user) == 0 && qt_wire_set(&w->login_user, user) == 0;
    login_tail(w, &r, caps);
    if (w->has_db)
        (void)qt_wire_set(&w->login_db, (struct qt_span){w->db.p != NULL ? w->db.p : "", w->db.len});
    w->connect_seen = 1;
    w->phase = PHASE_AUTH;
    return qt_wire_push(w, -1, piece) != NULL ? QT_OK : QT_ENOMEM;
}

static int answered(struct qt_wire *w, const struct qt_piece *piece)
{
    struct qt_command *c = &w->waiting[w->first];
    unsigned status = 0;
    if (c->reply_first_ns < 0)
        c->reply_first_ns = piece->first_ns;
    c->reply_last_ns = piece->last_ns;
    c->reply_bytes += piece->n + 4;
    if (piece->n == 0 || (piece->p[0] != REPLY_OK && piece->p[0] != REPLY_ERR))
        return QT_OK; /* the dialogue goes on */
    c->whole = 1;
    if (piece->p[0] == REPLY_ERR) {
        qt_wire_reply_err(w, c, piece->p, piece->n);
        int code = qt_wire_finish(w);
        w->phase = PHASE_DONE;
        return code;
    }
    (void)qt_wire_reply_ok(w, c, piece->p, piece->n, &status);
    w->phase = PHASE_COMMAND;
    if (w->caps & CLIENT_COMPRESS)
        w->compressed = 1;
    else if (w->caps & CLIENT_ZSTD)
        w->compressed = 2;
    return qt_wire_finish(w);
}

int qt_wire_login(struct qt_wire *w, enum qt_way way, const struct qt_piece *piece)
{
    switch (w->phase) {
    case PHASE_GREETING:
        if (way == QT_WAY_SERVER)
            return greeting(w, piece);
        qt_wire_problem(w, piece->packet, "client_first", "the server's greeting first", piece->p, piece->n < 16 ? piece->n : 16);
        return qt_wire_lose(w, piece->packet);
    case PHASE_LOGIN:
        return way == QT_WAY_CLIENT ? response(w, piece) : QT_OK;
    default:
        return way == QT_WAY_SERVER ? answered(w, piece) : QT_OK;
    }
}

/* user NUL, auth with its length, db NUL, charset, plugin, attributes: the account and schema that are asked for. */
int qt_wire_change_user_packet(struct qt_wire *w, const struct qt_command *c)
{
    struct qt_reading r = qt_reading(c->payload.p != NULL ? c->payload.p : "", c->payload.len);
    struct qt_span user = qt_take_nul(&r);
    qt_take(&r, qt_take_int(&r, 1));
    struct qt_span db = qt_take_nul(&r);
    w->has_new_db = !r.bad;
    if (r.bad)
        return -1;
    return qt_wire_set(&w->new_user, user) | qt_wire_set(&w->new_db, db);
}

int qt_wire_tell_session(struct qt_wire *w)
{
    struct qt_span none = {NULL, 0};
    char charset[16] = "";
    if (w->charset >= 0)
        snprintf(charset, sizeof charset, "%d", w->charset);
    struct qt_wire_session s = {
        .thread_id = w->thread_id,
        .user = w->has_user && w->login_user.p ? (struct qt_span){w->login_user.p, w->login_user.len} : none,
        .host = {w->host, strlen(w->host)},
        .db = w->connect_seen && w->login_db.p ? (struct qt_span){w->login_db.p, w->login_db.len} : none,
        .port = w->port,
        .client_flags = w->has_caps ? (int64_t)w->caps : -1,
        .charset = w->charset >= 0 ? (struct qt_span){charset, strlen(charset)} : none,
        .attributes = w->has_attributes ? (struct qt_span){w->attributes.p, w->attributes.len} : none,
        .server_version = w->version.p ? (struct qt_span){w->version.p, w->version.len} : none,
        .connect_seen = w->connect_seen,
        .quit_seen = w->quit_seen,
        .encrypted = w->encrypted,
        .open_at_start = w->options.joined_midway,
    };
    w->session_told = 1;
    return w->sink.session(w->sink.self, w->options.connection, &s);
}

static void set_client(struct qt_wire *w, const char *host, size_t len, int port)
{
    char *copy = strndup(host, len);
    if (copy == NULL)
        return;
    free(w->host);
    w->host = copy;
    w->port = port;
}

static int proxy_binary(struct qt_wire *w, const uint8_t *p, size_t n, size_t *used)
{
    char host[INET6_ADDRSTRLEN] = "";
    if (n < 16)
        return -1;
    size_t len = (size_t)p[14] << 8 | p[15];
    if (n < 16 + len)
        return -1;
    *used = 16 + len;
    int is4 = p[13] >> 4 == 1 && len >= 12, is6 = p[13] >> 4 == 2 && len >= 36;
    if ((p[12] & 15) != 1 || !(is4 || is6)) /* LOCAL: the proxy's own check */
        return 1;
    inet_ntop(is4 ? AF_INET : AF_INET6, p + 16, host, sizeof host);
    const uint8_t *port = p + 16 + (is4 ? 8 : 32);
    set_client(w, host, strlen(host), port[0] << 8 | port[1]);
    return 1;
}

/* `PROXY TCP4 client server client-port server-port`, at most 107 bytes with its CR LF; or the binary form. */
int qt_wire_proxy(struct qt_wire *w, const char *p, size_t n, size_t *used)
{
    static const char binary[12] = "\r\n\r\n\0\r\nQUIT\n";
    char line[108], client[64], server[64];
    int port, other;
    *used = 0;
    if (n >= 12 && memcmp(p, binary, 12) == 0)
        return proxy_binary(w, (const uint8_t *)p, n, used);
    if (n < 8 || memcmp(p, "PROXY ", 6) != 0)
        return 0;
    const char *end = memchr(p, '\n', n < sizeof line ? n : sizeof line - 1);
    if (end == NULL)
        return 0;
    memcpy(line, p, (size_t)(end - p));
    line[end - p] = '\0';
    *used = (size_t)(end - p) + 1;
    if (sscanf(line, "PROXY TCP%*1[46] %63s %63s %d %d", client, server, &port, &other) == 4)
        set_client(w, client, strlen(client), port);
    return 1;
}
