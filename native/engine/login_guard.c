/* SPDX-License-Identifier: Apache-2.0 */
/* Calls during a login, without and with an active guard:
 *
 *   library -> plugin's authenticate_user -> vio of the library -> socket          unguarded
 *   library -> ours -> plugin's           -> our vio -> vio of the library         while a guard is active
 *
 * Each plugin is one struct per process, with a pointer to its function. The guard replaces the pointer once. The new
 * function does nothing for unguarded connections. Plugins that cannot be loaded for this replacement are not used. */
#include "engine/login_guard.h"

#include <mysql.h>
#include <errmsg.h>            /* must follow mysql.h */
#include <mysql/plugin_auth.h> /* must follow mysql.h */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define SAFELY \
    "use TLS (--ssl-mode VERIFY_CA or VERIFY_IDENTITY, with --ssl-ca), pass the server's public_key.pem " \
    "(--server-public-key-path FILE), or request the key (--get-server-public-key)"

/* Copied from mysql/client_plugin.h, which includes a header that is not installed. */
enum { AUTHENTICATION = 2 };

struct login_plugin {
    MYSQL_CLIENT_PLUGIN_HEADER
    int (*authenticate_user)(MYSQL_PLUGIN_VIO *, MYSQL *);
};

enum { CACHING_SHA2, SHA256, CLEAR, DIALOG, OLD, PLUGINS };

static const char *const names[PLUGINS] = {"caching_sha2_password", "sha256_password", "mysql_clear_password", "dialog",
                                           "mysql_old_password"};

typedef int authenticate(MYSQL_PLUGIN_VIO *, MYSQL *);
/* The length is an int in Connector/C up to about 3.4.3, and a size_t later. A size_t works for both. */
typedef int write_packet(MYSQL_PLUGIN_VIO *, const unsigned char *, size_t);

