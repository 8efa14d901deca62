/* SPDX-License-Identifier: Apache-2.0 */
/* Processes complete records of one connection: follows the handshake, and decrypts content for the sink. */
#ifndef QT_TLS_SESSION_H
#define QT_TLS_SESSION_H

#include "tls/tls_state.h"

/* Returns whether both directions have keys, and looks for missing keys. `now`: read the key log file again at once.
 * May set t->end. */
int qt_tls_session_ready(struct qt_tls *, int now);
/* Returns whether a record of this type can be read with the current keys. May set t->end. */
int qt_tls_session_can_take(struct qt_tls *, int way, int type);
/* Takes a complete record, including its header. Returns QT_OK, QT_ENOMEM or the sink's return value. After the last
 * record t->end is set. */
int qt_tls_session_take(struct qt_tls *, int way, const struct qt_tls_plain *record);
/* Takes the content in t->plain of a record that was just authenticated. Returns like qt_tls_session_take. */
int qt_tls_session_content(struct qt_tls *, int way, int type, size_t n, const struct qt_tls_plain *record);

#endif
