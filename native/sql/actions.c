/* SPDX-License-Identifier: Apache-2.0 */
/* Implicit commits as the manuals of MySQL 8.4 and MariaDB list them ("Statements That Cause an Implicit Commit"). */
#include "sql/actions.h"

#include "sql/names.h"

#define ENDS (QT_ACTION_COMMIT | QT_ACTION_ROLLBACK | QT_ACTION_IMPLICIT_COMMIT)
#define AUTOCOMMIT (QT_ACTION_AUTOCOMMIT_ON | QT_ACTION_AUTOCOMMIT_OFF)
#define DIAGNOSTICS (QT_ACTION_SESSION_DEPENDENT | QT_ACTION_ASKS_DIAGNOSTICS)
#define LOCKS (QT_ACTION_LOCK_TABLES | QT_ACTION_UNLOCK_TABLES)

enum qt_defines qt_defined_by(int first, int keyword)
{
    if (first != QT_K_create && first != QT_K_alter)
        return QT_DEFINES_UNKNOWN;
    switch (keyword) {
    case QT_K_table:
    case QT_K_view:
        return QT_DEFINES_OBJECT;
    case QT_K_procedure:
    case QT_K_function:
    case QT_K_trigger:
    case QT_K_event:
    case QT_K_package:
        return QT_DEFINES_ROUTINE;
    default:
        return QT_DEFINES_UNKNOWN;
    }
}

uint32_t qt_action_of_word(int keyword)
{
    switch (keyword) {
    case QT_K_current_timestamp:
    case QT_K_current_date:
    case QT_K_current_time:
    case QT_K_localtime:
    case QT_K_localtimestamp:
    case QT_K_utc_date:
    case QT_K_utc_time:
    case QT_K_utc_timestamp:
        return QT_ACTION_ASKS_TIME;
    case QT_K_current_user:
    case QT_K_current_role:
        return QT_ACTION_ASKS_SERVER;
    default:
        return 0;
    }
}

void qt_actions_word(struct qt_classifier *c, int k)
{
    switch (k) {
    case QT_K_update:
        c->does |= c->previous == QT_K_for ? QT_ACTION_LOCKING_READ : 0;
        break;
    case QT_K_share: /* FOR SHARE, LOCK IN SHARE MODE */
        c->does |= c->previous == QT_K_for || c->previous == QT_K_in ? QT_ACTION_LOCKING_READ : 0;
        break;
    case QT_K_chain:
        c->seen |= c->previous == QT_K_no ? 0 : QT_SEEN_CHAIN;
        break;
    case QT_K_lock:
        c->seen |= c->previous == QT_K_read ? QT_SEEN_READ_LOCK : 0;
        break;
    case QT_K_snapshot:
        c->does |= c->words[0] == QT_K_start ? QT_ACTION_SNAPSHOT : 0;
        break;
    case QT_K_sql_calc_found_rows: /* stores a count for FOUND_ROWS() */
        c->does |= QT_ACTION_SESSION_DEPENDENT;
        break;
    default:
        c->does |= qt_action_of_word(k);
        break;
    }
    if (c->defines == QT_DEFINES_UNKNOWN && c->depth == c->base)
        c->defines = qt_defined_by(c->words[0], k);
}

uint32_t qt_action_of_call(int keyword)
{
    switch (keyword) {
    case QT_K_now:
    case QT_K_sysdate:
    case QT_K_curdate:
    case QT_K_curtime:
        return QT_ACTION_ASKS_TIME;
    case QT_K_rand:
    case QT_K_uuid:
    case QT_K_uuid_short:
    case QT_K_uuid_v4:
    case QT_K_uuid_v7:
    case QT_K_random_bytes:
    case QT_K_sys_guid:
        return QT_ACTION_RANDOM;
    case QT_K_row_count:
    case QT_K_found_rows:
        return DIAGNOSTICS;
    case QT_K_last_insert_id:
    case QT_K_connection_id:
    case QT_K_get_lock:
    case QT_K_release_lock:
    case QT_K_release_all_locks:
    case QT_K_is_used_lock:
    case QT_K_is_free_lock:
    case QT_K_lastval:
    case QT_K_nextval:
    case QT_K_setval:
        return QT_ACTION_SESSION_DEPENDENT;
    case QT_K_user:
    case QT_K_session_user:
    case QT_K_system_user:
    case QT_K_version:
        return QT_ACTION_ASKS_SERVER;
    default:
        return 0;
    }
}

