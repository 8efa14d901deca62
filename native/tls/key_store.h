/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets of connections, found by the client's random number. What is forgotten or freed is cleansed. */
#ifndef QT_TLS_KEY_STORE_H
#define QT_TLS_KEY_STORE_H

#include "tls/key_schedule.h"

enum qt_tls_label {
    QT_TLS_CLIENT_TRAFFIC = 0, /* TLS 1.3, each way's own: by enum qt_way of the protocol */
    QT_TLS_SERVER_TRAFFIC = 1,
    QT_TLS_MASTER = 2, /* up to TLS 1.2 */
    QT_TLS_LABELS = 3
};

struct qt_tls_secrets {
    uint8_t random[QT_TLS_RANDOM];
    struct qt_tls_secret of[QT_TLS_LABELS];
    uint32_t next; /* of the same hash: its number + 1 */
};

struct qt_tls_store;

/* `most`: connections kept; beyond it the oldest is forgotten. Free it with qt_tls_store_free. NULL when out of
 * memory. */
struct qt_tls_store *qt_tls_store_new(uint32_t most);
void qt_tls_store_free(struct qt_tls_store *);
/* A later secret of the same connection and label replaces the earlier. 0, or -1 when out of memory. */
int qt_tls_store_add(struct qt_tls_store *, const uint8_t random[QT_TLS_RANDOM], enum qt_tls_label,
                     const struct qt_tls_secret *);
/* The store's own, until the next secret is added; NULL = none. */
const struct qt_tls_secrets *qt_tls_store_find(const struct qt_tls_store *, const uint8_t random[QT_TLS_RANDOM]);
/* Connections that have a secret, ever; and how many of them were forgotten. */
uint64_t qt_tls_store_count(const struct qt_tls_store *, uint64_t *forgotten);

#endif
