/* SPDX-License-Identifier: Apache-2.0 */
/* Key logs in NSS's format, one secret a line: CLIENT_RANDOM of TLS 1.0 to 1.2, CLIENT_TRAFFIC_SECRET_0 and
 * SERVER_TRAFFIC_SECRET_0 of TLS 1.3. Other labels of the format are skipped; what is no such line is counted.
 *
 * A file is read again when a secret is missing: what was appended to it, or the file that has taken its name. The
 * secrets are cleansed with what holds them, and so is the memory they were read through. One thread at a time.
 */
#ifndef QT_TLS_KEY_LOG_H
#define QT_TLS_KEY_LOG_H

#include "querytape.h"
#include "tls/key_store.h"

enum { QT_TLS_LINE_MAX = 512 };

struct qt_tls_lines { /* zeroed before its first use, cleansed with qt_tls_lines_end */
    char line[QT_TLS_LINE_MAX];
    size_t n;
    int too_long;
};

struct qt_tls_log_counts {
    uint64_t connections, forgotten; /* with a secret; of those, dropped because there were too many */
    uint64_t bad_lines;
    uint64_t waiting; /* bytes of connections whose secrets are not there yet */
};

struct qt_tls_log;

/* NULL when out of memory. */
struct qt_tls_log *qt_tls_log_new(void);
void qt_tls_log_free(struct qt_tls_log *);
/* Opens and reads a file, once for each log. `grows`: secrets may come after the packets, so connections wait for them.
 * QT_EIO: no regular file, or it cannot be read; QT_EFORMAT: not a line of it is of the format. */
int qt_tls_log_open(struct qt_tls_log *, const char *path, int grows, struct qt_error *);
/* Connections wait for secrets, whether there is a file or not. */
void qt_tls_log_set_grows(struct qt_tls_log *);
/* Where a secret is missing, `look` is called once: it hands in (qt_tls_log_take) what is further on in the input. */
void qt_tls_log_set_ahead(struct qt_tls_log *, void (*look)(void *self), void *self);
/* Takes a piece of a key log that is inside something else. 0, or -1 when out of memory. */
int qt_tls_log_take(struct qt_tls_log *, struct qt_tls_lines *, const char *p, size_t n);
void qt_tls_lines_end(struct qt_tls_lines *);
const char *qt_tls_log_path(const struct qt_tls_log *); /* of its file; NULL = none */
/* Is there a file, or any secret? */
int qt_tls_log_in_use(const struct qt_tls_log *);
/* The same, or may there be one later? It looks ahead for that. */
int qt_tls_log_may_have(struct qt_tls_log *);
/* Secrets of a connection, the log's own until the next call; NULL = none yet. Where there are none the file is read
 * again, at most every 20 ms unless `now`. */
const struct qt_tls_secrets *qt_tls_log_find(struct qt_tls_log *, const uint8_t random[QT_TLS_RANDOM], int now);
/* May `more` bytes wait for secrets, besides those that wait? Then they are counted; qt_tls_log_give_back takes them
 * off. */
int qt_tls_log_may_wait(struct qt_tls_log *, size_t more);
void qt_tls_log_give_back(struct qt_tls_log *, size_t bytes);
/* QT_TLS_RECORD_MAX bytes for what is decrypted, one record of one connection at a time; cleansed with the log. */
uint8_t *qt_tls_log_scratch(struct qt_tls_log *);
void qt_tls_log_count(const struct qt_tls_log *, struct qt_tls_log_counts *out);

#endif
