/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets of connections, found by the client random. Dropped and freed secrets are cleansed. */
#ifndef QT_TLS_KEY_STORE_H
#define QT_TLS_KEY_STORE_H

#include "tls/key_schedule.h"

enum qt_tls_label {
    QT_TLS_CLIENT_TRAFFIC = 0, /* TLS 1.3: one secret per direction, indexed by enum qt_way */
    QT_TLS_SERVER_TRAFFIC = 1,
    QT_TLS_MASTER = 2, /* the master secret of TLS 1.0 to 1.2 */
    QT_TLS_LABELS = 3
};

struct qt_tls_secrets {
    uint8_t random[QT_TLS_RANDOM];
    struct qt_tls_secret of[QT_TLS_LABELS];
    uint32_t next; /* number + 1 of the next entry with the same hash */
};

struct qt_tls_store;

/* Creates a store for at most `most` connections. A further connection replaces the oldest. Returns NULL when out of
 * memory. Free it with qt_tls_store_free. */
struct qt_tls_store *qt_tls_store_new(uint32_t most);
void qt_tls_store_free(struct qt_tls_store *);
/* Adds a secret. It replaces an earlier secret with the same connection and label. Returns 0, or -1 when out of
 * memory. */
int qt_tls_store_add(struct qt_tls_store *, const uint8_t random[QT_TLS_RANDOM], enum qt_tls_label,
                     const struct qt_tls_secret *);
/* Returns the secrets of a connection, or NULL. The store owns them, and they are valid until the next secret is
 * added. */
const struct qt_tls_secrets *qt_tls_store_find(const struct qt_tls_store *, const uint8_t random[QT_TLS_RANDOM]);
/* Returns how many connections ever had a secret. *forgotten is the number of dropped connections. */
uint64_t qt_tls_store_count(const struct qt_tls_store *, uint64_t *forgotten);

#endif
