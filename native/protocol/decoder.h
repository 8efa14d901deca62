/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes one MySQL connection from its two byte streams into commands and replies.
 *
 *     struct qt_decoder *d = qt_decoder_new(&options, &sink);
 *     qt_decoder_take(d, QT_WAY_CLIENT, bytes, n, when_ns, packet);   bytes in order for each direction; copied if kept
 *     qt_decoder_skip(d, QT_WAY_SERVER, lost, when_ns, packet);       bytes missing from the capture
 *     qt_decoder_end(d); qt_decoder_free(d);
 *
 * The decoder is independent of TCP. The options limit its memory per connection, even if a length field is wrong. Only
 * one thread at a time may use a decoder. Decoders are independent of each other. */
#ifndef QT_DECODER_H
#define QT_DECODER_H

#include "protocol/decoded.h"

/* Copies `options` and `sink`. Returns NULL when out of memory. The caller frees the result with qt_decoder_free. */
struct qt_decoder *qt_decoder_new(const struct qt_decoder_options *, const struct qt_decoder_sink *);
/* Takes the next bytes of one direction. Returns QT_OK, QT_ENOMEM or the sink's error code. */
int qt_decoder_take(struct qt_decoder *, enum qt_way, const char *bytes, size_t n, int64_t when_ns, int64_t packet);
/* Reports that `lost` bytes of one direction are missing at this position; 0 = an unknown number. Returns the same
 * codes as qt_decoder_take. */
int qt_decoder_skip(struct qt_decoder *, enum qt_way, uint64_t lost, int64_t when_ns, int64_t packet);
/* Sets the account and schema of a connection joined in mid-stream. The sink's `midway` calls this function. A span
 * with p NULL is unknown. Returns QT_OK or QT_ENOMEM. */
int qt_decoder_set_account(struct qt_decoder *, int64_t thread_id, struct qt_span user, struct qt_span db);
/* Adds a statement that was prepared before the capture. `id` is the server's id of the statement. The sink's `midway`
 * calls this function. Statements are numbered in the order of these calls, from 1. Returns QT_OK or QT_ENOMEM. */
int qt_decoder_add_statement(struct qt_decoder *, uint32_t id, struct qt_span text, uint16_t params);
/* Ends the connection: reports the commands without replies, and the session. Returns the same codes as
 * qt_decoder_take. */
int qt_decoder_end(struct qt_decoder *);
void qt_decoder_free(struct qt_decoder *);

/* A connection may still wait for its TLS secrets after the connection has ended. */

struct qt_decoder;

/* Returns whether the connection waits for its TLS secrets. */
int qt_decoder_awaits_secrets(const struct qt_decoder *);
/* Checks whether the TLS secrets have arrived. If they have, the waiting bytes are decoded. Returns QT_OK, QT_ENOMEM or
 * the sink's error code. */
int qt_decoder_check_secrets(struct qt_decoder *);
/* Replaces options.connection: the sink receives this pointer from now on. */
void qt_decoder_set_connection(struct qt_decoder *, void *connection);

#endif
