/* SPDX-License-Identifier: Apache-2.0 */
/* Finds names and literals that indicate a password or a key. Statements that only move application data do not count.
 * An example is INSERT INTO accounts VALUES ('password ...'). */
#include "sql/secrets.h"

#include <string.h>

#include "sql/names.h"

static const char *const WORDS[] = {
    "passw",          "private_key",       "pwd",         "secret",      "passphrase", "token",
    "credential",     "api_key",           "apikey",      "access_key",  "crypt_key",  "aes_key",
    "encryption_key", "master_key",        "signing_key", "session_key", "hmac_key",   "aeskey",
    "filekey",        "hashicorp_role_id", "otlp_",       "bearer",      NULL};

/* Short words count only if no letter is next to them. */
static const char *const WHOLE_WORDS[] = {"pass", "pw", "jwt", NULL};

/* Returns the byte after the next `word`, or NULL. `word` is in lower case; the text may have any case. A `_` in `word`
 * also matches a -. */
static const char *behind(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    for (; (size_t)(end - p) >= n; p++) {
        size_t k = 0;
        while (k < n && (qt_lower(p[k]) == word[k] || (word[k] == '_' && p[k] == '-')))
            k++;
        if (k == n)
            return p + n;
    }
    return NULL;
}

static int holds(const struct qt_token *t, const char *word) { return behind(t->p, t->p + t->len, word) != NULL; }

/* Returns 1 if the name contains auth, but not only as part of author. The word authorization counts. */
static int holds_auth(const struct qt_token *t)
{
    const char *p = t->p, *end = t->p + t->len;
    while ((p = behind(p, end, "auth")) != NULL)
        if (end - p < 2 || qt_lower(p[0]) != 'o' || qt_lower(p[1]) != 'r' || (end - p > 2 && qt_lower(p[2]) == 'i'))
            return 1;
    return 0;
}

static int is_letter(char c)
{
    char lower = qt_lower(c);
    return lower >= 'a' && lower <= 'z';
}

static int holds_whole(const struct qt_token *t, const char *word)
{
    const char *p = t->p, *end = t->p + t->len;
    size_t n = strlen(word);
    while ((p = behind(p, end, word)) != NULL)
        if ((p - n == t->p || !is_letter(*(p - n - 1))) && (p == end || !is_letter(*p)))
            return 1;
    return 0;
}

/* Returns 1 if the token names something that may contain a secret. */
static int tells(const struct qt_token *t)
{
    if (t->len > 1024) /* longer than any name in a server */
        return 1;
    for (size_t i = 0; WORDS[i] != NULL; i++)
        if (holds(t, WORDS[i]))
            return 1;
    for (size_t i = 0; WHOLE_WORDS[i] != NULL; i++)
        if (holds_whole(t, WHOLE_WORDS[i]))
            return 1;
    return holds_auth(t);
}

void qt_secret_assigned(struct qt_classifier *c) { c->secret |= tells(&c->name); }

/* Returns 1 for password "..." or password=..., as in the comment of a SPIDER table. */
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
        return 1;
    default:
        return 0;
    }
}

static int in_string(const struct qt_classifier *c, const struct qt_token *t)
{
    if (moves_data(c))
        return 0;
    if (c->previous == QT_K_password || c->previous == QT_K_connection)
        return 1;
    if ((c->words[0] == QT_K_create || c->words[0] == QT_K_alter) &&
        (qt_secret_in_gap(t->p, t->len) || holds(t, "\"par\"")))
        return 1;
    if (holds(t, "identified") || password_and_value(t) || (holds(t, "://") && memchr(t->p, '@', t->len) != NULL))
        return 1;
    return (c->words[0] == QT_K_prepare || c->words[0] == QT_K_execute || c->words[0] == QT_K_set) &&
           (holds(t, "password") || holds(t, "crypt("));
}

enum { MAX_DEPTH = 63 };

static uint64_t bit(int64_t depth) { return UINT64_C(1) << (depth < 0 ? 0 : depth < MAX_DEPTH ? depth : MAX_DEPTH); }

static void judge(struct qt_classifier *c)
{
    c->secret |= (c->told & QT_TOLD_INTO && c->told & QT_TOLD_LISTED) ||
                 (c->told & QT_TOLD_CIPHER && c->told & QT_TOLD_DERIVED);
}

void qt_secret_clause(struct qt_classifier *c, const struct qt_token *t, int k)
{
    switch (k) {
    case QT_K_values:
        if (c->words[0] != QT_K_values && c->words[0] != QT_K_select && c->words[0] != QT_K_with)
            break; /* VALUES(a) in an INSERT is a function */
        /* fallthrough */
    case QT_K_select:
        c->lists |= bit(c->depth);
        c->into = 0;
        break;
    case QT_K_into:
        c->into = c->lists != 0 || c->told & QT_TOLD_LISTED || c->verb == QT_K_select || c->verb == QT_K_values;
        break;
    case QT_K_from:
    case QT_K_where:
    case QT_K_union:
    case QT_K_limit:
        c->lists &= ~bit(c->depth);
        c->into = 0;
        break;
    default:
        qt_secret_into(c, t);
    }
}

void qt_secret_closed(struct qt_classifier *c)
{
    if (c->depth <= MAX_DEPTH)
        c->lists &= ~bit(c->depth);
}

void qt_secret_into(struct qt_classifier *c, const struct qt_token *t)
{
    if (c->into && tells(t))
        c->told |= QT_TOLD_INTO;
    judge(c);
}

