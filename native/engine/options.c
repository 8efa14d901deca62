/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the caller's options and copies them with all texts, because the engine outlives the call. Texts are wiped
 * before they are freed. */
#include "engine/options.h"

#include <stdlib.h>
#include <string.h>

int qt_options_check(const struct qt_engine_options *o, struct qt_error *err)
{
    if ((o->host == NULL) == (o->socket == NULL))
        return qt_fail(err, QT_EINVALID, "expected exactly one of the options host and socket");
    if (o->user == NULL || o->charset == NULL)
        return qt_fail(err, QT_EINVALID, "the options user and charset are required");
    if (o->read_target != NULL &&
        ((o->read_target->host == NULL) == (o->read_target->socket == NULL) || o->read_target->user == NULL))
        return qt_fail(err, QT_EINVALID, "the read target needs a user, and either host or socket");
    if (o->follows && (o->pace == QT_PACE_NONE || o->order_tables > 0 || o->max_concurrent_sessions > 0))
        return qt_fail(err, QT_EINVALID,
                       "the option 'follows' requires a pace, and cannot be combined with order_tables or "
                       "max_concurrent_sessions");
#define REFUSE_LESS(name, least) \
    if (o->name < (least)) \
        return qt_fail(err, QT_EINVALID, "expected " #name " of at least " #least);
#define REFUSE_MORE(name, most) \
    if (o->name > (most)) \
        return qt_fail(err, QT_EINVALID, "expected " #name " of at most " #most);
    QT_EACH_OPTION_LEAST(REFUSE_LESS)
    QT_EACH_OPTION_MOST(REFUSE_MORE)
    if (o->n_accounts < 0)
        return qt_fail(err, QT_EINVALID, "expected n_accounts of at least 0");
    return QT_OK;
}

/* Replaces a text with its copy. On failure the field is NULL, so qt_options_free can still run. */
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

#define COPY_TEXT(name) copied &= copy_text(&to->name);

static int copy_options(struct qt_engine_options *to, const struct qt_engine_options *from)
{
    int copied = 1;

    *to = *from;
    QT_EACH_OPTION_TEXT(COPY_TEXT)
    return copied & copy_accounts(to);
}

/* Makes the options for connections to the read target. All options except address, user and password are those of the
 * target. */
static int copy_read_target(struct qt_engine *e)
{
    const struct qt_address *read_target = e->options.read_target;
    struct qt_engine_options *to = &e->read_target_options;
    int copied = 1;

    if (read_target == NULL)
        return 1;
    *to = e->options;
#define TAKE(name) to->name = read_target->name;
    QT_EACH_ADDRESS_FIELD(TAKE)
    QT_EACH_ADDRESS_TEXT(COPY_TEXT)
    return copied;
}

/* Wipes and frees a text, because any text may contain a password. */
static void free_text(const char *text)
{
    if (text != NULL)
        explicit_bzero((char *)(uintptr_t)text, strlen(text));
    free((void *)(uintptr_t)text);
}

#define FREE_TEXT(name) free_text(o->name);

static void free_target(struct qt_engine_options *o)
{
    QT_EACH_OPTION_TEXT(FREE_TEXT)
    for (int32_t i = 0; i < o->n_accounts; i++) {
        free_text(o->accounts[i].user);
        free_text(o->accounts[i].password);
    }
    free((void *)(uintptr_t)o->accounts);
}

static void free_read_target(struct qt_engine_options *o) { QT_EACH_ADDRESS_TEXT(FREE_TEXT) }

int qt_options_copy(struct qt_engine *e, const struct qt_engine_options *from)
{
    return copy_options(&e->options, from) && copy_read_target(e);
}

void qt_options_free(struct qt_engine *e)
{
    free_read_target(&e->read_target_options);
    free_target(&e->options);
}
