/* SPDX-License-Identifier: Apache-2.0 */
/* Classes and dangers follow schemas/codes.py. A text of several statements counts as its most dangerous one. */
#include "classify.h"

#include <string.h>

enum seen {
    INTO_FILE = 1, LOAD_FILE = 2, SEQUENCE = 4, GLOBAL = 8, UNSAFE = 16, TIMESTAMP = 32, SONAME = 64, REPLICATION = 128,
    ACCOUNTS = 256, AFTER_SCOPE = 512 /* the next word is a variable's name */
};

void qt_classify_begin(struct qt_classifier *c)
{
    memset(c, 0, sizeof *c);
    c->klass = -1;
}

static int is_verb(int k)
{
    return k == QT_K_select || k == QT_K_insert || k == QT_K_update || k == QT_K_delete || k == QT_K_replace || k == QT_K_call ||
           k == QT_K_load || k == QT_K_create || k == QT_K_alter || k == QT_K_drop || k == QT_K_truncate || k == QT_K_table ||
           k == QT_K_values || k == QT_K_do;
}

/* Words in SET: names of variables and their scopes. */
static void set_word(struct qt_classifier *c, int k)
{
    int begins = c->previous == QT_K_set || (c->seen & AFTER_SCOPE);
    c->seen &= ~(uint32_t)AFTER_SCOPE;
    switch (k) {
    case QT_K_global:
    case QT_K_persist:
    case QT_K_persist_only:
        c->seen |= begins ? GLOBAL : 0;
        break;
    case QT_K_session:
    case QT_K_local:
        c->seen |= AFTER_SCOPE;
        break;
    case QT_K_sql_log_bin:
    case QT_K_transaction_read_only:
    case QT_K_tx_read_only:
        c->seen |= UNSAFE;
        break;
    case QT_K_gtid_next:
    case QT_K_gtid_domain_id:
    case QT_K_gtid_seq_no:
    case QT_K_gtid_purged:
    case QT_K_server_id:
    case QT_K_sql_slave_skip_counter:
        c->seen |= begins ? REPLICATION : 0;
        break;
    case QT_K_timestamp:
        c->seen |= begins ? TIMESTAMP : 0;
        break;
    case QT_K_wsrep_sst_auth:
        c->secret = 1;
        break;
    case QT_K_password:
        if (begins) {
            c->secret = 1;
            c->seen |= ACCOUNTS;
        }
        break;
    case QT_K_role:
        c->seen |= c->previous == QT_K_default ? ACCOUNTS : 0;
        break;
    default:
        break;
    }
}

static void any_word(struct qt_classifier *c, int k)
{
    switch (k) {
    case QT_K_outfile:
    case QT_K_dumpfile:
        c->seen |= c->previous == QT_K_into ? INTO_FILE : 0;
        break;
    case QT_K_load_file:
        c->seen |= LOAD_FILE;
        break;
    case QT_K_nextval:
    case QT_K_setval:
        c->seen |= SEQUENCE;
        break;
    case QT_K_value:
        c->seen |= c->previous == QT_K_next ? SEQUENCE : 0;
        break;
    case QT_K_write:
        c->seen |= c->previous == QT_K_read ? UNSAFE : 0;
        break;
    case QT_K_soname:
        c->seen |= SONAME;
        break;
    case QT_K_identified:
        c->secret = 1;
        break;
    default:
        break;
    }
}

void qt_classify_word(struct qt_classifier *c, int k, int depth)
{
    c->tokens = 1;
    if (c->n_words < QT_FIRST_WORDS)
        c->words[c->n_words] = (uint8_t)k;
    if (c->n_words < 255)
        c->n_words++;
    if (k != QT_K_NONE) {
        if (c->verb == 0 && depth == 0 && c->n_words > 1 && is_verb(k))
            c->verb = (uint8_t)k;
        any_word(c, k);
    }
    if (c->words[0] == QT_K_set)
        set_word(c, k);
    c->previous = (uint8_t)k;
}

static int holds(const char *p, size_t len, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= len; i++) {
        size_t k = 0;
        while (k < n && qt_lower(p[i + k]) == word[k])
            k++;
        if (k == n)
            return 1;
    }
    return 0;
}

