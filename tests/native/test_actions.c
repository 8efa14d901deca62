/* SPDX-License-Identifier: Apache-2.0 */
/* Maps statements to their actions (QT_ACTION_*) in one table. Each statement is also tested with comments before and
 * after it. */
#include <string.h>

#include "querytape.h"
#include "test_normalize_util.h"

static struct checks checks;
static struct qt_normalizer *normalizer;

#define BEGIN QT_ACTION_BEGIN
#define COMMIT QT_ACTION_COMMIT
#define ROLLBACK QT_ACTION_ROLLBACK
#define TO QT_ACTION_ROLLBACK_TO
#define SAVE QT_ACTION_SAVEPOINT
#define RELEASE QT_ACTION_RELEASE_SAVEPOINT
#define IMPLICIT QT_ACTION_IMPLICIT_COMMIT
#define OFF QT_ACTION_AUTOCOMMIT_OFF
#define ON QT_ACTION_AUTOCOMMIT_ON
#define XA QT_ACTION_XA
#define SNAPSHOT QT_ACTION_SNAPSHOT
#define TEMPORARY QT_ACTION_TEMPORARY_TABLE
#define LOCK QT_ACTION_LOCK_TABLES
#define UNLOCK QT_ACTION_UNLOCK_TABLES
#define LOCKING QT_ACTION_LOCKING_READ
#define TIME QT_ACTION_ASKS_TIME
#define RANDOM QT_ACTION_RANDOM
#define SESSION QT_ACTION_SESSION_DEPENDENT
#define SERVER QT_ACTION_ASKS_SERVER
#define DIAGNOSTICS (QT_ACTION_SESSION_DEPENDENT | QT_ACTION_ASKS_DIAGNOSTICS)
#define ROWS QT_ACTION_MANY_ROWS

