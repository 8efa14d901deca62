/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes one MySQL connection from its two byte streams: which commands were sent, what was answered.
 *
 *     struct qt_decoder *d = qt_decoder_new(&options, &sink);
 *     qt_decoder_take(d, QT_WAY_CLIENT, bytes, n, when_ns, packet);   in order inside each way; copies what it keeps
 *     qt_decoder_skip(d, QT_WAY_SERVER, lost, when_ns, packet);       bytes that were never seen
 *     qt_decoder_end(d); qt_decoder_free(d);
 *
 * Knows nothing of TCP. Memory: at most what options allow for a connection, whatever a length field says. One thread
 * at a time for each connection; connections are independent of each other.
 */
#ifndef QT_DECODER_H
#define QT_DECODER_H

#include "protocol/decoded.h"

/* NULL when out of memory. The caller frees it with qt_decoder_free; `options` and `sink` are copied. */
struct qt_decoder *qt_decoder_new(const struct qt_decoder_options *, const struct qt_decoder_sink *);
/* Takes the next bytes of one way. QT_OK, QT_ENOMEM or what the sink returned. */
int qt_decoder_take(struct qt_decoder *, enum qt_way, const char *bytes, size_t n, int64_t when_ns, int64_t packet);
/* `lost` bytes of one way are missing here; 0 = unknown how many. Returns as qt_decoder_take. */
int qt_decoder_skip(struct qt_decoder *, enum qt_way, uint64_t lost, int64_t when_ns, int64_t packet);
/* For the sink's `midway`: who the connection is. p NULL = not known. QT_OK or QT_ENOMEM. */
int qt_decoder_set_account(struct qt_decoder *, int64_t thread_id, struct qt_span user, struct qt_span db);
/* The same: a statement that was prepared before, by the server's id; numbered in its session in the order of these
 * calls, from 1. */
int qt_decoder_add_statement(struct qt_decoder *, uint32_t id, struct qt_span text, uint16_t params);
/* Nothing follows: tells what has no answer yet, and the session. Returns as qt_decoder_take. */
int qt_decoder_end(struct qt_decoder *);
void qt_decoder_free(struct qt_decoder *);

/* A connection whose TLS secrets have not come yet: it may wait for them beyond its own end. */

struct qt_decoder;

/* Does it wait? */
int qt_decoder_awaits_secrets(const struct qt_decoder *);
/* Have they come? Then what waits is told. QT_OK, QT_ENOMEM or what the sink returned. */
int qt_decoder_check_secrets(struct qt_decoder *);
/* From now on the sink gets this in place of options.connection. */
void qt_decoder_set_connection(struct qt_decoder *, void *connection);

#endif