/* Literals matter only where they hold another statement or an address: PREPARE x FROM '...', CONNECTION='...'. */
void qt_classify_string(struct qt_classifier *c, const char *p, size_t len)
{
    int first = c->words[0];
    c->tokens = 1;
    c->previous = QT_K_NONE;
    if (c->secret || (first != QT_K_prepare && first != QT_K_set && first != QT_K_execute && first != QT_K_create && first != QT_K_alter))
        return;
    if (holds(p, len, "identified") || holds(p, len, "password") || (holds(p, len, "://") && holds(p, len, "@")))
        c->secret = 1;
}

/* `name` is in lower case, with its @@ and scope. */
void qt_classify_system(struct qt_classifier *c, const struct qt_keywords *keywords, const char *name, size_t len)
{
    char word[QT_KEYWORD_LONGEST + 8] = {0};
    c->tokens = 1;
    int assigned = c->words[0] == QT_K_set;
    const char *p = name + 2, *end = name + len;
    const char *dot = memchr(p, '.', (size_t)(end - p));
    if (assigned && dot != NULL && (size_t)(dot - p) >= 6 && (memcmp(p, "global", 6) == 0 || memcmp(p, "persis", 6) == 0))
        c->seen |= GLOBAL;
    if (dot != NULL)
        p = dot + 1;
    if (assigned && (size_t)(end - p) <= QT_KEYWORD_LONGEST) {
        memcpy(word, p, (size_t)(end - p));
        c->seen |= AFTER_SCOPE;
        set_word(c, qt_keyword_find(keywords, word, (size_t)(end - p)));
    }
    if (c->n_words == 1)
        c->n_words = 2; /* SET @@x: the variable stands where a word would */
    c->previous = QT_K_NONE;
}

void qt_classify_other(struct qt_classifier *c, int kind)
{
    static const uint8_t secrets[] = {QT_K_password, QT_K_old_password, QT_K_encrypt, QT_K_des_encrypt, QT_K_des_decrypt,
                                      QT_K_aes_encrypt, QT_K_aes_decrypt, QT_K_encode, QT_K_decode};
    c->tokens = 1;
    if (kind == QT_T_OPEN && memchr(secrets, c->previous, sizeof secrets) != NULL && c->previous != QT_K_NONE)
        c->secret = 1;
    if (kind == QT_T_COMMA && c->words[0] == QT_K_set)
        c->seen |= AFTER_SCOPE;
    c->previous = QT_K_NONE;
}

/* ---- the whole statement ---- */

struct verdict {
    int klass, danger;
};

static struct verdict class_of_verb(int verb)
{
    switch (verb) {
    case QT_K_select:
    case QT_K_values:
    case QT_K_table:
    case QT_K_do:
        return (struct verdict){QT_CLASS_READ, 0};
    case QT_K_create:
    case QT_K_alter:
    case QT_K_drop:
    case QT_K_truncate:
        return (struct verdict){QT_CLASS_DDL, 0};
    case QT_K_load:
        return (struct verdict){QT_CLASS_WRITE, QT_DANGER_LOAD_DATA};
    case QT_K_NONE:
        return (struct verdict){QT_CLASS_ADMIN, 0};
    default:
        return (struct verdict){QT_CLASS_WRITE, 0};
    }
}

static int has_word(const struct qt_classifier *c, int k, int from, int to)
{
    for (int i = from; i <= to && i < c->n_words && i < QT_FIRST_WORDS; i++)
        if (c->words[i] == k)
            return 1;
    return 0;
}

static struct verdict class_of_ddl(struct qt_classifier *c)
{
    /* CREATE [OR REPLACE] ..., ALTER ...: the kind of object is the second word, or the fourth */
    int at = c->words[1] == QT_K_or && c->words[2] == QT_K_replace ? 3 : 1;
    int what = c->n_words > at ? c->words[at] : QT_K_NONE;
    if (what == QT_K_user || what == QT_K_role) {
        c->secret |= what == QT_K_user && (c->words[0] == QT_K_create || c->words[0] == QT_K_alter);
        return (struct verdict){QT_CLASS_ADMIN, QT_DANGER_ACCOUNTS};
    }
    if (what == QT_K_prepare && c->words[0] == QT_K_drop) {
        c->flags |= QT_F_SQL_PREPARE;
        return (struct verdict){QT_CLASS_WRITE, 0};
    }
    if (what == QT_K_server || (c->seen & SONAME)) {
        c->secret |= what == QT_K_server;
        return (struct verdict){QT_CLASS_ADMIN, QT_DANGER_PLUGINS};
    }
    if (what == QT_K_instance || what == QT_K_tablespace || what == QT_K_undo || what == QT_K_logfile || what == QT_K_resource ||
        what == QT_K_system)
        return (struct verdict){QT_CLASS_ADMIN, QT_DANGER_INSTANCE};
    return (struct verdict){QT_CLASS_DDL, 0};
}