static const struct {
    const char *sql;
    uint32_t actions;
} cases[] = {
    /* transactions */
    {"BEGIN", BEGIN},
    {"begin work", BEGIN},
    {"START TRANSACTION", BEGIN},
    {"start\n transaction read only", BEGIN},
    {"START TRANSACTION WITH CONSISTENT SNAPSHOT", BEGIN | SNAPSHOT},
    {"COMMIT", COMMIT},
    {"COMMIT WORK", COMMIT},
    {"commit;", COMMIT},
    {"COMMIT AND CHAIN", COMMIT | BEGIN},
    {"COMMIT WORK AND CHAIN", COMMIT | BEGIN},
    {"COMMIT AND NO CHAIN", COMMIT},
    {"COMMIT WORK AND NO CHAIN NO RELEASE", COMMIT},
    {"COMMIT RELEASE", COMMIT},
    {"ROLLBACK", ROLLBACK},
    {"ROLLBACK WORK", ROLLBACK},
    {"ROLLBACK AND CHAIN", ROLLBACK | BEGIN},
    {"ROLLBACK WORK AND CHAIN NO RELEASE", ROLLBACK | BEGIN},
    {"ROLLBACK AND NO CHAIN RELEASE", ROLLBACK},
    {"ROLLBACK TO a", TO},
    {"ROLLBACK TO SAVEPOINT a", TO},
    {"ROLLBACK WORK TO a", TO},
    {"ROLLBACK WORK TO SAVEPOINT `to`", TO},
    {"SAVEPOINT a", SAVE},
    {"SAVEPOINT commit_1", SAVE},
    {"RELEASE SAVEPOINT a", RELEASE},
    {"END", 0},
    {"XA START 'x'", XA | BEGIN},
    {"XA BEGIN 'x','y',1", XA | BEGIN},
    {"XA END 'x'", XA},
    {"XA PREPARE 'x'", XA},
    {"XA COMMIT 'x'", XA | COMMIT},
    {"XA COMMIT 'x' ONE PHASE", XA | COMMIT},
    {"XA ROLLBACK 'x'", XA | ROLLBACK},
    {"XA RECOVER", XA},
    {"SET TRANSACTION READ ONLY", 0},
    {"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", 0},
    /* several statements in one text */
    {"BEGIN; UPDATE t SET a=1; COMMIT", COMMIT},
    {"BEGIN; UPDATE t SET a=1", BEGIN},
    {"COMMIT; BEGIN", COMMIT | BEGIN},
    {"BEGIN; INSERT t VALUES (1); ROLLBACK; START TRANSACTION;", ROLLBACK | BEGIN},
    {"BEGIN; SELECT 1; ROLLBACK TO a", BEGIN | TO},
    {"SELECT 1; COMMIT", COMMIT},
    {"BEGIN; CREATE TABLE t (a INT)", IMPLICIT},
    {"CREATE TABLE t (a INT); BEGIN", IMPLICIT | BEGIN},
    {"SET autocommit=0; SET autocommit=1", ON},
    {"LOCK TABLES t READ; UNLOCK TABLES", IMPLICIT | UNLOCK},
    {"UNLOCK TABLES; LOCK TABLES t WRITE", IMPLICIT | LOCK},
    {";;COMMIT", COMMIT},
    {"SELECT 'a;COMMIT'", 0},
    /* autocommit */
    {"SET autocommit=0", OFF},
    {"SET AUTOCOMMIT = 1", ON},
    {"SET autocommit:=OFF", OFF},
    {"SET autocommit = ON", ON},
    {"SET @@autocommit=0", OFF},
    {"SET @@session.autocommit = 0", OFF},
    {"SET SESSION autocommit=FALSE", OFF},
    {"SET LOCAL autocommit=true", ON},
    {"SET sql_mode='', autocommit=0, time_zone='+00:00'", OFF},
    {"SET autocommit='off'", OFF},
    {"SET autocommit = DEFAULT", ON},
    {"SET autocommit=(0)", OFF},
    {"SET `autocommit`=0", OFF},
    {"SET GLOBAL autocommit=0", 0},
    {"SET GLOBAL a=1, autocommit=0", 0},
    {"SET GLOBAL a=1, SESSION autocommit=0", OFF},
    {"SET @@global.a=1, autocommit=0", OFF},
    {"SET @@global.autocommit=0", 0},
    {"SET @autocommit=0", 0},
    {"SET NAMES utf8mb4", 0},
    {"SET a='autocommit=0'", 0},
    {"SET STATEMENT autocommit=0 FOR SELECT 1", 0},
    {"SET autocommit = @@autocommit", ON | SERVER},
    {"SET @old=@@autocommit", SERVER},
    {"SET a=1, autocommit=0 /* autocommit=1 */", OFF},
    {"SET autocommit=0, autocommit=1", ON},
    /* implicit commits */
    {"CREATE TABLE t (a INT)", IMPLICIT},
    {"CREATE TEMPORARY TABLE t (a INT)", TEMPORARY},
    {"create or replace temporary table t (a int)", TEMPORARY},
    {"DROP TEMPORARY TABLE t", TEMPORARY},
    {"DROP TABLE t", IMPLICIT},
    {"ALTER TABLE t ADD b INT", IMPLICIT},
    {"CREATE UNIQUE INDEX i ON t (a)", IMPLICIT},
    {"DROP DATABASE d", IMPLICIT},
    {"TRUNCATE t", IMPLICIT},
    {"RENAME TABLE a TO b", IMPLICIT},
    {"CREATE OR REPLACE VIEW v AS SELECT 1", IMPLICIT},
    {"GRANT ALL ON *.* TO 'a'@'b'", IMPLICIT},
    {"REVOKE ALL ON *.* FROM 'a'@'b'", IMPLICIT},
    {"CREATE USER 'a'@'b'", IMPLICIT},
    {"SET PASSWORD = 'x'", IMPLICIT},
    {"ANALYZE TABLE t", IMPLICIT},
    {"OPTIMIZE TABLE t", IMPLICIT},
    {"CHECK TABLE t", IMPLICIT},
    {"FLUSH TABLES", IMPLICIT},
    {"LOAD INDEX INTO CACHE t", IMPLICIT},
    {"RESET MASTER", IMPLICIT},
    {"RESET PERSIST a", 0},
    {"START REPLICA", IMPLICIT},
    {"INSTALL PLUGIN a SONAME 'b'", IMPLICIT},
    {"LOAD DATA INFILE 'a' INTO TABLE t", 0},
    {"DROP PREPARE s", 0},
    {"PREPARE s FROM 'COMMIT'", 0},
    {"EXECUTE s", 0},
    {"CALL p()", 0},
    {"KILL 1", 0},
    {"USE d", 0},
    {"CREATE PROCEDURE p() BEGIN START TRANSACTION; UPDATE t SET a=NOW(); COMMIT; END", IMPLICIT},
    {"CREATE DEFINER=`a`@`b` TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a=1; SET @b=2; END", IMPLICIT},
    {"CREATE TABLE event (a INT); COMMIT", IMPLICIT | COMMIT},
    {"BEGIN NOT ATOMIC COMMIT; END", COMMIT},
    {"BEGIN NOT ATOMIC BEGIN SELECT 1; END; START TRANSACTION; END", BEGIN},
    /* locks */
    {"LOCK TABLES a READ, b WRITE", IMPLICIT | LOCK},
    {"LOCK TABLE a WRITE", IMPLICIT | LOCK},
    {"UNLOCK TABLES", UNLOCK},
    {"unlock table", UNLOCK},
    {"FLUSH TABLES WITH READ LOCK", IMPLICIT | LOCK},
    {"LOCK INSTANCE FOR BACKUP", 0},
    {"SELECT a FROM t FOR UPDATE", LOCKING},
    {"SELECT a FROM t FOR SHARE", LOCKING},
    {"(SELECT a FROM t) FOR UPDATE", LOCKING},
    {"SELECT a FROM t LOCK IN SHARE MODE", LOCKING},
    {"SELECT a FROM t WHERE b=1 FOR UPDATE OF t SKIP LOCKED", LOCKING},
    {"SELECT a FROM (SELECT b FROM t FOR UPDATE) d", LOCKING},
    {"SELECT 'FOR UPDATE' FROM t", 0},
    {"SELECT a `for update` FROM t", 0},
    {"SELECT a FROM t -- FOR UPDATE", 0},
    {"INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a=1", 0},
    {"INSERT INTO t VALUES (1), (2)", ROWS},
    {"INSERT INTO t (a) VALUES ROW(1),\nROW(2)", ROWS},
    {"REPLACE t VALUES (1), ROW (2)", ROWS},
    {"INSERT INTO t VALUES (ABS(1), (2)) ON DUPLICATE KEY UPDATE a = VALUES(a), b = (2)", 0},
    {"UPDATE t SET a=1", 0},
    {"SET STATEMENT max_statement_time=1 FOR UPDATE t SET a=1", 0},
    {"SELECT share FROM t", 0},
    /* current time */
    {"SELECT NOW()", TIME},
    {"SELECT now(6)", TIME},
    {"SELECT CURRENT_TIMESTAMP", TIME},
    {"SELECT CURRENT_TIMESTAMP()", TIME},
    {"SELECT SYSDATE()", TIME},
    {"SELECT CURDATE(), CURTIME()", TIME},
    {"SELECT CURRENT_DATE", TIME},
    {"SELECT current_time", TIME},
    {"SELECT LOCALTIME", TIME},
    {"SELECT LOCALTIMESTAMP(3)", TIME},
    {"SELECT UTC_DATE, 1", TIME},
    {"SELECT UTC_TIME()", TIME},
    {"SELECT UTC_TIMESTAMP()", TIME},
    {"SELECT UNIX_TIMESTAMP()", TIME},
    {"SELECT UNIX_TIMESTAMP( )", TIME},
    {"SELECT UNIX_TIMESTAMP(a) FROM t", 0},
    {"SELECT now FROM t", 0},
    {"SELECT t.current_date FROM t", 0},
    {"SELECT `current_time`", 0},
    {"SELECT 'NOW()', \"NOW()\" -- NOW()", 0},
    {"SELECT a /* NOW() */ FROM t", 0},
    {"SELECT @@timestamp", TIME},
    {"UPDATE t SET a=1 WHERE b < NOW() - INTERVAL 1 DAY", TIME},
    {"SELECT (unix_timestamp) FROM t", 0},
    /* session state, server state, randomness */
    {"SELECT LAST_INSERT_ID()", SESSION},
    {"SELECT `last_insert_id`()", SESSION},
    {"SELECT last_insert_id FROM t", 0},
    {"SELECT ROW_COUNT(), FOUND_ROWS()", DIAGNOSTICS},
    {"SELECT SQL_CALC_FOUND_ROWS a FROM t LIMIT 1", SESSION},
    {"SELECT CONNECTION_ID()", SESSION},
    {"SELECT GET_LOCK('a', 1)", SESSION},
    {"DO RELEASE_LOCK('a')", SESSION},
    {"SELECT IS_USED_LOCK('a'), IS_FREE_LOCK('b'), RELEASE_ALL_LOCKS()", SESSION},
    {"SELECT @a", SESSION},
    {"SELECT @a := 1", SESSION},
    {"SELECT a INTO @b FROM t", SESSION},
    {"SET @a = 1", 0},
    {"SET @a = @b", SESSION},
    {"SHOW WARNINGS", DIAGNOSTICS | SERVER},
    {"SHOW COUNT(*) ERRORS", DIAGNOSTICS | SERVER},
    {"SHOW SESSION STATUS LIKE 'a'", SESSION | SERVER},
    {"SHOW GLOBAL STATUS", SERVER},
    {"SHOW TABLE STATUS", SERVER},
    {"SHOW GRANTS FOR 'a'@'b'", SERVER},
    {"SHOW SESSION ERRORS LIMIT 1", DIAGNOSTICS | SERVER},
    {"SHOW TABLES LIKE 'warnings'", SERVER},
    {"GET DIAGNOSTICS @a = NUMBER", DIAGNOSTICS},
    {"SELECT diagnostics, @a FROM t", SESSION},
    {"SELECT @@warning_count, @@session.error_count", DIAGNOSTICS | SERVER},
    {"SELECT warning_count, @a FROM t", SESSION},
    {"HANDLER t OPEN", SESSION},
    {"SELECT @@identity", SESSION | SERVER},
    {"SELECT @@session.last_insert_id", SESSION | SERVER},
    {"SELECT @@version", SERVER},
    {"SELECT @@global.version", SERVER},
    {"SELECT VERSION(), USER()", SERVER},
    {"SELECT CURRENT_USER", SERVER},
    {"SELECT user FROM mysql.user", 0},
    {"EXPLAIN SELECT 1", SERVER},
    {"DESC t", SERVER},
    {"SHOW TABLES", SERVER},
    {"SELECT RAND()", RANDOM},
    {"SELECT UUID(), UUID_SHORT()", RANDOM},
    {"SELECT a FROM t ORDER BY RAND(5)", RANDOM},
    {"SELECT LASTVAL(s)", SESSION},
    {"SELECT a FROM t", 0},
    {"(SELECT 1)", 0},
    {"((SELECT NOW()) UNION (SELECT 1))", TIME},
    {"WITH x AS (SELECT 1) SELECT * FROM x FOR SHARE", LOCKING},
    {"CREATE TEMPORARY TABLE t AS SELECT NOW()", TEMPORARY | TIME},
    /* executable comments and hints */
    {"/*!40101 COMMIT */", COMMIT},
    {"/*! BEGIN */", BEGIN},
    {"/*M!100100 COMMIT */", COMMIT},
    {"/*!40101 SET autocommit=0 */", OFF},
    {"COMMIT /*!80000 AND CHAIN */", COMMIT | BEGIN},
    {"SELECT /*!40001 SQL_NO_CACHE */ a FROM t", 0},
    {"SELECT /*+ NOW() RAND() */ a FROM t", 0},
    {"/*!50003 CREATE*/ /*!50003 PROCEDURE p() COMMIT */", IMPLICIT},
    {"", 0},
    {"-- COMMIT", 0},
    {"/* COMMIT */", 0},
    {"# BEGIN\n", 0},
    {"COMMITTED", 0},
    {"nonsense COMMIT", 0},
    {"1 COMMIT", 0},
};

