/* SPDX-License-Identifier: Apache-2.0 */
/* Finds names, and texts inside literals, that tell of a password or a key. Sees nothing of statements that only move
 * an application's data: INSERT INTO accounts VALUES ('password ...') is none. */
#include "sql/secrets.h"

#include <string.h>

static const char *const WORDS[] = {"passw",     "private_key", "pwd",     "secret", "passphrase",
                                    "token",     "credential",  "api_key", "apikey", "access_key",
                                    "crypt_key", "aes_key",     NULL};

/* Behind the next `word` (lower case) in whatever case, or NULL. */
static const char *behind(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    for (; (size_t)(end - p) >= n; p++) {
        size_t k = 0;
        while (k < n && qt_lower(p[k]) == word[k])
            k++;
        if (k == n)
            return p + n;
    }
    return NULL;
}

static int holds(const struct qt_token *t, const char *word) { return behind(t->p, t->p + t->len, word) != NULL; }

/* auth, but not author */
static int holds_auth(const struct qt_token *t)
{
    const char *p = t->p, *end = t->p + t->len;
    while ((p = behind(p, end, "auth")) != NULL)
        if (end - p < 2 || qt_lower(p[0]) != 'o' || qt_lower(p[1]) != 'r' || (end - p > 2 && qt_lower(p[2]) == 'i'))
            return 1;
    return 0;
}

void qt_secret_assigned(struct qt_classifier *c)
{
    if (c->name.len > 1024) { /* no server has such names */
        c->secret = 1;
        return;
    }
    for (size_t i = 0; WORDS[i] != NULL; i++)
        c->secret |= holds(&c->name, WORDS[i]);
    c->secret |= holds_auth(&c->name);
}

/* password "...", password=...: as in a SPIDER table's comment. */
static int password_and_value(const struct qt_token *t)
{
    const char *p = t->p, *end = t->p + t->len;
    while ((p = behind(p, end, "password")) != NULL) {
        const char *at = p;
        while (at < end && *at == ' ')
            at++;
        if (at < end - 1 && memchr("\"'\\=:", *at, 5) != NULL)
            return 1;
    }
    return 0;
}

static int moves_data(const struct qt_classifier *c)
{
    switch (c->words[0]) {
    case QT_K_select:
    case QT_K_insert:
    case QT_K_update:
    case QT_K_delete:
    case QT_K_replace:
    case QT_K_with:
    case QT_K_values:
    case QT_K_table:
    case QT_K_explain:
    case QT_K_describe:
    case QT_K_desc:
    case QT_K_show:
    case QT_K_load:
        return 1;
    default:
        return 0;
    }
}

int qt_secret_in_string(const struct qt_classifier *c, const struct qt_token *t)
{
    if (moves_data(c))
        return 0;
    if (c->previous == QT_K_password || c->previous == QT_K_connection)
        return 1;
    if (holds(t, "identified") || password_and_value(t) || (holds(t, "://") && memchr(t->p, '@', t->len) != NULL))
        return 1;
    return (c->words[0] == QT_K_prepare || c->words[0] == QT_K_execute || c->words[0] == QT_K_set) &&
           (holds(t, "password") || holds(t, "crypt("));
}

enum { MIN_COMMENT = 6 }; /* bytes; in a shorter one is no secret */

/* A word, perhaps with blanks behind it, and = or : or a quote: token=abc, "pwd": "x". */
static int holds_assignment(const char *p, const char *end, const char *word)
{
    while ((p = behind(p, end, word)) != NULL) {
        const char *at = p;
        while (at < end && (qt_char_class[(unsigned char)*at] & QT_C_IDENT || memchr(" \"'", *at, 3) != NULL))
            at++;
        if (at < end && (*at == '=' || *at == ':'))
            return 1;
    }
    return 0;
}

int qt_secret_in_gap(const char *p, size_t n)
{
    const char *end = p + n;
    if (n <= MIN_COMMENT)
        return 0;
    if (memchr(p, '=', n) != NULL || memchr(p, ':', n) != NULL)
        for (size_t i = 0; WORDS[i] != NULL; i++)
            if (holds_assignment(p, end, WORDS[i]))
                return 1;
    return behind(p, end, "identified by") != NULL || (behind(p, end, "://") != NULL && memchr(p, '@', n) != NULL);
}

int qt_secret_in_nonsense(const char *sql, size_t len)
{
    for (size_t i = 0; WORDS[i] != NULL; i++)
        if (behind(sql, sql + len, WORDS[i]) != NULL)
            return 1;
    return behind(sql, sql + len, "identified") != NULL;
}

/* Functions and procedures that take a password or a private key; a `*` stands for any end. */
static const char *const CALLS[] = {"validate_password_strength",
                                    "keyring_key_store",
                                    "create_asymmetric_pub_key",
                                    "asymmetric_*",
                                    "rds_set_external_*",
                                    "rds_import_binlog_ssl_material",
                                    "az_replication_change_*",
                                    "setupexternalsource*",
                                    NULL};

int qt_secret_function(const char *name, size_t len)
{
    for (size_t i = 0; CALLS[i] != NULL; i++) {
        size_t n = 0;
        while (n < len && CALLS[i][n] == qt_lower(name[n]))
            n++;
        if (CALLS[i][n] == '*' || (n == len && CALLS[i][n] == '\0'))
            return 1;
    }
    return 0;
}

void qt_secret_option(struct qt_classifier *c, const char *name, size_t len)
{
    int defines = c->words[0] == QT_K_create || c->words[0] == QT_K_alter;
    if (!defines || c->depth != c->base || (c->verb != QT_K_NONE && c->verb != QT_K_table))
        return;
    struct qt_token t = {.kind = QT_T_WORD, .p = name, .len = len < 128 ? len : 128};
    for (size_t i = 0; WORDS[i] != NULL; i++)
        c->secret |= holds(&t, WORDS[i]);
    c->secret |= holds_auth(&t);
}