/* Records a literal in a select list: 'x', CONCAT('x', a). */
static void listed(struct qt_classifier *c)
{
    c->told |= c->lists != 0 ? QT_TOLD_LISTED : 0;
    c->told |= c->lists > bit(c->base) * 2 - 1 ? QT_TOLD_DERIVED : 0;
    judge(c);
}

void qt_secret_literal(struct qt_classifier *c, const struct qt_token *t)
{
    if (t->kind != QT_T_NUMBER || (t->len > 1 && qt_lower(t->p[1]) == 'x'))
        listed(c);
    if (t->kind == QT_T_NUMBER)
        c->secret |= c->cipher_depth > 0 && t->len > 1 && qt_lower(t->p[1]) == 'x';
    else if (!c->secret)
        c->secret = c->cipher_depth > 0 || c->declares == QT_DECLARES_SECRET || in_string(c, t);
}

enum { MIN_COMMENT = 6 }; /* bytes; a shorter comment cannot contain a secret */

/* Returns 1 if = or : follows the word. Blanks, quotes and identifier bytes may be in between, as in token=abc or
 * "pwd": "x". */
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
    return behind(p, end, "identified by") != NULL || holds_assignment(p, end, "authorization") ||
           (behind(p, end, "://") != NULL && memchr(p, '@', n) != NULL);
}

int qt_secret_in_hint(struct qt_classifier *c, const struct qt_token *t)
{
    if (!c->in_hint)
        return 0;
    c->in_hint = t->kind != QT_T_COMMENT_END;
    if (!c->in_hint)
        c->secret |= qt_secret_in_gap(c->hint, (size_t)(t->p - c->hint));
    return 1;
}

int qt_secret_in_nonsense(const char *sql, size_t len)
{
    for (size_t i = 0; WORDS[i] != NULL; i++)
        if (behind(sql, sql + len, WORDS[i]) != NULL)
            return 1;
    return behind(sql, sql + len, "identified") != NULL || behind(sql, sql + len, "aes_encrypt(") != NULL ||
           behind(sql, sql + len, "aes_decrypt(") != NULL || behind(sql, sql + len, "://") != NULL;
}

/* Returns 1 if the statement writes rows. The first word decides, or the verb after CREATE PROCEDURE or EXPLAIN. */
static int stores(const struct qt_classifier *c)
{
    int first = c->words[0], verb = c->verb;
    return first == QT_K_insert || first == QT_K_update || first == QT_K_replace || verb == QT_K_insert ||
           verb == QT_K_update || verb == QT_K_replace;
}

int qt_secret_schema(const char *name, size_t len)
{
    struct qt_token t = {.kind = QT_T_WORD, .p = name, .len = len};
    return qt_name_is(&t, "mysql");
}

void qt_secret_named(struct qt_classifier *c, const struct qt_token *t)
{
    static const char *const OWN_TABLES[] = {"user", "global_priv", "servers", "slave_master_info", NULL};
    if (c->previous == QT_K_declare)
        c->declares = QT_DECLARES;
    if (c->declares == QT_DECLARES && tells(t))
        c->declares = QT_DECLARES_SECRET;
    if (c->dotted == QT_DOTTED_MYSQL && stores(c) && qt_name_is_any(t, OWN_TABLES))
        c->secret = 1;
    if (t->len < 18 || t->len > 23)
        return;
    c->secret |= (stores(c) && qt_name_is(t, "authentication_string")) || qt_name_is(t, "challenge_response");
}

void qt_secret_password(struct qt_classifier *c)
{
    if (c->left && !c->system && c->dotted == QT_DOTTED_NO && (c->previous == QT_K_NONE || c->previous == QT_K_set)) {
        c->seen |= QT_SEEN_ACCOUNTS;
        c->secret = 1;
    } else if (c->previous == QT_K_set && (c->words[0] == QT_K_create || c->words[0] == QT_K_alter))
        c->secret |= c->verb == QT_K_NONE; /* in a routine's body; UPDATE t SET password = 'x' only sets data */
}

void qt_secret_call(struct qt_classifier *c)
{
    switch (c->previous) {
    case QT_K_password:
    case QT_K_old_password:
        c->secret = 1;
        break;
    case QT_K_encrypt:
    case QT_K_encode:
    case QT_K_decode:
    case QT_K_aes_encrypt:
    case QT_K_aes_decrypt:
    case QT_K_des_encrypt:
    case QT_K_des_decrypt:
        c->told |= QT_TOLD_CIPHER;
        judge(c);
        if (c->cipher_depth == 0)
            c->cipher_depth = c->depth + 1;
        break;
    case QT_K_md5:
    case QT_K_sha:
    case QT_K_sha1:
    case QT_K_sha2:
    case QT_K_kdf:
    case QT_K_create_digest:
        if (c->cipher_depth == 0)
            c->cipher_depth = c->depth + 1;
        break;
    default:
        break;
    }
}

/* Functions and procedures that take a password or a private key. A `*` matches any end of the name. */
static const char *const CALLS[] = {"validate_password_strength",
                                    "audit_log_encryption_password_set",
                                    "statement_digest*",
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

void qt_secret_option(struct qt_classifier *c, const char *name, size_t len, char sign)
{
    int defines = c->words[0] == QT_K_create || c->words[0] == QT_K_alter, variable = *name == '@';
    int option = sign == '=' && defines && c->depth == c->base && (c->verb == QT_K_NONE || c->verb == QT_K_table);
    if (!option && !(variable && (sign == ':' || defines)))
        return;
    struct qt_token t = {.kind = QT_T_WORD, .p = name, .len = len < 128 ? len : 128};
    c->secret |= tells(&t);
}