static uint32_t actions_of(const char *sql, size_t len)
{
    struct qt_statement out;
    int code = qt_normalize(normalizer, NULL, sql, len, &out, NULL);
    check(&checks, code == QT_OK, "qt_normalize returned %d", code);
    return out.actions;
}

/* Comments added by applications and frameworks do not change the actions. */
static void comments_do_not_change_the_actions(void)
{
    static const char *const before[] = {"",     "/* app:checkout */ ",     "-- tag\n", "# it's\n", "\n\t",
                                         "/**/", "/* COMMIT */\n-- BEGIN\n"};
    static const char *const behind[] = {"",          " /* x */", " /*route='/a%20b',traceparent='00-5bd6'*/",
                                         " -- NOW()", "\n;\n",    " # @a"};
    char text[512];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t b = 0; b < sizeof before / sizeof *before; b++)
            for (size_t e = 0; e < sizeof behind / sizeof *behind; e++) {
                int open = strstr(cases[i].sql, "-- ") != NULL && e > 0; /* an open comment needs a line end */
                snprintf(text, sizeof text, "%s%s%s%s", before[b], cases[i].sql, open ? "\n" : "", behind[e]);
                uint32_t is = actions_of(text, strlen(text));
                check(&checks, is == cases[i].actions, "[%s]: expected %#x, found %#x", text, cases[i].actions, is);
            }
}