static struct verdict class_of_set(struct qt_classifier *c)
{
    if (c->words[1] == QT_K_statement && c->n_words > 1 && c->verb != 0)
        return class_of_verb(c->verb);
    if (c->seen & TIMESTAMP)
        c->flags |= QT_F_TIMESTAMP;
    if (c->seen & ACCOUNTS)
        return (struct verdict){QT_CLASS_ADMIN, QT_DANGER_ACCOUNTS};
    if (c->seen & GLOBAL)
        return (struct verdict){QT_CLASS_ADMIN, QT_DANGER_SET_GLOBAL};
    if (c->seen & REPLICATION)
        return (struct verdict){QT_CLASS_ADMIN, QT_DANGER_REPLICATION};
    return (struct verdict){QT_CLASS_SESSION, c->seen & UNSAFE ? QT_DANGER_SET_SESSION_UNSAFE : 0};
}

static struct verdict class_of_reset(const struct qt_classifier *c)
{
    if (c->words[1] == QT_K_persist && c->n_words > 1)
        return (struct verdict){QT_CLASS_ADMIN, QT_DANGER_SET_GLOBAL};
    return (struct verdict){QT_CLASS_ADMIN, c->words[1] == QT_K_query && c->n_words > 1 ? QT_DANGER_FLUSH : QT_DANGER_REPLICATION};
}

static struct verdict class_of_lock(const struct qt_classifier *c)
{
    if (c->words[1] == QT_K_instance && c->n_words > 1)
        return (struct verdict){QT_CLASS_ADMIN, QT_DANGER_INSTANCE};
    if (c->words[0] == QT_K_unlock)
        return (struct verdict){QT_CLASS_TRANSACTION, 0};
    return (struct verdict){QT_CLASS_WRITE, QT_DANGER_LOCK_TABLES};
}

static struct verdict class_of_start(const struct qt_classifier *c)
{
    if (c->words[1] != QT_K_transaction || c->n_words < 2)
        return (struct verdict){QT_CLASS_ADMIN, QT_DANGER_REPLICATION};
    return (struct verdict){QT_CLASS_TRANSACTION, c->seen & UNSAFE ? QT_DANGER_SET_SESSION_UNSAFE : 0};
}

static struct verdict class_of_admin(struct qt_classifier *c)
{
    static const struct {
        uint8_t word;
        uint8_t danger;
    } dangers[] = {
        {QT_K_kill, QT_DANGER_KILL}, {QT_K_shutdown, QT_DANGER_SHUTDOWN}, {QT_K_restart, QT_DANGER_SHUTDOWN},
        {QT_K_flush, QT_DANGER_FLUSH}, {QT_K_grant, QT_DANGER_ACCOUNTS}, {QT_K_revoke, QT_DANGER_ACCOUNTS},
        {QT_K_install, QT_DANGER_PLUGINS}, {QT_K_uninstall, QT_DANGER_PLUGINS}, {QT_K_clone, QT_DANGER_PLUGINS},
        {QT_K_backup, QT_DANGER_INSTANCE}, {QT_K_optimize, QT_DANGER_TABLE_MAINTENANCE},
        {QT_K_repair, QT_DANGER_TABLE_MAINTENANCE}, {QT_K_check, QT_DANGER_TABLE_MAINTENANCE},
        {QT_K_cache, QT_DANGER_TABLE_MAINTENANCE}, {QT_K_stop, QT_DANGER_REPLICATION}, {QT_K_change, QT_DANGER_REPLICATION},
        {QT_K_purge, QT_DANGER_REPLICATION}, {QT_K_binlog, QT_DANGER_REPLICATION},
    };
    c->secret |= c->words[0] == QT_K_change;
    for (size_t i = 0; i < sizeof dangers / sizeof *dangers; i++)
        if (dangers[i].word == c->words[0])
            return (struct verdict){QT_CLASS_ADMIN, dangers[i].danger};
    return (struct verdict){QT_CLASS_ADMIN, 0};
}