void qt_actions_system(struct qt_classifier *c, const struct qt_token *t)
{
    static const char *const scopes[] = {"session", "local", "global", "persist", "persist_only", NULL};
    static const char *const own[] = {"identity",       "last_insert_id", "insert_id",
                                      "in_transaction", "last_gtid",      "pseudo_thread_id",
                                      "rand_seed1",     "rand_seed2",     NULL};
    static const char *const diagnostics[] = {"warning_count", "error_count", NULL};
    if (qt_name_is_any(t, scopes))
        return;
    c->system = 0;
    if (c->left)
        return;
    c->does |= qt_name_is(t, "timestamp") ? QT_ACTION_ASKS_TIME : QT_ACTION_ASKS_SERVER;
    if (qt_name_is_any(t, own))
        c->does |= QT_ACTION_SESSION_DEPENDENT;
    if (qt_name_is_any(t, diagnostics))
        c->does |= DIAGNOSTICS;
}

/* Handles SHOW WARNINGS, SHOW COUNT(*) ERRORS, SHOW [SESSION] STATUS and SHOW PROFILE. The results of these statements
 * depend only on this connection. */
void qt_actions_show(struct qt_classifier *c, const struct qt_token *t)
{
    static const char *const diagnostics[] = {"warnings", "errors", "count", NULL};
    static const char *const own[] = {"status", "profile", "profiles", NULL};
    int scoped = c->n_words == 3 && (c->words[1] == QT_K_session || c->words[1] == QT_K_local);
    if (c->n_words != 2 && !scoped)
        return;
    if (qt_name_is_any(t, diagnostics))
        c->does |= DIAGNOSTICS;
    else if (qt_name_is_any(t, own))
        c->does |= QT_ACTION_SESSION_DEPENDENT;
}

static int is_off(const struct qt_token *t)
{
    static const char *const names[] = {"off", "false", "0", NULL};
    if (t->kind == QT_T_NUMBER) {
        for (size_t i = 0; i < t->len; i++)
            if (t->p[i] != '0' && t->p[i] != '.')
                return 0;
        return 1;
    }
    return qt_name_is_any(t, names);
}

void qt_actions_autocommit(struct qt_classifier *c, const struct qt_token *t)
{
    if (t->kind == QT_T_OPEN || t->kind == QT_T_EXECUTABLE || t->kind == QT_T_COMMENT_END)
        return;
    c->awaits = 0;
    c->does = (c->does & ~(uint32_t)AUTOCOMMIT) | (is_off(t) ? QT_ACTION_AUTOCOMMIT_OFF : QT_ACTION_AUTOCOMMIT_ON);
}

static uint32_t of_xa(int word)
{
    switch (word) {
    case QT_K_start:
    case QT_K_begin:
        return QT_ACTION_XA | QT_ACTION_BEGIN;
    case QT_K_commit:
        return QT_ACTION_XA | QT_ACTION_COMMIT;
    case QT_K_rollback:
        return QT_ACTION_XA | QT_ACTION_ROLLBACK;
    default:
        return QT_ACTION_XA;
    }
}

static uint32_t of_rollback(const struct qt_classifier *c)
{
    if (c->words[1] == QT_K_to || (c->words[1] == QT_K_work && c->words[2] == QT_K_to))
        return QT_ACTION_ROLLBACK_TO;
    return QT_ACTION_ROLLBACK | (c->seen & QT_SEEN_CHAIN ? QT_ACTION_BEGIN : 0u);
}

static uint32_t of_ddl(const struct qt_classifier *c)
{
    int temporary = c->words[1] == QT_K_temporary || (c->words[1] == QT_K_or && c->words[3] == QT_K_temporary);
    if (temporary && (c->words[0] == QT_K_create || c->words[0] == QT_K_drop))
        return QT_ACTION_TEMPORARY_TABLE;
    return c->words[1] == QT_K_prepare ? 0 : QT_ACTION_IMPLICIT_COMMIT;
}

static uint32_t of_analyze(const struct qt_classifier *c)
{
    int table = c->words[1] == QT_K_table || c->words[1] == QT_K_tables || c->words[1] == QT_K_local ||
                c->words[1] == QT_K_no_write_to_binlog;
    return table ? QT_ACTION_IMPLICIT_COMMIT : QT_ACTION_ASKS_SERVER;
}

