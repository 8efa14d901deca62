/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a statement decides whether the statement may be sent. The class in the plan does not matter, so each
 * case is planned as a harmless read. */
#include <string.h>

#include "check.h"
#include "engine/send_guard.h"

static const char *refused_calls;

static int permitted(const char *sql, int command, int64_t dangers, int64_t classes, int reads_only)
{
    struct qt_engine_options o = {.allowed_dangers = dangers,
                                  .allowed_classes = classes,
                                  .reads_only = reads_only,
                                  .refused_calls = refused_calls};
    struct qt_send_guard *p = qt_send_guard_new(&o);
    size_t len = strlen(sql);
    struct qt_planned_event *ev = calloc(1, sizeof *ev + len + 1);
    ev->class = QT_CLASS_READ;
    ev->command = command;
    ev->len = len;
    memcpy(ev->statement, sql, len);
    int may = qt_may_send(p, ev);
    free(ev);
    qt_send_guard_free(p);
    return may;
}

enum { READING = 1 << QT_CLASS_READ | 1 << QT_CLASS_TRANSACTION | 1 << QT_CLASS_SESSION, ALL = 63 };

static int reads(const char *sql) { return permitted(sql, QT_COMMAND_QUERY, 0, READING, 1); }

static void read_only_mode_permits_only_reads(void)
{
    static const char *const harmless[] = {
        "SELECT 1",
        "SELECT 'it\\'s; don\\'t drop the table' FROM t",
        "SELECT \"a\", 'b' FROM `t` WHERE c = 'DROP TABLE x; SHUTDOWN'",
        "SELECT 'C:\\\\', 'x\\'y', \"it's\", '\\\\'",
        "BEGIN",
        "SET NAMES utf8mb4",
        "SET SESSION TRANSACTION READ ONLY",
        "START TRANSACTION READ ONLY",
        "SELECT prix\xc3\xa0, \xc3\xa0 FROM voil\xc3\xa0 WHERE a = '\xc3\xa0'",
        "SELECT * FROM caf\xc3\xa9 WHERE `pr\xc3\xa9nom` = 'Andr\xc3\xa9\\'s'",
        "",
    };
    static const char *const harmful[] = {
        "DELETE FROM t",
        "SET GLOBAL max_connections=1",
        "SELECT 1 INTO OUTFILE '/x'",
        "SET SESSION TRANSACTION READ WRITE",
        "START TRANSACTION READ WRITE",
        "SET @@session.tx_read_only=0",
        "SET STATEMENT tx_read_only=0 FOR SELECT 1",
        "SET a=1, transaction_read_only = DEFAULT",
        "SET SESSION AUTHORIZATION root@localhost",
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1",
        "RENAME TABLE a TO b",
        "SELECT 1; DROP TABLE t",
        "/*!50000 DROP TABLE t */",
        "/*M!100000 DROP TABLE t */",
        "SELECT 1 /*!99999 ' */; DROP TABLE x -- '",
        "PREPARE s FROM 'DELETE FROM t'",
        "EXECUTE s",
        "EXECUTE IMMEDIATE 'DELETE FROM t'",
        "CALL p()",
        "SELECT group_replication_set_as_primary('x')",
        "SELECT 1 WHERE `asynchronous_connection_failover_reset` () = 'x'",
        "SELECT IF(1, Keyring_Key_Remove /* x */ ('x'), 0)",
        "DO audit_log_rotate()",
        "SELECT '\\', \"sys_exec\"('x') -- '",
        "SELECT a FROM (SELECT sys_eval('x') AS a) AS t",
        "SET SESSION debug_sync = 'x'",
        "KILL 5",
        "FROBNICATE",
        /* harmful under NO_BACKSLASH_ESCAPES */
        "SELECT '\\' INTO OUTFILE '/x' -- '",
        "SELECT \"\\\" INTO OUTFILE '/x' -- \"",
        "SELECT '\\'; DROP TABLE t; -- '",
        /* harmful under ANSI_QUOTES */
        "SELECT \"load_file\"('/x')",
        "SET \"tx_read_only\"=0",
        "SELECT \"\\\", '\" INTO OUTFILE '/x' -- ' \" \"",
        /* harmful under gbk, big5 and sjis */
        "SELECT '\xbf\\' INTO OUTFILE '/x' -- '",
        "SELECT '\x81\\' INTO OUTFILE '/x' -- '",
        "SELECT '\xb1\x81\\' INTO OUTFILE '/x' -- '",
        "SELECT '\x81\xa1\\' INTO OUTFILE '/x' -- '",
        "SELECT `\x81`, `INTO OUTFILE '/x' -- `",
        /* harmful under latin1, cp866 and similar charsets */
        "SELECT 1 INTO\xa0OUTFILE '/x'",
        "SELECT 1 INTO\xffOUTFILE '/x'",
        "SELECT 1\xa0INTO\240DUMPFILE\xa0'/x'",
        "SET\xa0GLOBAL a = 1",
        "SELECT 1 --\xa0'\n INTO OUTFILE '/x'",
        "SELECT @a\xa0INTO OUTFILE '/x'",
        "SELECT 1\xa0INTO OUTFILE '/x'",
        "SELECT caf\xc3\xa0, 1 INTO OUTFILE '/x'",
        "SELECT LOAD_FILE\xa0('/x')",
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (!reads(harmless[i]))
            fprintf(stderr, "expected to be sent: %s\n", harmless[i]), failed++;
    for (size_t i = 0; i < sizeof harmful / sizeof *harmful; i++)
        if (reads(harmful[i]))
            fprintf(stderr, "expected not to be sent: %s\n", harmful[i]), failed++;
    for (size_t i = 0; i < sizeof harmful / sizeof *harmful; i++)
        for (size_t k = 0; k < sizeof harmless / sizeof *harmless; k++) {
            char text[512];
            snprintf(text, sizeof text, "%s; %s", harmful[i], harmless[k]); /* still harmful */
            if (reads(text))
                fprintf(stderr, "expected not to be sent: %s\n", text), failed++;
        }
    CHECK_INT(failed, 0);
}

/* Permission for one danger does not permit another danger or a write. Read-only mode permits no writes, whatever
 * dangers are permitted. */
static void each_danger_needs_its_own_permission(void)
{
    int64_t kill = 1 << QT_DANGER_KILL, shutdown = 1 << QT_DANGER_SHUTDOWN, unsafe = 1 << QT_DANGER_SET_SESSION_UNSAFE;
    CHECK(permitted("KILL 5", QT_COMMAND_QUERY, kill, READING, 1));
    CHECK(!permitted("KILL 5; SHUTDOWN", QT_COMMAND_QUERY, kill, READING, 1));
    CHECK(!permitted("SHUTDOWN; KILL 5", QT_COMMAND_QUERY, shutdown, READING, 1));
    CHECK(!permitted("KILL 5; DELETE FROM t", QT_COMMAND_QUERY, kill, READING, 1));
    CHECK(permitted("KILL 5; DELETE FROM t", QT_COMMAND_QUERY, kill, ALL, 0));
    CHECK(!permitted("SELECT LOAD_FILE('/x') INTO OUTFILE '/x'", QT_COMMAND_QUERY, 1 << QT_DANGER_LOAD_DATA, ALL, 0));
    CHECK(permitted("SET sql_log_bin=0", QT_COMMAND_QUERY, unsafe, READING, 1));
    CHECK(!permitted("SET tx_read_only=0", QT_COMMAND_QUERY, unsafe, READING, 1));
    CHECK(permitted("SET tx_read_only=0", QT_COMMAND_QUERY, unsafe, ALL, 0));
    CHECK(!permitted("KILL 5", QT_COMMAND_QUERY, 0, ALL, 0));
    CHECK(!permitted("DELETE FROM t", QT_COMMAND_PREPARE, 0, READING, 1));
    CHECK(!permitted("QUERY", QT_COMMAND_PROCESS_KILL, 0, ALL, 0));
    CHECK(permitted("QUERY", QT_COMMAND_PROCESS_KILL, kill, READING, 1));
}

static int writes(const char *sql) { return permitted(sql, QT_COMMAND_QUERY, 0, ALL, 0); }

/* If writes are allowed, PREPARE and EXECUTE are sent unless their text is itself forbidden. */
static void prepared_text_is_checked_for_danger(void)
{
    CHECK(writes("PREPARE s FROM 'INSERT INTO t VALUES (?)'"));
    CHECK(writes("PREPARE s FROM 'SELECT ''SHUTDOWN'' '"));
    CHECK(writes("EXECUTE s USING @a, @b"));
    CHECK(writes("DEALLOCATE PREPARE s"));
    CHECK(writes("PREPARE s FROM @sql"));
    CHECK(!writes("PREPARE s FROM 'SHUTDOWN'"));
    CHECK(!writes("PREPARE s FROM 'SET GLOBAL max_connections = 1'"));
    CHECK(!writes("PREPARE s FROM \"SELECT ''x'' INTO OUTFILE '/x'\""));
    CHECK(!writes("PREPARE s FROM 'SELECT ''x'' INTO OUTFILE ''/x'''"));
    CHECK(!writes("EXECUTE IMMEDIATE 'SELECT \\'x\\' INTO OUTFILE \\'/x\\''"));
    CHECK(!writes("EXECUTE IMMEDIATE N'KILL 7'"));
    CHECK(!writes("SELECT 1; PREPARE s FROM 'KILL 7'"));
}

/* A called function is recognized in any letter case, in quotes, before comments, and inside prepared text. */
static void loadable_functions_are_recognized(void)
{
    static const char *const calls[] = {
        "SELECT myfun(1)",
        "select MYFUN (a) from t",
        "SELECT `myFun`(1)",
        "SELECT \"myfun\"(1)",
        "SELECT 1+myfun\n\t(2)",
        "SELECT myfun/* x */(1)",
        "SELECT myfun-- x\n(1)",
        "SELECT myfun#x\n(1)",
        "SELECT /*!50000 myfun(1) */",
        "SELECT 'it\\'s', myfun(1)",
        "SELECT '\\' , myfun(1) -- '",
        "SET @a = myfun(1)",
        "EXECUTE IMMEDIATE 'SELECT my\\fun(1)'",
        "PREPARE s FROM 'SELECT ''a'', myfun(1)'",
        "SELECT run_it()",
        "run_it(1)",
        "myfun(",
    };
    static const char *const others[] = {
        "SELECT myfun FROM t",        "SELECT myfun2(1)",
        "SELECT xmyfun(1)",           "SELECT my_fun(1)",
        "SELECT myfun, (1)",          "SELECT 'myfun'",
        "SELECT COUNT(*) FROM myfun", "SELECT \xc3\xa9myfun(1)",
        "SELECT run_it FROM t",       "myfun",
        "SELECT myfun = (1)",         "",
    };
    int failed = 0;
    refused_calls = "myfun\nrun_it";
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (reads(calls[i]))
            fprintf(stderr, "expected not to be sent: %s\n", calls[i]), failed++;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (!reads(others[i]) && others[i][0] == 'S')
            fprintf(stderr, "expected to be sent: %s\n", others[i]), failed++;
    CHECK_INT(failed, 0);
    for (int first = 0; first < 2; first++) { /* a view is recognized wherever its whole name occurs */
        refused_calls = first ? " my_view\nmyfun" : "myfun\n my_view";
        CHECK_INT(reads("SELECT a FROM my_view"), 0);
        CHECK_INT(reads("SELECT a FROM shop.`MY_VIEW` v"), 0);
        CHECK_INT(reads("SELECT myfun(1)"), 0);
        CHECK_INT(reads("SELECT a FROM my_views, xmy_view"), 1);
        CHECK_INT(reads("SELECT a FROM myfun"), 1);
    }
    refused_calls = NULL;
    for (size_t i = 0; i < 3; i++)
        CHECK_INT(reads(calls[i]), 1);
    refused_calls = "";
    CHECK_INT(reads("SELECT myfun(1)"), 1);
    refused_calls = NULL;
}

int main(void)
{
    RUN(read_only_mode_permits_only_reads);
    RUN(loadable_functions_are_recognized);
    RUN(each_danger_needs_its_own_permission);
    RUN(prepared_text_is_checked_for_danger);
    return 0;
}