static struct verdict class_of(struct qt_classifier *c)
{
    switch (c->words[0]) {
    case QT_K_select:
    case QT_K_values:
    case QT_K_table:
    case QT_K_show:
    case QT_K_help:
    case QT_K_desc:
    case QT_K_describe:
    case QT_K_do:
    case QT_K_handler:
    case QT_K_get:
    case QT_K_checksum:
        return (struct verdict){QT_CLASS_READ, 0};
    case QT_K_explain:
        return has_word(c, QT_K_analyze, 1, 3) && c->verb ? class_of_verb(c->verb) : (struct verdict){QT_CLASS_READ, 0};
    case QT_K_analyze:
        return c->verb && !has_word(c, QT_K_table, 1, 2) ? class_of_verb(c->verb)
                                                        : (struct verdict){QT_CLASS_ADMIN, QT_DANGER_TABLE_MAINTENANCE};
    case QT_K_with:
        return class_of_verb(c->verb);
    case QT_K_load:
        return has_word(c, QT_K_index, 1, 1) ? (struct verdict){QT_CLASS_ADMIN, QT_DANGER_TABLE_MAINTENANCE}
                                             : (struct verdict){QT_CLASS_WRITE, QT_DANGER_LOAD_DATA};
    case QT_K_import:
        return (struct verdict){QT_CLASS_WRITE, QT_DANGER_LOAD_DATA};
    case QT_K_insert:
    case QT_K_update:
    case QT_K_delete:
    case QT_K_replace:
    case QT_K_call:
    case QT_K_signal:
    case QT_K_resignal:
        return (struct verdict){QT_CLASS_WRITE, 0};
    case QT_K_prepare:
    case QT_K_execute:
    case QT_K_deallocate:
        c->flags |= QT_F_SQL_PREPARE;
        return (struct verdict){QT_CLASS_WRITE, 0};
    case QT_K_truncate:
        return (struct verdict){QT_CLASS_DDL, 0};
    case QT_K_create:
    case QT_K_alter:
    case QT_K_drop:
    case QT_K_rename:
        return class_of_ddl(c);
    case QT_K_begin:
        return (struct verdict){c->n_words > 1 && c->words[1] == QT_K_not ? QT_CLASS_WRITE : QT_CLASS_TRANSACTION, 0};
    case QT_K_commit:
    case QT_K_rollback:
    case QT_K_savepoint:
    case QT_K_release:
    case QT_K_xa:
        return (struct verdict){QT_CLASS_TRANSACTION, 0};
    case QT_K_start:
        c->secret |= has_word(c, QT_K_slave, 1, 1) || has_word(c, QT_K_replica, 1, 1);
        return class_of_start(c);
    case QT_K_set:
        return class_of_set(c);
    case QT_K_use:
        c->flags |= QT_F_USE;
        return (struct verdict){QT_CLASS_SESSION, 0};
    case QT_K_lock:
    case QT_K_unlock:
        return class_of_lock(c);
    case QT_K_reset:
        return class_of_reset(c);
    default:
        return class_of_admin(c);
    }
}

void qt_classify_end(struct qt_classifier *c)
{
    static const uint8_t rank[] = {[QT_CLASS_READ] = 0, [QT_CLASS_SESSION] = 1, [QT_CLASS_TRANSACTION] = 2,
                                   [QT_CLASS_WRITE] = 3, [QT_CLASS_DDL] = 4, [QT_CLASS_ADMIN] = 5};
    if (!c->tokens && c->klass >= 0)
        return;
    struct verdict v = c->tokens ? class_of(c) : (struct verdict){QT_CLASS_SESSION, 0}; /* an empty statement does nothing */
    if (v.klass == QT_CLASS_READ && (c->seen & SEQUENCE))
        v.klass = QT_CLASS_WRITE;
    if (v.danger == 0 && (c->seen & (INTO_FILE | LOAD_FILE)))
        v.danger = c->seen & INTO_FILE ? QT_DANGER_INTO_FILE : QT_DANGER_LOAD_DATA;
    if (c->klass < 0 || rank[v.klass] > rank[c->klass])
        c->klass = v.klass;
    if (v.danger != 0 && (c->danger == 0 || c->danger == QT_DANGER_SET_SESSION_UNSAFE || c->danger == QT_DANGER_LOCK_TABLES))
        c->danger = v.danger;
    c->n_words = c->verb = c->previous = c->tokens = 0;
    memset(c->words, 0, sizeof c->words);
    c->seen = 0;
}
