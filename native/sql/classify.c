/* SPDX-License-Identifier: Apache-2.0 */
/* Collects from the tokens what verdict.c decides on. A text of several statements counts as its most dangerous one; where
 * two are dangerous the code with the smaller number wins (they are in that order in schemas/codes.py). */
#include "classify.h"

#include <string.h>

void qt_classify_begin(struct qt_classifier *c)
{
    memset(c, 0, sizeof *c);
    c->klass = -1;
}

static void next_statement(struct qt_classifier *c)
{
    memset(c->words, 0, sizeof c->words);
    c->n_words = c->verb = c->previous = c->second = c->odd = c->left = 0;
    c->seen = 0;
    c->base = c->depth;
    c->cipher_depth = 0;
}

void qt_classify_again(struct qt_classifier *c)
{
    c->depth = 0;
    c->compound = c->routine = c->in_hint = 0;
    next_statement(c);
}

static void merge(struct qt_classifier *c, struct qt_verdict v)
{
    static const uint8_t rank[] = {[QT_CLASS_READ] = 0, [QT_CLASS_SESSION] = 1, [QT_CLASS_TRANSACTION] = 2,
                                   [QT_CLASS_WRITE] = 3, [QT_CLASS_DDL] = 4, [QT_CLASS_ADMIN] = 5};
    if (c->klass < 0 || rank[v.klass] > rank[c->klass])
        c->klass = v.klass;
    if (v.danger != 0 && (c->danger == 0 || v.danger < c->danger))
        c->danger = v.danger;
}

static int dangers_seen(const struct qt_classifier *c)
{
    if (c->seen & QT_SEEN_LOAD_FILE)
        return QT_DANGER_LOAD_DATA;
    if (c->seen & QT_SEEN_INTO_FILE)
        return QT_DANGER_INTO_FILE;
    return c->seen & QT_SEEN_UNSAFE ? QT_DANGER_SET_SESSION_UNSAFE : QT_DANGER_NONE;
}

static void end_statement(struct qt_classifier *c)
{
    if (c->n_words > 0 || c->odd) {
        struct qt_verdict v = qt_verdict_of(c);
        if (v.klass == QT_CLASS_READ && (c->seen & QT_SEEN_SEQUENCE))
            v.klass = QT_CLASS_WRITE;
        merge(c, v);
        merge(c, (struct qt_verdict){QT_CLASS_READ, dangers_seen(c)});
    }
    next_statement(c);
}

void qt_classify_end(struct qt_classifier *c)
{
    end_statement(c);
    if (c->klass < 0)
        c->klass = QT_CLASS_SESSION; /* nothing but comments: does nothing */
}

/* What was read so far leads to another statement: SET STATEMENT ... FOR, IF ... THEN. */
static void restart(struct qt_classifier *c)
{
    uint32_t seen = c->seen & QT_SEEN_UNSAFE;
    next_statement(c);
    c->seen = seen;
}

/* The name as a user wrote it, without @ and quotes. */
static const char *bare(const struct qt_token *t, size_t *len)
{
    const char *p = t->p, *end = t->p + t->len;
    if (p < end && *p == '@')
        p++;
    if (p < end && (*p == '`' || *p == '\'' || *p == '"')) {
        end -= end - p > 1 && end[-1] == *p;
        p++;
    }
    *len = (size_t)(end - p);
    return p;
}

int qt_name_is(const struct qt_token *t, const char *name)
{
    size_t len, want = strlen(name);
    const char *p = bare(t, &len);
    if (len != want)
        return 0;
    for (size_t i = 0; i < len; i++)
        if (qt_lower(p[i]) != name[i])
            return 0;
    return 1;
}

static int any_of(const struct qt_token *t, const char *const *names)
{
    for (; *names != NULL; names++)
        if (qt_name_is(t, *names))
            return 1;
    return 0;
}

