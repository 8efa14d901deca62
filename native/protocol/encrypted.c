/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of this file never contain encrypted data or keys. */
#include "protocol/encrypted.h"

#include "protocol/pending.h"

enum { TLS_HEADER = 5, TLS_DATA = 23, TLS_SMALLEST = 17, TLS_LARGEST = 16384 + 2048 };

int qt_encrypted_is_due(const struct qt_decoder *d)
{
    return d->encrypted && d->tls == NULL && d->phase == PHASE_LOGIN;
}

int qt_encrypted_begin(struct qt_decoder *d, const struct qt_tls_sink *sink)
{
    d->tls = qt_tls_new(d->options.keys, sink);
    return d->tls != NULL ? QT_OK : QT_ENOMEM;
}

static void name_end(const struct qt_decoder *d, int64_t packet)
{
    static const struct {
        const char *kind, *message;
    } ends[] = {
        [QT_TLS_WRONG_KEYS] = {"wrong_keys", "the secrets of the key log do not decrypt the connection"},
        [QT_TLS_UNSUPPORTED] = {"tls_not_supported",
                                "expected TLS 1.0 to 1.3 with AES-GCM, AES-CBC or ChaCha20-Poly1305"},
        [QT_TLS_LOST] =
            {"tls_lost",
             "TLS records are missing: decryption could not start, or could not resume after missing bytes"},
        [QT_TLS_RENEGOTIATED] = {"tls_renegotiated", "the key log does not contain the secrets of a TLS renegotiation"},
    };
    char agreed[64];
    if ((size_t)d->tls_end >= sizeof ends / sizeof *ends || ends[d->tls_end].kind == NULL)
        return;
    qt_tls_describe(d->tls, agreed, sizeof agreed);
    qt_decoder_problem(d, packet, ends[d->tls_end].kind, ends[d->tls_end].message, agreed, strlen(agreed));
}

/* Ends decoding if the rest of the TLS connection is unreadable: reports the pending commands and frees the keys. */
static int conclude(struct qt_decoder *d, int64_t packet)
{
    d->tls_end = qt_tls_end_of(d->tls);
    if (d->tls_end == QT_TLS_GOES_ON)
        return QT_OK;
    name_end(d, packet);
    int code = qt_pending_give_up(d);
    if (code == QT_OK)
        code = qt_pending_report_session(d);
    d->phase = PHASE_DONE;
    qt_tls_free(d->tls);
    d->tls = NULL;
    return code;
}

int qt_encrypted_take(struct qt_decoder *d, enum qt_way way, struct qt_span bytes, int64_t when_ns, int64_t packet)
{
    int code = qt_tls_take(d->tls, (int)way, bytes.p, bytes.len, when_ns, packet);
    return code == QT_OK ? conclude(d, packet) : code;
}

int qt_encrypted_skip(struct qt_decoder *d, enum qt_way way, uint64_t lost, int64_t when_ns, int64_t packet)
{
    int code = qt_tls_skip(d->tls, (int)way, lost, when_ns, packet);
    return code == QT_OK ? conclude(d, packet) : code;
}

int qt_encrypted_check_secrets(struct qt_decoder *d)
{
    int code = qt_tls_look(d->tls);
    return code == QT_OK ? conclude(d, 0) : code;
}

int qt_encrypted_finish(struct qt_decoder *d)
{
    int code = qt_tls_finish(d->tls);
    return code == QT_OK ? conclude(d, 0) : code;
}

int qt_encrypted_looks_like(const uint8_t *p, size_t n)
{
    size_t at = 0;
    while (at < n) {
        if (n - at < TLS_HEADER || p[at] != TLS_DATA || p[at + 1] != 3 || p[at + 2] > 3)
            return 0;
        size_t len = (size_t)p[at + 3] << 8 | p[at + 4];
        if (len < TLS_SMALLEST || len > TLS_LARGEST)
            return 0;
        if (TLS_HEADER + len > n - at)
            return p[at + 3] != 0; /* the record continues in the next segment; a MySQL packet has sequence 0 here */
        at += TLS_HEADER + len;
    }
    return n > 0;
}