/* For each truncated statement, a reused normalizer gives the same result as a new normalizer. */
static void truncated_statements_give_the_same_result_in_a_reused_normalizer(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t len = 0; len <= strlen(cases[i].sql); len++) {
            struct qt_normalizer *fresh = qt_normalizer_new();
            struct qt_statement out;
            uint32_t used = actions_of(cases[i].sql, len);
            qt_normalize(fresh, NULL, cases[i].sql, len, &out, NULL);
            check(&checks, used == out.actions, "[%s] cut at %zu", cases[i].sql, len);
            qt_normalizer_free(fresh);
        }
}

/* Later parts of a text do not remove the actions of earlier parts. Every part is combined with every other part, in
 * both orders. */
static void actions_of_all_parts_are_combined(void)
{
    static const struct {
        const char *sql;
        uint32_t actions;
    } asks[] = {
        {"NOW()", TIME},
        {"CURRENT_DATE", TIME},
        {"RAND()", RANDOM},
        {"@a", SESSION},
        {"LAST_INSERT_ID()", SESSION},
        {"VERSION()", SERVER},
        {"@@identity", SESSION | SERVER},
        {"(SELECT b FROM u FOR UPDATE)", LOCKING},
        {"(SELECT b FROM u LOCK IN SHARE MODE)", LOCKING},
    };
    static const char *const ends[] = {"", " FOR UPDATE", " FOR SHARE", " LOCK IN SHARE MODE"};
    const size_t n = sizeof asks / sizeof *asks;
    char text[256];
    for (size_t i = 0; i < n * n; i++)
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
            snprintf(text, sizeof text, "SELECT %s, %s FROM t%s", asks[i / n].sql, asks[i % n].sql, ends[e]);
            uint32_t is = actions_of(text, strlen(text)),
                     wanted = asks[i / n].actions | asks[i % n].actions | (e > 0 ? LOCKING : 0);
            check(&checks, is == wanted, "[%s]: expected %#x, found %#x", text, wanted, is);
        }
}

int main(void)
{
    normalizer = qt_normalizer_new();
    comments_do_not_change_the_actions();
    truncated_statements_give_the_same_result_in_a_reused_normalizer();
    actions_of_all_parts_are_combined();
    qt_normalizer_free(normalizer);
    printf("%d checks, %d failed\n", checks.done, checks.failed);
    return checks.failed > 0;
}
