/* SPDX-License-Identifier: Apache-2.0 */
/* Decrypts a TLS connection that has keys, using tls/tls.h. A connection that cannot be decrypted is reported with the
 * reason. All functions return QT_OK, QT_ENOMEM or the sink's error code. */
#ifndef QT_PROTOCOL_ENCRYPTED_H
#define QT_PROTOCOL_ENCRYPTED_H

#include "protocol/protocol_state.h"

/* Returns whether the client has requested TLS and the following bytes must be decrypted. */
int qt_encrypted_is_due(const struct qt_decoder *);
/* Begins decryption. `sink` receives the decrypted bytes. */
int qt_encrypted_begin(struct qt_decoder *, const struct qt_tls_sink *);
int qt_encrypted_take(struct qt_decoder *, enum qt_way, struct qt_span bytes, int64_t when_ns, int64_t packet);
int qt_encrypted_skip(struct qt_decoder *, enum qt_way, uint64_t lost, int64_t when_ns, int64_t packet);
int qt_encrypted_check_secrets(struct qt_decoder *); /* checks whether the awaited secrets have arrived */
int qt_encrypted_finish(struct qt_decoder *);
/* Returns whether the bytes at `p` are TLS records. They are the first captured bytes of a connection joined in
 * mid-stream. */
int qt_encrypted_looks_like(const uint8_t *p, size_t n);

#endif
