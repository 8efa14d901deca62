/* SPDX-License-Identifier: Apache-2.0 */
/* Decrypts the TLS traffic of one connection with the secrets of a key log. Input: the bytes of both directions.
 * Output: the decrypted content.
 *
 *     struct qt_tls *t = qt_tls_new(log, &sink);
 *     qt_tls_take(t, way, bytes, n, when_ns, packet);   from the ClientHello on, in order within each direction
 *     qt_tls_skip(t, way, lost, when_ns, packet);       missing bytes
 *     qt_tls_finish(t); qt_tls_free(t);
 *
 * If the key log may still grow, records wait for their secrets: up to 1 MiB per connection, and 64 MiB for all
 * connections of a log. Memory that contained keys or decrypted data is cleansed. Only one thread at a time may use the
 * connections of a log. */
#ifndef QT_TLS_H
#define QT_TLS_H

#include "tls/key_log.h"
#include "tls/tls_types.h"

struct qt_tls;

/* Creates the state of a connection. The log belongs to the caller and must outlive the connection. The sink is copied.
 * Returns NULL when out of memory. Free it with qt_tls_free. */
struct qt_tls *qt_tls_new(struct qt_tls_log *, const struct qt_tls_sink *);
/* qt_tls_take and the next functions up to qt_tls_finish return QT_OK, QT_ENOMEM or the sink's return value. */
int qt_tls_take(struct qt_tls *, int way, const void *bytes, size_t n, int64_t when_ns, int64_t packet);
int qt_tls_skip(struct qt_tls *, int way, uint64_t lost, int64_t when_ns, int64_t packet);
/* Returns whether records wait for their secrets. If so, qt_tls_look passes them on once the secrets have arrived. */
int qt_tls_waits(const struct qt_tls *);
int qt_tls_look(struct qt_tls *);
int qt_tls_finish(struct qt_tls *); /* end of input: looks for keys a last time */
/* Returns why nothing more can be read. QT_TLS_GOES_ON = more can be read. */
enum qt_tls_end qt_tls_end_of(const struct qt_tls *);
/* Writes the agreed parameters for a message: "TLS 1.2, cipher suite 0xC02F". Writes "" before the agreement. */
void qt_tls_describe(const struct qt_tls *, char *out, size_t size);
void qt_tls_free(struct qt_tls *);

#endif
