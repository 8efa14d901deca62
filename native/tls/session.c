/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a connection, in order:
 *
 *   up to TLS 1.2   hellos, certificates, ... | change_cipher_spec | everything encrypted, Finished first
 *   TLS 1.3         hellos | handshake records under keys of their own | everything under the traffic secrets
 *
 * The handshake keys of TLS 1.3 are not needed. The handshake records end before the first record that authenticates
 * with the traffic secret and sequence number 0. */
#include "tls/session.h"

#include <openssl/crypto.h>

#include "base/error.h"

enum { MAX_HANDSHAKE_RECORDS = 64, FATAL = 2, CLOSE_NOTIFY = 0 };
#define BIT(type) (UINT64_C(1) << (type))

/* ---- keys ---- */

static int is_supported(const struct qt_tls_hellos *h, const struct qt_tls_suite *suite)
{
    if (suite == NULL || h->other || h->version < QT_TLS_10 || h->version > QT_TLS_13)
        return 0;
    if (suite->is_13 || h->version == QT_TLS_13)
        return suite->is_13 && h->version == QT_TLS_13;
    return h->version == QT_TLS_12 || (suite->kind == QT_TLS_CBC && suite->mac_bytes == 20);
}

/* Sets the keys of both directions. `secrets->of` contains the client's secret before the server's. Returns 0, or -1 if
 * the secrets are missing or do not fit the suite. */
static int set_keys(struct qt_tls *t, const struct qt_tls_suite *suite, const struct qt_tls_secrets *secrets)
{
    struct qt_tls_material m[2];
    const struct qt_tls_secret *of = secrets->of;
    int version = t->hellos.version, bad = 0;
    if (version == QT_TLS_13) {
        if (of[0].n != suite->hash || of[1].n != suite->hash)
            return -1;
        for (int way = 0; way < 2; way++) {
            t->way[way].secret = of[way];
            bad |= qt_tls_traffic_keys(suite, &of[way], &m[way]);
        }
    } else {
        if (of[QT_TLS_MASTER].n == 0)
            return -1;
        bad = qt_tls_master_keys(suite, version, &of[QT_TLS_MASTER], t->hellos.client_random, t->hellos.server_random,
                                 m);
    }
    for (int way = 0; way < 2 && !bad; way++)
        bad |= qt_tls_record_keys_set(&t->way[way].keys, suite, version, t->hellos.mac_last, &m[way]);
    OPENSSL_cleanse(m, sizeof m);
    if (bad)
        t->end = QT_TLS_UNSUPPORTED;
    return bad ? -1 : 0;
}

int qt_tls_session_ready(struct qt_tls *t, int now)
{
    if (t->ready || !t->hellos.has_client || !t->hellos.has_server)
        return t->ready;
    const struct qt_tls_suite *suite = qt_tls_suite_find((uint16_t)t->hellos.suite);
    if (!is_supported(&t->hellos, suite)) {
        t->end = QT_TLS_UNSUPPORTED;
        return 0;
    }
    const struct qt_tls_secrets *secrets = qt_tls_log_find(t->log, t->hellos.client_random, now);
    t->ready = secrets != NULL && set_keys(t, suite, secrets) == 0;
    return t->ready;
}

int qt_tls_session_can_take(struct qt_tls *t, int way, int type)
{
    int is_13 = t->hellos.version == QT_TLS_13;
    if (type == QT_TLS_CCS && (is_13 || !t->way[way].ciphered)) /* the next record is encrypted */
        return t->hellos.has_server || t->hellos.retried;
    if (!t->way[way].ciphered && (type == QT_TLS_HANDSHAKE || type == QT_TLS_ALERT))
        return 1;
    return qt_tls_session_ready(t, 0);
}

/* ---- content ---- */

static int renew_keys(struct qt_tls *t, struct qt_tls_way *w)
{
    struct qt_tls_material m;
    int bad = qt_tls_next_secret(w->keys.suite, &w->secret) || qt_tls_traffic_keys(w->keys.suite, &w->secret, &m) ||
              qt_tls_record_keys_set(&w->keys, w->keys.suite, QT_TLS_13, 0, &m);
    OPENSSL_cleanse(&m, sizeof m);
    w->seq = 0;
    if (bad)
        t->end = QT_TLS_UNSUPPORTED;
    return QT_OK;
}

/* Takes encrypted handshake messages: end of the handshake, new session, key update or renegotiation. */
static int take_late_message(struct qt_tls *t, struct qt_tls_way *w, const uint8_t *p, size_t n)
{
    uint64_t ended;
    int is_13 = t->hellos.version == QT_TLS_13;
    int bad = qt_tls_messages_take(&w->messages, p, n, is_13 ? NULL : &t->again, &ended);
    if (bad == -2)
        return QT_ENOMEM;
    if (bad)
        t->end = QT_TLS_LOST;
    return is_13 && ended & BIT(QT_TLS_KEY_UPDATE) ? renew_keys(t, w) : QT_OK;
}

/* Handles a renegotiation. Up to TLS 1.2 both sides can agree on new keys with encrypted hellos. Each direction uses
 * the new keys after its change_cipher_spec. */
