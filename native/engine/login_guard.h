/* SPDX-License-Identifier: Apache-2.0 */
/* What a password may be sent as where a connection is not encrypted. Connector/C's plugins ask a server for the RSA
 * key that they encrypt a password with, also where the file of the key that was given cannot be read (and before
 * 3.3.20 where it can), and take a connection for encrypted that was only to be: so their packets are looked at before
 * they are sent, and the question for the key is answered with the file. */
#ifndef QT_LOGIN_GUARD_H
#define QT_LOGIN_GUARD_H

#include "querytape_engine.h"

struct st_mysql;

/* One login, which the thread that opens the connection is at. */
struct qt_login_guard {
    struct st_mysql *mysql;
    int by_socket, tls, asks_for_key;
    const char *plugins;    /* folder of plugins; NULL = where the library looks */
    const char *public_key; /* the file of the server's key; NULL = none is given */
    const char *refused;    /* why the login was ended; NULL = it was not */
};

/* Sets TLS, where plugins are and which may be used at all, and the file of the key. 0 = done. */
int qt_login_guard_set(struct st_mysql *, const struct qt_engine_options *);
/* Between the two this thread's logins on `mysql` are looked at. The end says why the login does not count; NULL = it
 * does, or failed by itself. */
void qt_login_guard_begin(struct qt_login_guard *, struct st_mysql *, const struct qt_engine_options *);
const char *qt_login_guard_end(struct qt_login_guard *, int logged_in);

#endif
