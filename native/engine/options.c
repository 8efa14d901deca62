/* SPDX-License-Identifier: Apache-2.0 */
/* The options that the caller gave: checked, then copied with every text, for they outlive the call. Passwords are
 * wiped before they are freed. */
#include "engine/options.h"

#include <stdlib.h>
#include <string.h>

int qt_options_check(const struct qt_engine_options *o, struct qt_error *err)
{
    if ((o->host == NULL) == (o->socket == NULL))
        return qt_fail(err, QT_EINVALID, "expected either host or socket");
    if (o->user == NULL || o->charset == NULL)
        return qt_fail(err, QT_EINVALID, "expected user and charset");
    if (o->read_target != NULL &&
        ((o->read_target->host == NULL) == (o->read_target->socket == NULL) || o->read_target->user == NULL))
        return qt_fail(err, QT_EINVALID, "expected of the read target either host or socket, and a user");
    if (o->connect_timeout_s < 1 || o->connect_rate < 1 || o->queue_bytes < 1 || o->drain_ns < 0 || o->timer_probes < 0)
        return qt_fail(err, QT_EINVALID,
                       "expected connect_timeout_s, connect_rate and queue_bytes of at least 1, "
                       "drain_ns and timer_probes of at least 0");
    if (o->follows && (o->pace == QT_PACE_NONE || o->order_tables > 0 || o->max_open > 0))
        return qt_fail(err, QT_EINVALID, "what follows has a pace, no order, and any number of sessions at once");
    if (o->pace < QT_PACE_SCHEDULE || o->pace > QT_PACE_NONE || o->order_tables < 0 || o->n_accounts < 0)
        return qt_fail(err, QT_EINVALID, "expected a pace, and order_tables and n_accounts of at least 0");
    return QT_OK;
}

/* Where one fails the field is NULL, which frees as well. */
static int copy_text(const char **field)
{
    const char *text = *field;
    *field = text == NULL ? NULL : strdup(text);
    return text == NULL || *field != NULL;
}

static int copy_accounts(struct qt_engine_options *o)
{
    const struct qt_account *from = o->accounts;
    struct qt_account *to;
    int32_t n = o->n_accounts;

    o->n_accounts = 0;
    o->accounts = to = n > 0 ? calloc((size_t)n, sizeof *to) : NULL;
    if (n > 0 && to == NULL)
        return 0;
    for (int32_t i = 0; i < n; i++) {
        to[i] = from[i];
        o->n_accounts = i + 1;
        if (!(copy_text(&to[i].user) & copy_text(&to[i].password)))
            return 0;
    }
    return 1;
}

static int copy_options(struct qt_engine_options *to, const struct qt_engine_options *from)
{
    *to = *from;
    return copy_text(&to->host) & copy_text(&to->socket) & copy_text(&to->user) & copy_text(&to->password) &
           copy_text(&to->db) & copy_text(&to->charset) & copy_text(&to->init) & copy_text(&to->tls_ca) &
           copy_text(&to->tls_cert) & copy_text(&to->tls_key) & copy_text(&to->plugins) & copy_text(&to->public_key) &
           copy_text(&to->refused_calls) & copy_accounts(to);
}

/* Connections to the read target are opened with these: the other options stay those of the target. */
static int copy_read_target(struct qt_engine *e)
{
    const struct qt_address *read_target = e->options.read_target;
    struct qt_engine_options *to = &e->read_target_options;

    if (read_target == NULL)
        return 1;
    *to = e->options;
    to->host = read_target->host;
    to->socket = read_target->socket;
    to->port = read_target->port;
    to->asks_for_key = read_target->asks_for_key;
    to->user = read_target->user;
    to->password = read_target->password;
    return copy_text(&to->host) & copy_text(&to->socket) & copy_text(&to->user) & copy_text(&to->password);
}

static void free_text(const char *text) { free((void *)(uintptr_t)text); }

static void free_secret(const char *text)
{
    if (text != NULL)
        explicit_bzero((char *)(uintptr_t)text, strlen(text));
    free_text(text);
}

static void free_target(struct qt_engine_options *o)
{
    const char *texts[] = {o->host,   o->socket,   o->user,    o->db,      o->charset,    o->init,
                           o->tls_ca, o->tls_cert, o->tls_key, o->plugins, o->public_key, o->refused_calls};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free_text(texts[i]);
    free_secret(o->password);
    for (int32_t i = 0; i < o->n_accounts; i++) {
        free_text(o->accounts[i].user);
        free_secret(o->accounts[i].password);
    }
    free((void *)(uintptr_t)o->accounts);
}

static void free_read_target(struct qt_engine_options *o)
{
    free_text(o->host);
    free_text(o->socket);
    free_text(o->user);
    free_secret(o->password);
}

int qt_options_copy(struct qt_engine *e, const struct qt_engine_options *from)
{
    return copy_options(&e->options, from) && copy_read_target(e);
}

void qt_options_free(struct qt_engine *e)
{
    free_read_target(&e->read_target_options);
    free_target(&e->options);
}
