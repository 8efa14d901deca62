/* SPDX-License-Identifier: Apache-2.0 */
/* A connection whose TLS secrets have not come yet: it may wait for them beyond its own end. */
#ifndef QT_PROTOCOL_AWAIT_SECRETS_H
#define QT_PROTOCOL_AWAIT_SECRETS_H

struct qt_decoder;

/* Does it wait? */
int qt_decoder_waits(const struct qt_decoder *);
/* Have they come? Then what waits is told. QT_OK, QT_ENOMEM or what the sink returned. */
int qt_decoder_look(struct qt_decoder *);
/* From now on the sink gets this in place of options.connection. */
void qt_decoder_set_connection(struct qt_decoder *, void *connection);

#endif
