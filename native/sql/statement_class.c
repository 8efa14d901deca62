/* SPDX-License-Identifier: Apache-2.0 */
/* Decides the class and danger of a statement by its first words. Classes and dangers are those of
 * schemas/names.toml. */
#include "sql/statement_class.h"

#define V(klass, danger) ((struct qt_statement_class){QT_CLASS_##klass, QT_DANGER_##danger})

static struct qt_statement_class of_verb(int verb)
{
    switch (verb) {
    case QT_K_select:
    case QT_K_values:
    case QT_K_table:
        return V(READ, NONE);
    case QT_K_NONE:
        return V(ADMIN, NONE);
    default:
        return V(WRITE, NONE);
    }
}

/* EXPLAIN and DESCRIBE read, unless they run the explained statement. */
static struct qt_statement_class of_explain(const struct qt_classifier *c)
{
    return (c->seen & QT_SEEN_ANALYZE) && c->verb ? of_verb(c->verb) : V(READ, NONE);
}

/* Handles ANALYZE TABLE, and MariaDB's ANALYZE [FORMAT=JSON] of a statement. */
static struct qt_statement_class of_analyze(const struct qt_classifier *c)
{
    switch (c->words[1]) {
    case QT_K_table:
    case QT_K_tables:
    case QT_K_local:
    case QT_K_no_write_to_binlog:
        return V(ADMIN, TABLE_MAINTENANCE);
    default:
        return c->verb ? of_verb(c->verb) : V(READ, NONE); /* ANALYZE (SELECT ...): only queries have parentheses */
    }
}

/* Handles CREATE, ALTER, DROP and RENAME. The kind of object is the second word (the fourth after OR REPLACE). */
static struct qt_statement_class of_ddl(struct qt_classifier *c)
{
    int what = c->words[1] == QT_K_or && c->words[2] == QT_K_replace ? c->words[3] : c->words[1];
    int defines = c->words[0] == QT_K_create || c->words[0] == QT_K_alter;
    switch (what) {
    case QT_K_user:
        c->secret |= defines;
        return V(ADMIN, ACCOUNTS);
    case QT_K_role:
        return V(ADMIN, ACCOUNTS);
    case QT_K_server:
        c->secret |= defines;
        return V(ADMIN, PLUGINS);
    case QT_K_prepare:
        c->flags |= QT_F_SQL_PREPARE;
        return V(WRITE, NONE);
    case QT_K_instance:
    case QT_K_tablespace:
    case QT_K_undo:
    case QT_K_logfile:
    case QT_K_resource:
        return V(ADMIN, INSTANCE);
    default:
        return c->seen & QT_SEEN_SONAME ? V(ADMIN, PLUGINS) : V(DDL, NONE);
    }
}

static struct qt_statement_class of_set(struct qt_classifier *c)
{
    if (c->words[1] == QT_K_password) {
        c->secret = 1;
        return V(ADMIN, ACCOUNTS);
    }
    if (c->words[1] == QT_K_resource)
        return V(ADMIN, INSTANCE);
    if (c->seen & QT_SEEN_GLOBAL)
        return V(ADMIN, SET_GLOBAL);
    if (c->seen & QT_SEEN_ACCOUNTS)
        return V(ADMIN, ACCOUNTS);
    return c->seen & QT_SEEN_REPLICATION ? V(ADMIN, REPLICATION) : V(SESSION, NONE);
}

static struct qt_statement_class of_reset(const struct qt_classifier *c)
{
    switch (c->words[1]) {
    case QT_K_persist:
        return V(ADMIN, SET_GLOBAL);
    case QT_K_query:
        return V(ADMIN, FLUSH);
    default:
        return V(ADMIN, REPLICATION);
    }
}

/* Handles statements that act on the server. The first word decides. */
static struct qt_statement_class of_admin(struct qt_classifier *c)
{
    switch (c->words[0]) {
    case QT_K_shutdown:
    case QT_K_restart:
        return V(ADMIN, SHUTDOWN);
    case QT_K_kill:
        return V(ADMIN, KILL);
    case QT_K_grant:
    case QT_K_revoke:
        return V(ADMIN, ACCOUNTS);
    case QT_K_change:
        c->secret = 1;
        return V(ADMIN, REPLICATION);
    case QT_K_stop:
    case QT_K_purge:
    case QT_K_binlog:
        return V(ADMIN, REPLICATION);
    case QT_K_reset:
        return of_reset(c);
    case QT_K_install: /* INSTALL COMPONENT ... SET variable = value */
        c->secret |= c->words[2] == QT_K_set;
        return V(ADMIN, PLUGINS);
    case QT_K_uninstall:
    case QT_K_clone:
        return V(ADMIN, PLUGINS);
    case QT_K_flush:
        return V(ADMIN, FLUSH);
    case QT_K_optimize:
    case QT_K_repair:
    case QT_K_check:
    case QT_K_cache:
        return V(ADMIN, TABLE_MAINTENANCE);
    case QT_K_backup:
        return V(ADMIN, INSTANCE);
    case QT_K_lock:
        return c->words[1] == QT_K_instance ? V(ADMIN, INSTANCE) : V(ADMIN, LOCK_TABLES);
    case QT_K_unlock:
        return c->words[1] == QT_K_instance ? V(ADMIN, INSTANCE) : V(TRANSACTION, NONE);
    default:
        return V(ADMIN, NONE);
    }
}