/* Returns the actions of statements about transactions and locks. */
static uint32_t of_transaction(const struct qt_classifier *c)
{
    switch (c->words[0]) {
    case QT_K_begin: /* in a compound statement BEGIN begins a block */
        return c->compound || c->words[1] == QT_K_not ? 0 : QT_ACTION_BEGIN;
    case QT_K_start:
        if (c->words[1] == QT_K_transaction)
            return QT_ACTION_BEGIN;
        return qt_starts_nothing(c) ? 0 : QT_ACTION_IMPLICIT_COMMIT;
    case QT_K_commit:
        return QT_ACTION_COMMIT | (c->seen & QT_SEEN_CHAIN ? QT_ACTION_BEGIN : 0u);
    case QT_K_rollback:
        return of_rollback(c);
    case QT_K_savepoint:
        return QT_ACTION_SAVEPOINT;
    case QT_K_release:
        return QT_ACTION_RELEASE_SAVEPOINT;
    case QT_K_xa:
        return of_xa(c->words[1]);
    case QT_K_lock:
        return c->words[1] == QT_K_instance ? 0 : QT_ACTION_IMPLICIT_COMMIT | QT_ACTION_LOCK_TABLES;
    case QT_K_unlock:
        return c->words[1] == QT_K_instance ? 0 : QT_ACTION_UNLOCK_TABLES;
    default:
        return 0;
    }
}

static uint32_t of_other(const struct qt_classifier *c)
{
    switch (c->words[0]) {
    case QT_K_create:
    case QT_K_alter:
    case QT_K_drop:
    case QT_K_rename:
        return of_ddl(c);
    case QT_K_set:
        return c->words[1] == QT_K_password ? QT_ACTION_IMPLICIT_COMMIT : 0;
    case QT_K_analyze:
        return of_analyze(c);
    case QT_K_load:
        return c->words[1] == QT_K_index ? QT_ACTION_IMPLICIT_COMMIT : 0;
    case QT_K_reset:
        return c->words[1] == QT_K_persist ? 0 : QT_ACTION_IMPLICIT_COMMIT;
    case QT_K_flush:
        return QT_ACTION_IMPLICIT_COMMIT | (c->seen & QT_SEEN_READ_LOCK ? QT_ACTION_LOCK_TABLES : 0u);
    case QT_K_truncate:
    case QT_K_grant:
    case QT_K_revoke:
    case QT_K_install:
    case QT_K_uninstall:
    case QT_K_optimize:
    case QT_K_repair:
    case QT_K_check:
    case QT_K_cache:
    case QT_K_import:
    case QT_K_change:
    case QT_K_stop:
        return QT_ACTION_IMPLICIT_COMMIT;
    case QT_K_show:
    case QT_K_explain:
    case QT_K_describe:
    case QT_K_desc:
        return QT_ACTION_ASKS_SERVER;
    case QT_K_handler:
        return QT_ACTION_SESSION_DEPENDENT;
    case QT_K_get: /* GET DIAGNOSTICS */
        return DIAGNOSTICS;
    default:
        return of_transaction(c);
    }
}

/* Returns 1 for statements that name accounts. In these statements 'user'@'host' looks like a variable. */
static int names_accounts(const struct qt_classifier *c)
{
    return c->words[0] == QT_K_show || c->words[0] == QT_K_create || c->words[0] == QT_K_alter ||
           c->words[0] == QT_K_drop || c->words[0] == QT_K_rename || c->words[0] == QT_K_grant ||
           c->words[0] == QT_K_revoke;
}

void qt_actions_end(struct qt_classifier *c)
{
    uint32_t now, before = c->actions;
    if (c->defines == QT_DEFINES_ROUTINE) { /* creating a routine does not run its body */
        if (c->words[0] == QT_K_create || c->words[0] == QT_K_alter)
            c->actions |= QT_ACTION_IMPLICIT_COMMIT;
        return;
    }
    now = c->does | (c->odd ? 0 : of_other(c));
    if (c->seen & QT_SEEN_VARIABLE && !names_accounts(c))
        now |= QT_ACTION_SESSION_DEPENDENT;
    if (now & ENDS)
        before &= ~(uint32_t)(QT_ACTION_BEGIN | QT_ACTION_SNAPSHOT);
    if (now & AUTOCOMMIT)
        before &= ~(uint32_t)AUTOCOMMIT;
    if (now & LOCKS)
        before &= ~(uint32_t)LOCKS;
    c->actions = before | now;
}