/* SET name = : what does assigning to it do? */
static void assigned(struct qt_classifier *c)
{
    static const char *const unsafe[] = {"sql_log_bin", "sql_log_off", "transaction_read_only", "tx_read_only", "wsrep_on",
                                         "binlog_format", "pseudo_slave_mode", "pseudo_replica_mode", "pseudo_thread_id",
                                         "skip_replication", "debug", "session_track_gtids", "binlog_row_image", NULL};
    static const char *const replication[] = {"gtid_next", "gtid_domain_id", "gtid_seq_no", "gtid_purged", "gtid_slave_pos",
                                              "server_id", "sql_slave_skip_counter", "sql_replica_skip_counter", NULL};
    c->left = 0;
    if (c->name.len == 0)
        return;
    qt_secret_assigned(c);
    if (c->name.kind == QT_T_VARIABLE)
        return;
    if (qt_name_is(&c->name, "timestamp"))
        c->flags |= QT_F_TIMESTAMP;
    else if (any_of(&c->name, unsafe))
        c->seen |= QT_SEEN_UNSAFE;
    else if (any_of(&c->name, replication))
        c->seen |= QT_SEEN_REPLICATION;
}

/* Words that mean something wherever they stand. */
static void watched(struct qt_classifier *c, int k)
{
    int at_base = c->depth == c->base;
    switch (k) {
    case QT_K_outfile:
    case QT_K_dumpfile:
        c->seen |= c->previous == QT_K_into ? QT_SEEN_INTO_FILE : 0;
        break;
    case QT_K_value:
        c->seen |= c->previous == QT_K_next ? QT_SEEN_SEQUENCE : 0;
        break;
    case QT_K_write:
        if (c->previous == QT_K_read && (c->words[0] == QT_K_set || c->words[0] == QT_K_start))
            c->seen |= QT_SEEN_UNSAFE;
        break;
    case QT_K_soname:
        c->seen |= QT_SEEN_SONAME;
        break;
    case QT_K_analyze:
        c->seen |= c->verb == 0 && at_base ? QT_SEEN_ANALYZE : 0;
        break;
    case QT_K_global:
    case QT_K_persist:
    case QT_K_persist_only:
        c->seen |= c->left ? QT_SEEN_GLOBAL : 0;
        break;
    case QT_K_role:
        c->seen |= c->left && c->previous == QT_K_default ? QT_SEEN_ACCOUNTS : 0;
        break;
    case QT_K_authorization:
        c->seen |= c->left && c->previous == QT_K_session ? QT_SEEN_ACCOUNTS : 0;
        break;
    case QT_K_by:
    case QT_K_with:
    case QT_K_via:
        c->secret |= c->previous == QT_K_identified;
        break;
    default:
        break;
    }
}

/* Does this word end what leads to another statement? Then that one begins. */
static int leads_on(struct qt_classifier *c, int k)
{
    int at_base = c->depth == c->base;
    switch (k) {
    case QT_K_for:
        if (at_base && c->words[0] == QT_K_set && c->words[1] == QT_K_statement) {
            restart(c);
            return 1;
        }
        return 0;
    case QT_K_atomic:
        if (c->words[0] != QT_K_begin || c->previous != QT_K_not)
            return 0;
        c->compound = 1;
        break;
    case QT_K_then:
    case QT_K_else:
    case QT_K_do:
    case QT_K_loop:
    case QT_K_repeat:
    case QT_K_begin:
        if (!c->compound || !at_base)
            return 0;
        break;
    default:
        return 0;
    }
    end_statement(c);
    return 1;
}

static void first_word(struct qt_classifier *c, int k)
{
    c->base = c->depth;
    c->left = k == QT_K_set;
    c->name.len = 0;
    if (k == QT_K_if || k == QT_K_while || k == QT_K_loop || k == QT_K_repeat || k == QT_K_case || k == QT_K_for)
        c->compound = 1;
    if (k == QT_K_create || k == QT_K_alter)
        c->routine = 1;
}

