/* SPDX-License-Identifier: Apache-2.0 */
/* Key logs in NSS's format, with one secret per line: CLIENT_RANDOM for TLS 1.0 to 1.2, CLIENT_TRAFFIC_SECRET_0 and
 * SERVER_TRAFFIC_SECRET_0 for TLS 1.3. Other labels of the format are skipped, and invalid lines are counted.
 *
 * If a secret is missing, the file is read again: its new bytes, or a new file with the same name. Memory that
 * contained secrets is cleansed. Only one thread at a time may use a log. */
#ifndef QT_TLS_KEY_LOG_H
#define QT_TLS_KEY_LOG_H

#include "querytape.h"
#include "tls/key_store.h"

enum { QT_TLS_LINE_MAX = 512 };

struct qt_tls_lines { /* zero it before first use, end it with qt_tls_lines_end */
    char line[QT_TLS_LINE_MAX];
    size_t n;
    int too_long;
};

struct qt_tls_log_counts {
    uint64_t connections, forgotten; /* connections that had a secret; connections dropped because of the limit */
    uint64_t bad_lines;
    uint64_t waiting; /* bytes of connections that wait for secrets */
};

struct qt_tls_log;

/* Returns NULL when out of memory. */
struct qt_tls_log *qt_tls_log_new(void);
void qt_tls_log_free(struct qt_tls_log *);
/* Opens and reads a file. May be called only once per log. `grows`: secrets may be written after the packets, so
 * connections wait for them. Returns QT_EIO if `path` is not a readable regular file, and QT_EFORMAT if no line has the
 * format. */
int qt_tls_log_open(struct qt_tls_log *, const char *path, int grows, struct qt_error *);
/* Lets connections wait for secrets, even without a file. */
void qt_tls_log_set_grows(struct qt_tls_log *);
/* Sets a function that is called once when a secret is missing. The function passes the secrets that come later in the
 * input to qt_tls_log_take. */
void qt_tls_log_set_ahead(struct qt_tls_log *, void (*look)(void *self), void *self);
/* Takes a part of a key log that is embedded in another file. Returns 0, or -1 when out of memory. */
int qt_tls_log_take(struct qt_tls_log *, struct qt_tls_lines *, const char *p, size_t n);
void qt_tls_lines_end(struct qt_tls_lines *);
const char *qt_tls_log_path(const struct qt_tls_log *); /* path of the log's file; NULL = none */
/* Returns whether the log has a file or any secret. */
int qt_tls_log_in_use(const struct qt_tls_log *);
/* Returns whether the log has a file or secrets now, or may get them later. Reads ahead in the input if necessary. */
int qt_tls_log_may_have(struct qt_tls_log *);
/* Returns the secrets of a connection, or NULL if there are none yet. The log owns them, and they are valid until the
 * next call. If secrets are missing, the file is read again, at most every 20 ms unless `now` is set. */
const struct qt_tls_secrets *qt_tls_log_find(struct qt_tls_log *, const uint8_t random[QT_TLS_RANDOM], int now);
/* Returns whether `more` further bytes may wait for secrets, and counts them if so. qt_tls_log_give_back releases
 * them. */
int qt_tls_log_may_wait(struct qt_tls_log *, size_t more);
void qt_tls_log_give_back(struct qt_tls_log *, size_t bytes);
/* Returns a buffer of QT_TLS_RECORD_MAX bytes for decrypted data. It holds one record of one connection at a time, and
 * is cleansed with the log. */
uint8_t *qt_tls_log_scratch(struct qt_tls_log *);
void qt_tls_log_count(const struct qt_tls_log *, struct qt_tls_log_counts *out);

#endif
