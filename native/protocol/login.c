/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of a login:
 *
 *   server: greeting            thread id, version, capabilities, including MariaDB's upper 32 bits
 *   client: [SSLRequest]        TLS begins here
 *   client: HandshakeResponse   negotiated capabilities; account, schema, attributes
 *   ... authentication: AuthSwitchRequest, AuthMoreData, next factors: all skipped ...
 *   server: OK | ERR            the `connect` event */
#include "protocol/login.h"

#include "protocol/login_packets.h"
#include "protocol/opening.h"
#include "protocol/pending.h"
#include "protocol/server_replies.h"

/* Handles an error instead of a greeting, such as too many connections or a blocked host. */
static int take_refusal(struct qt_decoder *d, const struct qt_piece *piece)
{
    struct qt_pending_command *c = qt_pending_push(d, -1, piece);
    if (c == NULL)
        return QT_ENOMEM;
    c->reply_first_ns = piece->first_ns;
    c->reply_last_ns = piece->last_ns;
    qt_reply_read_err(c, piece->p, piece->n);
    c->whole = 1;
    d->connect_seen = 1;
    int code = qt_pending_finish(d);
    d->phase = PHASE_DONE;
    return code;
}

static int take_greeting(struct qt_decoder *d, const struct qt_piece *piece)
{
    struct qt_greeting greeting;
    if (piece->n > 0 && piece->p[0] == REPLY_ERR)
        return take_refusal(d, piece);
    if (qt_parse_greeting(piece->p, piece->n, &greeting) != 0) {
        if (qt_opening_is_x(d, QT_WAY_SERVER, piece))
            return QT_OK;
        qt_decoder_packet_problem(d, piece, "bad_greeting", "expected a server greeting of protocol version 10");
        d->phase = PHASE_DONE; /* later bytes may look like commands, but they are not */
        return QT_OK;
    }
    d->server_caps = greeting.caps;
    d->thread_id = greeting.thread_id;
    d->phase = PHASE_LOGIN;
    return qt_bytes_set(&d->version, greeting.version) == 0 ? QT_OK : QT_ENOMEM;
}

/* Stores the account, schema and attributes of the login. */
static int keep_login(struct qt_decoder *d, const struct qt_login_response *login)
{
    int bad = qt_bytes_set(&d->user, login->user) | qt_bytes_set(&d->login_user, login->user);
    d->has_user = 1;
    d->has_db = login->has_db;
    d->has_attributes = login->attributes.p != NULL;
    if (d->has_db)
        bad |= qt_bytes_set(&d->db, login->db) | qt_bytes_set(&d->login_db, login->db);
    if (d->has_attributes)
        bad |= qt_write_attributes(login->attributes, &d->attributes);
    return bad ? QT_ENOMEM : QT_OK;
}

static int take_response(struct qt_decoder *d, const struct qt_piece *piece)
{
    struct qt_login_response login;
    int bad = qt_parse_login_response(piece->p, piece->n, d->server_caps, &login);
    if (login.has_caps) {
        d->charset = login.charset;
        d->caps = login.caps & d->server_caps;
        d->has_caps = 1;
        d->deprecate_eof = (d->caps & CLIENT_DEPRECATE_EOF) != 0;
    }
    if (bad) {
        qt_decoder_packet_problem(d, piece, "bad_login", "expected a HandshakeResponse41 packet");
        return qt_pending_lose(d);
    }
    d->connect_seen = 1;
    if (login.wants_tls) {
        d->encrypted = 1;
        if (d->options.keys != NULL && qt_tls_log_may_have(d->options.keys) && d->tls == NULL)
            return QT_OK; /* the login follows, encrypted */
        d->tls_end = QT_TLS_NO_KEYS;
        d->phase = PHASE_DONE;
        return qt_pending_report_session(d);
    }
    d->phase = PHASE_AUTH;
    return keep_login(d, &login) == QT_OK && qt_pending_push(d, -1, piece) != NULL ? QT_OK : QT_ENOMEM;
}

static int take_answer(struct qt_decoder *d, const struct qt_piece *piece)
{
    struct qt_pending_command *c = qt_first_pending(d);
    unsigned status = 0;
    if (c->reply_first_ns < 0)
        c->reply_first_ns = piece->first_ns;
    c->reply_last_ns = piece->last_ns;
    c->reply_bytes += piece->n + 4;
    if (piece->n == 0 || (piece->p[0] != REPLY_OK && piece->p[0] != REPLY_ERR))
        return QT_OK; /* the authentication continues */
    c->whole = 1;
    if (piece->p[0] == REPLY_ERR) {
        qt_reply_read_err(c, piece->p, piece->n);
        int code = qt_pending_finish(d);
        d->phase = PHASE_DONE;
        return code;
    }
    (void)qt_reply_read_ok(d, c, piece->p, piece->n, &status);
    d->phase = PHASE_COMMAND;
    if (d->caps & CLIENT_COMPRESS)
        d->compressed = 1;
    else if (d->caps & CLIENT_ZSTD)
        d->compressed = 2;
    return qt_pending_finish(d);
}

int qt_login_take(struct qt_decoder *d, enum qt_way way, const struct qt_piece *piece)
{
    switch (d->phase) {
    case PHASE_GREETING:
        if (way == QT_WAY_SERVER)
            return take_greeting(d, piece);
        if (qt_opening_is_x(d, QT_WAY_CLIENT, piece))
            return QT_OK;
        qt_decoder_packet_problem(d, piece, "client_first",
                                  "expected the server greeting before the first packet of the client");
        return qt_pending_lose(d);
    case PHASE_LOGIN:
        return way == QT_WAY_CLIENT ? take_response(d, piece) : QT_OK;
    default:
        return way == QT_WAY_SERVER ? take_answer(d, piece) : QT_OK;
    }
}
