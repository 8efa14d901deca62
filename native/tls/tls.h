/* SPDX-License-Identifier: Apache-2.0 */
/* TLS of one connection, read with the secrets of a key log: bytes of both ways in, what was encrypted in them out.
 *
 *     struct qt_tls *t = qt_tls_new(log, &sink);
 *     qt_tls_take(t, way, bytes, n, when_ns, packet);   from the ClientHello on; in order inside each way
 *     qt_tls_skip(t, way, lost, when_ns, packet);       bytes that were never seen
 *     qt_tls_finish(t); qt_tls_free(t);
 *
 * Where the log's file may still grow, records wait for their secrets: 1 MiB a connection, 64 MiB all connections of a
 * log. Memory that held keys or what was decrypted is cleansed. One thread at a time for all connections of a log.
 */
#ifndef QT_TLS_H
#define QT_TLS_H

#include "tls/key_log.h"
#include "tls/tls_types.h"

struct qt_tls;

/* The log is the caller's and outlives it; the sink is copied. NULL when out of memory; free it with qt_tls_free. */
struct qt_tls *qt_tls_new(struct qt_tls_log *, const struct qt_tls_sink *);
/* These return QT_OK, QT_ENOMEM or what the sink returned. */
int qt_tls_take(struct qt_tls *, int way, const void *bytes, size_t n, int64_t when_ns, int64_t packet);
int qt_tls_skip(struct qt_tls *, int way, uint64_t lost, int64_t when_ns, int64_t packet);
/* Do records wait for their secrets? Then qt_tls_look hands them on if those have come. */
int qt_tls_waits(const struct qt_tls *);
int qt_tls_look(struct qt_tls *);
int qt_tls_finish(struct qt_tls *); /* nothing follows: the last look for keys */
/* Why nothing more can be read; QT_TLS_GOES_ON: it can. */
enum qt_tls_end qt_tls_end_of(const struct qt_tls *);
/* What was agreed, for a message: "TLS 1.2, cipher suite 0xC02F"; "" before it is. */
void qt_tls_describe(const struct qt_tls *, char *out, size_t size);
void qt_tls_free(struct qt_tls *);

#endif
