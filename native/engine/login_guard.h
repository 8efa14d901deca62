/* SPDX-License-Identifier: Apache-2.0 */
/* Controls how a password may be sent over an unencrypted connection. If the given key file cannot be read,
 * Connector/C's plugins request the RSA key from the server. Before Connector/C 3.3.20 the plugins request the key even
 * if the file is readable. The plugins also treat a connection as encrypted if TLS was only requested. The guard
 * therefore checks the plugins' packets before they are sent, and answers the key request from the file. */
#ifndef QT_LOGIN_GUARD_H
#define QT_LOGIN_GUARD_H

#include "querytape_engine.h"

struct st_mysql;

/* State of one login, used by the thread that opens the connection. */
struct qt_login_guard {
    struct st_mysql *mysql;
    int by_socket, tls, asks_for_key;
    const char *plugins;    /* plugin folder; NULL = the library's default */
    const char *public_key; /* file with the server's public key; NULL = not given */
    const char *refused;    /* why the guard ended the login; NULL = the guard did not end it */
};

/* Sets the TLS options, the plugin folder, the allowed plugins and the key file. Returns 0 on success. */
int qt_login_guard_set(struct st_mysql *, const struct qt_engine_options *);
/* Begin and end the check of this thread's logins on `mysql`. qt_login_guard_end returns why the login must be
 * rejected. It returns NULL if the login is valid or failed for another reason. */
void qt_login_guard_begin(struct qt_login_guard *, struct st_mysql *, const struct qt_engine_options *);
const char *qt_login_guard_end(struct qt_login_guard *, int logged_in);

#endif
