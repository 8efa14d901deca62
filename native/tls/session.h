/* SPDX-License-Identifier: Apache-2.0 */
/* Whole records of one connection: the handshake is followed, content decrypted and told. */
#ifndef QT_TLS_SESSION_H
#define QT_TLS_SESSION_H

#include "tls/tls_state.h"

/* Are there keys for both ways? Looks for them where there are none; `now`: a file of them is read again whatever the
 * time. May set t->end. */
int qt_tls_session_ready(struct qt_tls *, int now);
/* Can a record with this type be read as far as things are known? May set t->end. */
int qt_tls_session_can_take(struct qt_tls *, int way, int type);
/* Takes a whole record, header included. QT_OK, QT_ENOMEM or what the sink returned; t->end says whether it was the
 * last. */
int qt_tls_session_take(struct qt_tls *, int way, const struct qt_tls_plain *record);
/* Takes the content in t->plain of a record that has just authenticated. Returns as qt_tls_session_take. */
int qt_tls_session_content(struct qt_tls *, int way, int type, size_t n, const struct qt_tls_plain *record);

#endif
