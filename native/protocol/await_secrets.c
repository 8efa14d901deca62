/* SPDX-License-Identifier: Apache-2.0 */
#include "protocol/await_secrets.h"

#include "protocol/encrypted.h"

int qt_decoder_waits(const struct qt_decoder *d) { return d->tls != NULL && qt_tls_waits(d->tls); }

int qt_decoder_look(struct qt_decoder *d) { return qt_decoder_waits(d) ? qt_encrypted_look(d) : QT_OK; }

void qt_decoder_set_connection(struct qt_decoder *d, void *connection) { d->options.connection = connection; }