/* Handles words that begin a part of a compound statement or of a routine's body. Creating a routine does not run its
 * body. */
static struct qt_statement_class of_part(struct qt_classifier *c)
{
    switch (c->words[0]) {
    case QT_K_end:
    case QT_K_elseif:
    case QT_K_until:
    case QT_K_when:
    case QT_K_else:
    case QT_K_declare:
    case QT_K_open:
    case QT_K_close:
    case QT_K_fetch:
    case QT_K_leave:
    case QT_K_iterate:
    case QT_K_return:
        return V(READ, NONE);
    case QT_K_if:
    case QT_K_while:
    case QT_K_loop:
    case QT_K_repeat:
    case QT_K_case:
    case QT_K_for:
        return V(WRITE, NONE);
    default:
        break;
    }
    struct qt_statement_class v = of_admin(c);
    return v.danger == QT_DANGER_NONE ? V(WRITE, NONE) : v;
}

/* Handles START TRANSACTION, START REPLICA and START GROUP_REPLICATION. */
static struct qt_statement_class of_start(const struct qt_classifier *c)
{
    if (c->words[1] == QT_K_transaction)
        return V(TRANSACTION, NONE);
    return qt_starts_nothing(c) ? V(SESSION, NONE) : V(ADMIN, REPLICATION);
}

static struct qt_statement_class of_rarer(struct qt_classifier *c)
{
    switch (c->words[0]) {
    case QT_K_explain:
    case QT_K_describe:
    case QT_K_desc:
        return of_explain(c);
    case QT_K_analyze:
        return of_analyze(c);
    case QT_K_with: /* no verb outside parentheses: the statement in parentheses is a query */
        return c->verb ? of_verb(c->verb) : V(READ, NONE);
    case QT_K_load:
        return c->words[1] == QT_K_index ? V(ADMIN, TABLE_MAINTENANCE) : V(WRITE, LOAD_DATA);
    case QT_K_import:
        return V(WRITE, LOAD_DATA);
    case QT_K_prepare:
    case QT_K_execute:
    case QT_K_deallocate:
        c->flags |= QT_F_SQL_PREPARE;
        return V(WRITE, NONE);
    case QT_K_create:
    case QT_K_alter:
    case QT_K_drop:
    case QT_K_rename:
        return of_ddl(c);
    case QT_K_start:
        return of_start(c);
    case QT_K_signal:
    case QT_K_resignal:
        return V(SESSION, NONE);
    default:
        return c->compound || c->routine ? of_part(c) : of_admin(c);
    }
}

struct qt_statement_class qt_statement_class_of(struct qt_classifier *c)
{
    if (c->odd && c->n_words == 0)
        return V(ADMIN, NONE);
    switch (c->words[0]) {
    case QT_K_select:
    case QT_K_values:
    case QT_K_table:
    case QT_K_show:
    case QT_K_help:
    case QT_K_do:
    case QT_K_handler:
    case QT_K_get:
    case QT_K_checksum:
        return c->odd ? V(ADMIN, NONE) : V(READ, NONE);
    case QT_K_insert:
    case QT_K_update:
    case QT_K_delete:
    case QT_K_replace:
    case QT_K_call:
        return V(WRITE, NONE);
    case QT_K_truncate:
        return V(DDL, NONE);
    case QT_K_begin:
    case QT_K_commit:
    case QT_K_rollback:
    case QT_K_savepoint:
    case QT_K_release:
    case QT_K_xa:
        return c->words[0] == QT_K_begin && c->words[1] == QT_K_not ? V(WRITE, NONE) : V(TRANSACTION, NONE);
    case QT_K_set:
        return of_set(c);
    case QT_K_use:
        c->flags |= QT_F_USE;
        return V(SESSION, NONE);
    default:
        return of_rarer(c);
    }
}