static int change_keys(struct qt_tls *t, int way)
{
    struct qt_tls_way *w = &t->way[way];
    struct qt_tls_material m[2];
    const struct qt_tls_suite *suite = qt_tls_suite_find((uint16_t)t->again.suite);
    if (!t->again.has_client || !t->again.has_server) {
        t->end = QT_TLS_LOST; /* the hellos are in missing bytes */
        return QT_OK;
    }
    if (!is_supported(&t->again, suite) || suite->is_13) {
        t->end = QT_TLS_UNSUPPORTED;
        return QT_OK;
    }
    const struct qt_tls_secrets *secrets = qt_tls_log_find(t->log, t->again.client_random, 1);
    if (secrets == NULL || secrets->of[QT_TLS_MASTER].n == 0) {
        t->end = QT_TLS_RENEGOTIATED;
        return QT_OK;
    }
    int bad = qt_tls_master_keys(suite, t->again.version, &secrets->of[QT_TLS_MASTER], t->again.client_random,
                                 t->again.server_random, m) ||
              qt_tls_record_keys_set(&w->keys, suite, t->again.version, t->again.mac_last, &m[way]);
    OPENSSL_cleanse(m, sizeof m);
    if (bad)
        t->end = QT_TLS_UNSUPPORTED;
    w->seq = 0;
    t->renewed |= 1 << way;
    if (t->renewed == 3) {
        t->hellos = t->again;
        t->again = (struct qt_tls_hellos){0};
        t->renewed = 0;
    }
    return QT_OK;
}

int qt_tls_session_content(struct qt_tls *t, int way, int type, size_t n, const struct qt_tls_plain *record)
{
    struct qt_tls_way *w = &t->way[way];
    w->proven = 1;
    w->ciphered = 1;
    switch (type) {
    case QT_TLS_DATA: {
        struct qt_tls_plain plain = *record;
        plain.p = t->plain;
        plain.n = n;
        return n > 0 ? t->sink.plain(t->sink.self, way, &plain) : QT_OK;
    }
    case QT_TLS_HANDSHAKE:
        return take_late_message(t, w, t->plain, n);
    case QT_TLS_CCS:
        return change_keys(t, way);
    case QT_TLS_ALERT:
        if (n >= 2 && (t->plain[0] == FATAL || t->plain[1] == CLOSE_NOTIFY))
            w->ended = 1;
        return QT_OK;
    default:
        t->end = QT_TLS_UNSUPPORTED;
        return QT_OK;
    }
}

/* ---- records ---- */

static int take_hello(struct qt_tls *t, struct qt_tls_way *w, const uint8_t *p, size_t n)
{
    uint64_t ended;
    int bad = qt_tls_messages_take(&w->messages, p, n, &t->hellos, &ended);
    if (bad == -2)
        return QT_ENOMEM;
    if (bad)
        t->end = QT_TLS_LOST;
    if (t->hellos.has_server && t->hellos.version == QT_TLS_13) {
        t->way[0].ciphered = t->hellos.has_client;
        t->way[1].ciphered = 1;
        t->way[0].messages.has_header = t->way[1].messages.has_header = 0;
    }
    return QT_OK;
}

static int take_clear(struct qt_tls *t, struct qt_tls_way *w, int type, const uint8_t *p, size_t n)
{
    switch (type) {
    case QT_TLS_HANDSHAKE:
        return take_hello(t, w, p, n);
    case QT_TLS_CCS:
        if (t->hellos.has_server && t->hellos.version != QT_TLS_13) {
            w->ciphered = 1;
            w->messages.has_header = 0;
        }
        return QT_OK;
    case QT_TLS_ALERT:
        if (n >= 2 && p[0] == FATAL)
            t->end = QT_TLS_REFUSED;
        return QT_OK;
    default:
        t->end = QT_TLS_LOST;
        return QT_OK;
    }
}

/* Handles a record that does not authenticate: a handshake record, a record with other keys, or a record after missing
 * bytes. */
static int take_refused(struct qt_tls *t, int way, const struct qt_tls_plain *record)
{
    struct qt_tls_way *w = &t->way[way];
    if (w->proven) {
        w->lost = 1;
        w->lost_bytes = record->n;
        return t->sink.gap(t->sink.self, way, record->n, record->last_ns, record->packet);
    }
    if (t->hellos.version != QT_TLS_13 || ++w->handshake > MAX_HANDSHAKE_RECORDS)
        t->end = QT_TLS_WRONG_KEYS;
    return QT_OK;
}

int qt_tls_session_take(struct qt_tls *t, int way, const struct qt_tls_plain *record)
{
    struct qt_tls_way *w = &t->way[way];
    int type = record->p[0], is_13 = t->hellos.has_server && t->hellos.version == QT_TLS_13;
    size_t n = 0;
    if (w->ended)
        return QT_OK;
    if (!w->ciphered)
        return take_clear(t, w, type, record->p + QT_TLS_HEADER, record->n - QT_TLS_HEADER);
    if (is_13 && type != QT_TLS_DATA) { /* change_cipher_spec for middleboxes, or an alert before there are keys */
        if (type == QT_TLS_ALERT && !w->proven)
            t->end = QT_TLS_REFUSED;
        return QT_OK;
    }
    if (qt_tls_record_decrypt(&w->keys, record->p, record->n, w->seq, t->plain, &n, &type) != 0)
        return take_refused(t, way, record);
    w->seq++;
    return qt_tls_session_content(t, way, type, n, record);
}