/* The vio that a plugin gets in place of the library's vio. */
struct guarded_vio {
    MYSQL_PLUGIN_VIO ours; /* must be first: the plugin passes a pointer to it */
    MYSQL_PLUGIN_VIO *library;
    struct qt_login_guard *guard;
    int plugin;
    char key[8192]; /* content of the given key file, after the plugin requested the key */
    size_t key_len; /* bytes in `key`; 0 = no request to answer */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static authenticate *of_library[PLUGINS];
static atomic_int is_ours[PLUGINS]; /* set after both function pointers */
static _Thread_local struct qt_login_guard *current;

static int is_encrypted(MYSQL *m) { return mysql_get_ssl_cipher(m) != NULL; }

static int is_password(MYSQL *m, const unsigned char *packet, size_t len)
{
    size_t n = m->passwd == NULL ? 0 : strlen(m->passwd);
    return n > 0 && (len == n || len == n + 1) && memcmp(packet, m->passwd, n) == 0;
}

static const char needs_key[] = "the login needs the RSA key of the server, and querytape does not accept a key "
                                "that the server sends without TLS: " SAFELY;

/* Returns why a packet must not be sent without encryption, or NULL if it may be sent. A packet of one byte is the
 * request for the key. */
static const char *refuse(const struct guarded_vio *v, const unsigned char *packet, size_t len)
{
    if (v->guard->by_socket || len == 0 || is_encrypted(v->guard->mysql))
        return NULL;
    if (v->plugin >= CLEAR || is_password(v->guard->mysql, packet, len))
        return "the server requests the password in clear text, but the connection is not encrypted: login refused";
    if (len == 1 && !v->guard->asks_for_key)
        return needs_key;
    return NULL;
}

/* Reads the given key file as the answer to the key request. Returns whether the file is readable. */
static int answer_with_file(struct guarded_vio *v)
{
    FILE *file = v->guard->public_key != NULL ? fopen(v->guard->public_key, "rbe") : NULL;

    if (file == NULL)
        return 0;
    v->key_len = fread(v->key, 1, sizeof v->key, file);
    fclose(file);
    if (v->key_len == sizeof v->key) /* too large for a key file */
        v->key_len = 0;
    return v->key_len > 0;
}

static int read_guarded(MYSQL_PLUGIN_VIO *vio, unsigned char **packet)
{
    struct guarded_vio *v = (struct guarded_vio *)vio;
    int len = (int)v->key_len;

    if (len == 0)
        return v->library->read_packet(v->library, packet);
    *packet = (unsigned char *)v->key;
    v->key_len = 0;
    return len;
}

static int write_guarded(MYSQL_PLUGIN_VIO *vio, const unsigned char *packet, size_t n)
{
    struct guarded_vio *v = (struct guarded_vio *)vio;
    size_t len = (unsigned)n; /* drops the upper half if the caller passed an int */
    const char *why = refuse(v, packet, len);

    if (why == needs_key && answer_with_file(v))
        return 0;
    if (why == NULL)
        return ((write_packet *)(void (*)(void))v->library->write_packet)(v->library, packet, len);
    v->guard->refused = why;
    return 1;
}

static void tell_guarded(MYSQL_PLUGIN_VIO *vio, struct st_plugin_vio_info *info)
{
    struct guarded_vio *v = (struct guarded_vio *)vio;
    v->library->info(v->library, info);
}

static int log_in(int plugin, MYSQL_PLUGIN_VIO *library, MYSQL *m)
{
    struct guarded_vio v = {.library = library, .guard = current, .plugin = plugin};

    if (current == NULL || current->mysql != m)
        return of_library[plugin](library, m);
    v.ours.read_packet = read_guarded;
    v.ours.write_packet = (int (*)(MYSQL_PLUGIN_VIO *, const unsigned char *, int))(void (*)(void))write_guarded;
    v.ours.info = tell_guarded;
    return of_library[plugin](&v.ours, m);
}

static int caching_sha2(MYSQL_PLUGIN_VIO *vio, MYSQL *m) { return log_in(CACHING_SHA2, vio, m); }
static int sha256(MYSQL_PLUGIN_VIO *vio, MYSQL *m) { return log_in(SHA256, vio, m); }
static int clear(MYSQL_PLUGIN_VIO *vio, MYSQL *m) { return log_in(CLEAR, vio, m); }
static int dialog(MYSQL_PLUGIN_VIO *vio, MYSQL *m) { return log_in(DIALOG, vio, m); }

/* mysql_old_password cannot be guarded: its function uses private members of the library's vio. */
static authenticate *const ours[PLUGINS] = {caching_sha2, sha256, clear, dialog, NULL};

/* Returns whether the plugin is guarded. Guards it first if necessary. `m` has the plugin folder. */
static int is_guarded(MYSQL *m, int plugin)
{
    struct login_plugin *found;

    if (atomic_load(&is_ours[plugin]) || ours[plugin] == NULL)
        return ours[plugin] != NULL;
    pthread_mutex_lock(&lock);
    found = (void *)mysql_client_find_plugin(m, names[plugin], AUTHENTICATION);
    if (found != NULL && of_library[plugin] == NULL) {
        of_library[plugin] = found->authenticate_user;
        found->authenticate_user = ours[plugin];
        atomic_store(&is_ours[plugin], 1);
    }
    pthread_mutex_unlock(&lock);
    return atomic_load(&is_ours[plugin]);
}

/* Sets the list of allowed plugins. Connector/C before 3.3 cannot restrict plugins. */
static int restrict_plugins(MYSQL *m, const struct qt_engine_options *o)
{
    char allowed[256] = "mysql_native_password,client_ed25519,parsec";
    int cleartext = o->cleartext && o->tls != QT_TLS_DISABLED;

    for (int i = 0; i < PLUGINS; i++)
        if (i < CLEAR ? is_guarded(m, i) : cleartext && (is_guarded(m, i) || i == OLD)) {
            strcat(allowed, ",");
            strcat(allowed, names[i]);
        }
    if (cleartext)
        strcat(allowed, ",auth_gssapi_client");
#if MARIADB_PACKAGE_VERSION_ID >= 30300
    return mysql_optionsv(m, MARIADB_OPT_RESTRICTED_AUTH, allowed);
#else
    return 0;
#endif
}

/* Always sets the TLS options, because Connector/C 3.4 and later verify certificates by default. */
int qt_login_guard_set(MYSQL *m, const struct qt_engine_options *o)
{
    my_bool on = o->tls != QT_TLS_DISABLED, verify = o->tls == QT_TLS_VERIFY_IDENTITY;

    return mysql_optionsv(m, MYSQL_OPT_SSL_ENFORCE, &on) ||
           mysql_optionsv(m, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify) ||
           (on && o->tls_ca != NULL && mysql_optionsv(m, MYSQL_OPT_SSL_CA, o->tls_ca)) ||
           (on && o->tls_cert != NULL && mysql_optionsv(m, MYSQL_OPT_SSL_CERT, o->tls_cert)) ||
           (on && o->tls_key != NULL && mysql_optionsv(m, MYSQL_OPT_SSL_KEY, o->tls_key)) ||
           (o->plugins != NULL && mysql_optionsv(m, MYSQL_PLUGIN_DIR, o->plugins)) ||
           (o->public_key != NULL && mysql_optionsv(m, MYSQL_SERVER_PUBLIC_KEY, o->public_key)) ||
           restrict_plugins(m, o);
}

void qt_login_guard_begin(struct qt_login_guard *g, MYSQL *m, const struct qt_engine_options *o)
{
    *g = (struct qt_login_guard){
        .mysql = m,
        .by_socket = o->socket != NULL,
        .tls = o->tls != QT_TLS_DISABLED,
        .asks_for_key = o->asks_for_key && o->public_key == NULL,
        .plugins = o->plugins,
        .public_key = o->public_key,
    };
    current = g;
}

/* A plugin that could not be loaded is missing in the list of allowed plugins. The library then only reports that the
 * plugin is not allowed. Loading the plugin again makes the library report the real reason. */
static void say_what_is_missing(const struct qt_login_guard *g)
{
    if (mysql_errno(g->mysql) != CR_PLUGIN_NOT_ALLOWED)
        return;
    for (int i = 0; i < CLEAR; i++)
        if (!atomic_load(&is_ours[i]) && strstr(mysql_error(g->mysql), names[i]) != NULL) {
            if (g->plugins != NULL)
                mysql_optionsv(g->mysql, MYSQL_PLUGIN_DIR, g->plugins); /* the failed login has freed this option */
            pthread_mutex_lock(&lock);
            mysql_client_find_plugin(g->mysql, names[i], AUTHENTICATION);
            pthread_mutex_unlock(&lock);
            return;
        }
}

/* Also rejects an unencrypted login if TLS is required. The library continues without TLS if the server, or an attacker
 * in between, reports that TLS is unavailable. */
const char *qt_login_guard_end(struct qt_login_guard *g, int logged_in)
{
    current = NULL;
    if (g->refused == NULL && !logged_in)
        say_what_is_missing(g);
    if (g->refused == NULL && logged_in && g->tls && !g->by_socket && !is_encrypted(g->mysql))
        return "the connection is not encrypted, but --ssl-mode requires encryption";
    return g->refused;
}