static void word(struct qt_classifier *c, const struct qt_token *t)
{
    int k = t->kind == QT_T_WORD ? t->keyword : QT_K_NONE;
    if (c->n_words == 0 && !c->odd)
        first_word(c, k);
    else if (c->left)
        c->name = *t;
    if (c->n_words < QT_FIRST_WORDS)
        c->words[c->n_words++] = (uint8_t)k;
    if (k != QT_K_NONE) {
        if (c->verb == 0 && (qt_keyword_flags[k] & QT_KW_VERB) && c->n_words > 1 && c->depth == c->base)
            c->verb = (uint8_t)k;
        if (qt_keyword_flags[k] & QT_KW_WATCH) {
            watched(c, k);
            if (leads_on(c, k))
                return;
        }
    }
    c->second = c->previous;
    c->previous = (uint8_t)t->keyword;
}

/* name( : is it one of the functions that matter? */
static void call(struct qt_classifier *c)
{
    switch (c->previous) {
    case QT_K_load_file:
        c->seen |= QT_SEEN_LOAD_FILE;
        break;
    case QT_K_nextval:
    case QT_K_setval:
        c->seen |= QT_SEEN_SEQUENCE;
        break;
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
        if (c->cipher_depth == 0)
            c->cipher_depth = c->depth + 1;
        break;
    default:
        break;
    }
}

static void string(struct qt_classifier *c, const struct qt_token *t)
{
    if (!c->secret)
        c->secret = c->cipher_depth > 0 || qt_secret_in_string(c, t);
}

static void operator(struct qt_classifier *c, const struct qt_token *t)
{
    if (c->left && (*t->p == '=' || *t->p == ':'))
        assigned(c);
    /* PASSWORD = '...' and COMMENT = '...' are PASSWORD '...' and COMMENT '...' */
    if (*t->p != '=' || (c->previous != QT_K_password && c->previous != QT_K_connection && c->previous != QT_K_comment))
        c->previous = QT_K_NONE;
}

static void semicolon(struct qt_classifier *c)
{
    end_statement(c);
    c->depth = c->base = 0;
}

void qt_classify(struct qt_classifier *c, const struct qt_token *t)
{
    if (c->in_hint) { /* a hint does nothing that matters here */
        c->in_hint = t->kind != QT_T_COMMENT_END;
        return;
    }
    switch (t->kind) {
    case QT_T_WORD:
    case QT_T_QUOTED:
        word(c, t);
        return;
    case QT_T_OPEN:
        if (c->previous != QT_K_NONE)
            call(c);
        c->depth++;
        c->previous = QT_K_NONE;
        return;
    case QT_T_CLOSE:
        c->depth--;
        if (c->depth < c->cipher_depth)
            c->cipher_depth = 0;
        c->previous = QT_K_NONE;
        return;
    case QT_T_SEMICOLON:
        semicolon(c);
        return;
    case QT_T_HINT:
        c->in_hint = 1;
        return;
    case QT_T_EXECUTABLE:
    case QT_T_COMMENT_END:
        return;
    case QT_T_PARAM:
        c->flags |= QT_F_PLACEHOLDER;
        break;
    case QT_T_OPERATOR:
        operator(c, t);
        c->odd |= c->n_words == 0;
        return;
    case QT_T_STRING:
        string(c, t);
        break;
    case QT_T_NUMBER:
        if (c->cipher_depth > 0 && t->len > 1 && qt_lower(t->p[1]) == 'x')
            c->secret = 1;
        break;
    case QT_T_VARIABLE:
        if (c->left)
            c->name = *t;
        if (c->n_words > 0 && c->n_words < QT_FIRST_WORDS)
            c->n_words++; /* it stands where a word would: SET @a = password is no SET PASSWORD */
        break;
    case QT_T_COMMA:
        if (c->words[0] == QT_K_set && c->depth == c->base) {
            c->left = 1;
            c->name.len = 0;
        }
        break;
    default:
        break;
    }
    c->previous = QT_K_NONE;
    c->odd |= c->n_words == 0;
}
