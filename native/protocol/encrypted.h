/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that goes over to TLS, and has keys: its bytes go through tls/tls.h. What cannot be read is named. All
 * return QT_OK, QT_ENOMEM or what a sink returned. */
#ifndef QT_PROTOCOL_ENCRYPTED_H
#define QT_PROTOCOL_ENCRYPTED_H

#include "protocol/protocol_state.h"

/* Has the client asked for TLS, and is all that follows to be decrypted? */
int qt_encrypted_is_due(const struct qt_decoder *);
/* `sink` takes what is decrypted. */
int qt_encrypted_begin(struct qt_decoder *, const struct qt_tls_sink *);
int qt_encrypted_take(struct qt_decoder *, enum qt_way, struct qt_span bytes, int64_t when_ns, int64_t packet);
int qt_encrypted_skip(struct qt_decoder *, enum qt_way, uint64_t lost, int64_t when_ns, int64_t packet);
int qt_encrypted_check_secrets(struct qt_decoder *); /* have the secrets come that it waits for? */
int qt_encrypted_finish(struct qt_decoder *);
/* Are these bytes, the first that were seen of a connection under way, records of TLS? */
int qt_encrypted_looks_like(const uint8_t *p, size_t n);

#endif
