/* SPDX-License-Identifier: Apache-2.0 */
/* Cases for the normalizer: T(name, statement, normalized text) and C(name, statement, class, danger, flags). */

#define TEXT_CASES(T) \
    T("point select", "SELECT c FROM sbtest1 WHERE id=5021", "select c from sbtest1 where id = ?") \
    T("keywords and names in lower case", "Select A From T1", "select a from t1") \
    T("digits stay in names", "SELECT a1b2, utf8mb4_col FROM db1.t2 AS t3 WHERE t3.c4=5", \
      "select a1b2, utf8mb4_col from db1.t2 as t3 where t3.c4 = ?") \
    T("names that begin with digits", "SELECT 1a, 1x, t.1b FROM 2t", "select 1a, 1x, t.1b from 2t") \
    T("digits behind a dot are a name", "SELECT t.1, t.2e5 FROM t", "select t.1, t.2e5 from t") \
    T("dollar in names", "SELECT $a, a$b FROM t", "select $a, a$b from t") \
    T("plain quoted name", "SELECT `Id` FROM `My_T`", "select id from my_t") \
    T("quoted name that is not plain", "SELECT * FROM `t-1` JOIN `My Table 5`", \
      "select * from `t-1` join `my table 5`") \
    T("quoted keyword is a name", "INSERT INTO `values` VALUES (1)", "insert into values values (?+)") \
    T("names beyond ASCII", "SELECT na\xc3\xafve FROM \xe9t", "select na\xc3\xafve from \xe9t") \
    T("white space does not count", " \n\tSELECT   a\r\n\t,b  FROM   t ; ", "select a, b from t") \
    T("trailing semicolons are dropped", "SELECT 1;;\n;", "select ?") \
    T("statements in one text", "SELECT 1;SELECT 2;", "select ?; select ?") \
    T("empty", "", "") \
    T("blank", "  \n", "") \
    T("only a comment", "/* ping */ -- x", "") \
    T("comments are dropped", "/* app=web */ SELECT/**/1 -- tail\n", "select ?") \
    T("comment with a quote", "SELECT a FROM t WHERE b=1 -- it's a comment", "select a from t where b = ?") \
    T("hash comment", "SELECT 1 # it's\n, 2", "select ?, ?") \
    T("two signs are no comment without a blank", "SELECT 5--1", "select ? - ?") \
    T("comment that never ends", "SELECT 1 /* open", "select ?") \
    T("hint stays, its numbers go", "SELECT /*+ MAX_EXECUTION_TIME(1000)  BKA(t1) */ a FROM t", \
      "select /*+ max_execution_time(?) bka(t1) */ a from t") \
    T("hint where none may stand is a comment", "SELECT a /*+ it's */ FROM t", "select a from t") \
    T("hint with an odd quote ends at its end", "SELECT /*+ it's */ a FROM t", "select /*+ it ? */ a from t") \
    T("executable comment", "SELECT /*!40001 SQL_NO_CACHE */ * FROM `film`", "select /*! sql_no_cache */ * from film") \
    T("executable comment's version does not count", "SELECT /*!50701 1*/+/*!801000 2 */", \
      "select /*! ? */ + /*! ? */") \
    T("short version is SQL", "SELECT /*!5 */", "select /*! ? */") \
    T("MariaDB's executable comment", "SELECT /*M!100100 1 */", "select /*! ? */") \
    T("comment inside an executable one", "SELECT /*!50000 a /* b */, c */ FROM t", "select /*! a, c */ from t") \
    T("doubled quotes", "SELECT 'it''s', \"a\"\"b\" FROM t", "select ?, ? from t") \
    T("backslashes", "SELECT 'it\\'s', '\\\\' FROM t WHERE a='x'", "select ?, ? from t where a = ?") \
    T("backslash at the end", "SELECT 'a\\", "select ?") \
    T("empty string", "SELECT '' FROM t", "select ? from t") \
    T("comment marks in a string", "SELECT * FROM t WHERE a='/* x' AND b='#' AND c='-- '", \
      "select * from t where a = ? and b = ? and c = ?") \
    T("adjacent strings are one", "SELECT 'a' 'b'\n\"c\", 'd'", "select ?, ?") \
    T("strings with prefixes", \
      "SELECT N'abc', X'AB', b'01', x'', _utf8mb4'x', _binary 'x', _latin1 X'41', _utf8mb4 0x41", \
      "select ?, ?, ?, ?, ?, ?, ?, ?") \
    T("name that looks like an introducer", "SELECT _id 'alias' FROM t", "select _id ? from t") \
    T("introducer before a placeholder", "SELECT _utf8mb4 ?", "select ?") \
    T("introducer and adjacent strings", "SELECT _utf8mb4'a' 'b'", "select ?") \
    T("temporal literals", "SELECT DATE'2024-01-31', TIME '10:00', TIMESTAMP\n'2024-01-01 00:00:00'", \
      "select ?, ?, ?") \
    T("date as a name", "SELECT date, DATE(a) FROM t WHERE date = '2024-01-01'", \
      "select date, date(a) from t where date = ?") \
    T("numbers", "SELECT 1, 1.5, .5, 1., 1e5, 1.5E-3, 0xDEADbeef, 0b01", "select ?, ?, ?, ?, ?, ?, ?, ?") \
    T("odd numbers", "SELECT 1.5.2, 0x, 5e", "select ? ?, 0x, 5e") \
    T("signs belong to literals", "INSERT INTO t VALUES(-1,+2,-.5,- 1e-5)", "insert into t values (?+)") \
    T("signs in value position", "SELECT -1 FROM t WHERE a = -1 AND b > - 5 LIMIT 1", \
      "select ? from t where a = ? and b > ? limit ?") \
    T("sign after BETWEEN, THEN, IN", "SELECT CASE WHEN a BETWEEN -1 AND -2 THEN -3 ELSE -4 END", \
      "select case when a between ? and ? then ? else ? end") \
    T("sign before a placeholder", "SELECT * FROM t WHERE a = -?", "select * from t where a = ?") \
    T("binary minus", "SELECT a-1, a - 1, a -1 FROM t", "select a - ?, a - ?, a - ? from t") \
    T("binary minus after numbers and calls", "SELECT 2-1, f(a)-1, @x-1", "select ? - ?, f(a) - ?, @x - ?") \
    T("unary minus of a name", "SELECT -a, b*-c, (-d) FROM t", "select -a, b * -c, (-d) from t") \
    T("other unary operators", "SELECT ~1, !0, NOT 0, !a", "select ~?, !?, not ?, !a") \
    T("arithmetic", "SELECT 2+2*(3/4)%5", "select ? + ? * (? / ?) % ?") \
    T("NULL, TRUE and FALSE are values", "SELECT NULL, TRUE, FALSE, true_col FROM t WHERE a = NULL", \
      "select ?, ?, ?, true_col from t where a = ?") \
    T("IS NULL stays", "SELECT * FROM t WHERE a IS NULL AND b IS NOT NULL AND c IS TRUE AND NOT FALSE", \
      "select * from t where a is null and b is not null and c is true and not false") \
    T("NULL in UPDATE", "UPDATE t SET a=NULL, b = TRUE WHERE c<=>NULL", "update t set a = ?, b = ? where c <=> ?") \
    T("NULL in column definitions", "CREATE TABLE t (a INT NULL, b INT(11) NOT NULL DEFAULT '0', c INT DEFAULT NULL)", \
      "create table t(a int null, b int(?) not null default ?, c int default null)") \
    T("SET NULL stays", "ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES u (b) ON DELETE SET NULL", \
      "alter table t add foreign key (a) references u(b) on delete set null") \
    T("IN list", "SELECT * FROM t WHERE a IN (1,2,3)", "select * from t where a in (?+)") \
    T("IN list of one", "SELECT * FROM t WHERE a IN(1)", "select * from t where a in (?+)") \
    T("IN list of placeholders", "SELECT * FROM t WHERE a IN (?, ?)", "select * from t where a in (?+)") \
    T("IN list of strings", "SELECT * FROM t WHERE a IN ('x' 'y',\"z\") AND b NOT IN (-1,NULL)", \
      "select * from t where a in (?+) and b not in (?+)") \
    T("IN list with a call", "SELECT * FROM t WHERE a IN (1, 2, NOW(), 3, 4, 5)", \
      "select * from t where a in (?+, now(), ?+)") \
    T("IN list with expressions", "SELECT * FROM t WHERE a IN (1+1, 2, 3-b)", \
      "select * from t where a in (? + ?, ?+, ? - b)") \
    T("IN list of lists", "SELECT * FROM t WHERE (a,b) IN ((1,2),(3,4))", "select * from t where (a, b) in (?+)") \
    T("IN list of one list", "SELECT * FROM t WHERE (a,b) IN ((1,2))", "select * from t where (a, b) in (?+)") \
    T("IN list of rows", "SELECT * FROM t WHERE (a,b) IN (ROW(1,2),ROW(3,4))", "select * from t where (a, b) in (?+)") \
    T("IN list of parenthesised literals", "SELECT * FROM t WHERE a IN ((1),((2)))", \
      "select * from t where a in (?+)") \
    T("IN list of lists with names", "SELECT * FROM t WHERE (a,b) IN ((1,c),(2,3))", \
      "select * from t where (a, b) in ((?+, c), ?+)") \
    T("IN subquery", "SELECT * FROM t WHERE a IN (SELECT 1, 2 FROM u WHERE c=1)", \
      "select * from t where a in (select ?, ? from u where c = ?)") \
    T("IN in a call", "SELECT IF(a IN (1,2),'y','n') FROM t", "select if(a in (?+), ?, ?) from t") \
    T("calls keep their arguments", "SELECT f(1,2,3), COUNT( * ) , count(DISTINCT a)", \
      "select f(?, ?, ?), count(*), count(distinct a)") \
    T("one row", "INSERT INTO t (a, b) VALUES (1, 'x')", "insert into t(a, b) values (?+)") \
    T("many rows", "INSERT INTO t(a,b) VALUES (1,'x'),(2,'y') , (3,'z')", "insert into t(a, b) values (?+)") \
    T("VALUE is VALUES", "INSERT INTO t VALUE (1),(2)", "insert into t value (?+)") \
    T("rows and what follows", "INSERT INTO t VALUES (1,2),(3,4) ON DUPLICATE KEY UPDATE a=5, b=VALUES(b)+1", \
      "insert into t values (?+) on duplicate key update a = ?, b = values (b) + ?") \
    T("row and what follows", "INSERT INTO t VALUES (1,2) ON DUPLICATE KEY UPDATE a=5, b=VALUES(b)+1", \
      "insert into t values (?+) on duplicate key update a = ?, b = values (b) + ?") \
    T("VALUES() among assignments", "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a=VALUES(a), b=VALUES(b)", \
      "insert into t values (?+) on duplicate key update a = values (a), b = values (b)") \
    T("rows with calls", "INSERT INTO t VALUES (1,2,NOW(),DEFAULT,3),(4,5,NOW(),DEFAULT,'x)')", \
      "insert into t values (?+, now(), default, ?+)") \
    T("rows with subqueries", "INSERT INTO t VALUES (1,(SELECT MAX(a) FROM u WHERE b=2)),(2,(SELECT 3))", \
      "insert into t values (?+, (select max(a) from u where b = ?))") \
    T("ROW rows", "INSERT INTO t VALUES ROW(1,2),ROW(3,4) AS new ON DUPLICATE KEY UPDATE a=new.a", \
      "insert into t values (?+) as new on duplicate key update a = new.a") \
    T("VALUES statement", "VALUES ROW(1,2), ROW(3,4) ORDER BY 1", "values (?+) order by ?") \
    T("empty rows", "INSERT INTO t () VALUES (),()", "insert into t() values ()") \
    T("row that never ends", "INSERT INTO t VALUES (1,2),(3,'", "insert into t values (?+)") \
    T("INSERT SET", "INSERT INTO t SET a=1, b='x'", "insert into t set a = ?, b = ?") \
    T("partition bounds", "CREATE TABLE t (a INT) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (10))", \
      "create table t(a int) partition by range(a) (partition p values less than (?))") \
    T("LIMIT", "SELECT * FROM t LIMIT 10", "select * from t limit ?") \
    T("LIMIT with two numbers", "SELECT * FROM t LIMIT 10, 20", "select * from t limit ?, ?") \
    T("LIMIT with OFFSET is the same", "SELECT * FROM t LIMIT 20 OFFSET 10", "select * from t limit ?, ?") \
    T("unions stay", "(SELECT a FROM t WHERE b=1) UNION ALL (SELECT a FROM t WHERE b=2)", \
      "(select a from t where b = ?) union all (select a from t where b = ?)") \
    T("variables", "SELECT @@global.x, @V1 := @v1 + 1, @`q z`, @'s', @@`Wait_Timeout`", \
      "select @@global.x, @v1 := @v1 + ?, @`q z`, @?, @@wait_timeout") \
    T("blanks in a system variable", "SELECT @@ session . x", "select @@session.x") \
    T("JSON paths", "SELECT a->'$.x', a ->> '$.y' FROM t", "select a->?, a->>? from t") \
    T("operators", "SELECT a||b, a&&b, a<<1, a>>1, a<=>b, a<>b, a!=b, a<=b, a|b, a^b FROM t", \
      "select a || b, a && b, a << ?, a >> ?, a <=> b, a <> b, a != b, a <= b, a | b, a ^ b from t") \
    T("interval", "SELECT NOW() - INTERVAL 7 DAY, INTERVAL -1 DAY + a", \
      "select now() - interval ? day, interval ? day + a") \
    T("qualified names", "SELECT `a` . `b`, a . *, a.`c d` FROM `x`.`y`", "select a.b, a.*, a.`c d` from x.y") \
    T("keywords behind a dot are names", "SELECT t.in, t.values FROM t WHERE t.in (1)", \
      "select t.in, t.values from t where t.in(?)") \
    T("LIKE", "SELECT * FROM t WHERE a LIKE '%x%' ESCAPE '!'", "select * from t where a like ? escape ?") \
    T("SET", "SET @a=1, @b='x', c=ON", "set @a = ?, @b = ?, c = on") \
    T("CALL", "CALL db.p(1,'2',@x)", "call db.p(?, ?, @x)") \
    T("accounts", "GRANT SELECT ON *.* TO 'u'@'%', v@localhost", "grant select on *.* to ? @?, v @localhost") \
    T("placeholder and literal are one", "SELECT * FROM t WHERE a=? AND b IN (?,?)", \
      "select * from t where a = ? and b in (?+)") \
    T("unterminated string", "SELECT * FROM t WHERE a='unter", "select * from t where a = ?") \
    T("unterminated name", "SELECT * FROM `unter", "select * from `unter") \
    T("window", "SELECT SUM(a) OVER (PARTITION BY b ORDER BY c) FROM t", \
      "select sum(a) over (partition by b order by c) from t") \
    T("WITH", "WITH c AS (SELECT 1 AS a) SELECT * FROM c", "with c as (select ? as a) select * from c") \
    T("ODBC literals", "SELECT {d '2024-01-01'}", "select { d ? }") \
    T("named placeholder", "SELECT * FROM t WHERE a=:name", "select * from t where a = : name") \
    T("unbalanced", "SELECT )))((, FROM t", "select))) ((, from t")

#define R QT_CLASS_READ
#define W QT_CLASS_WRITE
#define X QT_CLASS_TRANSACTION
#define S QT_CLASS_SESSION
#define D QT_CLASS_DDL
#define A QT_CLASS_ADMIN
#define NO QT_DANGER_NONE
#define SECRET QT_F_REDACTED

#define CLASS_CASES(C) \
    C("select", "SELECT 1", R, NO, 0) \
    C("leading comment", "/* x */ -- y\n select 1", R, NO, 0) \
    C("parentheses", "((SELECT 1) UNION (SELECT 2))", R, NO, 0) \
    C("for update", "SELECT a FROM t FOR UPDATE SKIP LOCKED", R, NO, 0) \
    C("into a variable", "SELECT a INTO @v FROM t", R, NO, 0) \
    C("into outfile", "SELECT a INTO OUTFILE '/x' FROM t", R, QT_DANGER_INTO_FILE, 0) \
    C("into dumpfile behind a comment", "SELECT a FROM t INTO/**/DUMPFILE '/x'", R, QT_DANGER_INTO_FILE, 0) \
    C("load_file", "SELECT LOAD_FILE('/x')", R, QT_DANGER_LOAD_DATA, 0) \
    C("load_file quoted", "SELECT `load_file` ('/x')", R, QT_DANGER_LOAD_DATA, 0) \
    C("load_file in a dropped row", "INSERT INTO t VALUES ('a'),(LOAD_FILE('/x'))", W, QT_DANGER_LOAD_DATA, 0) \
    C("load_file is a column", "SELECT load_file FROM t", R, NO, 0) \
    C("sequence", "SELECT NEXTVAL(s)", W, NO, 0) \
    C("sequence, standard", "SELECT NEXT VALUE FOR s", W, NO, 0) \
    C("setval", "SELECT SETVAL(s, 100)", W, NO, 0) \
    C("nextval is a column", "SELECT nextval FROM t", R, NO, 0) \
    C("with select", "WITH c AS (DELETE_LOG) SELECT * FROM c", R, NO, 0) \
    C("with update", "WITH c AS (SELECT 1) UPDATE t, c SET t.a=1", W, NO, 0) \
    C("with recursive delete", "WITH RECURSIVE c (n) AS (SELECT 1), d AS (SELECT 2) DELETE FROM t", W, NO, 0) \
    C("with and a query in parentheses", "WITH c AS (SELECT 1) (SELECT 2)", R, NO, 0) \
    C("with in parentheses", "(WITH c AS (SELECT 1) SELECT * FROM c)", R, NO, 0) \
    C("table", "TABLE t LIMIT 5", R, NO, 0) \
    C("values", "VALUES ROW(1)", R, NO, 0) \
    C("explain", "EXPLAIN DELETE FROM t", R, NO, 0) \
    C("explain format", "EXPLAIN FORMAT=JSON UPDATE t SET a=1", R, NO, 0) \
    C("explain analyze select", "EXPLAIN ANALYZE SELECT 1", R, NO, 0) \
    C("explain analyze delete", "EXPLAIN ANALYZE DELETE t FROM t JOIN u", W, NO, 0) \
    C("explain analyze format with", "EXPLAIN ANALYZE FORMAT=TREE WITH c AS (SELECT 1) DELETE FROM t", W, NO, 0) \
    C("explain a table", "EXPLAIN t", R, NO, 0) \
    C("explain of a connection", "EXPLAIN FORMAT=JSON FOR CONNECTION 5", R, NO, 0) \
    C("describe", "DESC t", R, NO, 0) \
    C("desc analyze", "DESC ANALYZE UPDATE t SET a=1", W, NO, 0) \
    C("describe a statement", "DESCRIBE UPDATE t SET a=1", R, NO, 0) \
    C("MariaDB's analyze update", "ANALYZE UPDATE t SET a=1", W, NO, 0) \
    C("MariaDB's analyze format", "ANALYZE FORMAT=JSON DELETE FROM t", W, NO, 0) \
    C("MariaDB's analyze select", "ANALYZE FORMAT=JSON SELECT 1", R, NO, 0) \
    C("analyze table", "ANALYZE TABLE t", A, QT_DANGER_TABLE_MAINTENANCE, 0) \
    C("analyze local table", "ANALYZE NO_WRITE_TO_BINLOG TABLE t", A, QT_DANGER_TABLE_MAINTENANCE, 0) \
    C("show", "SHOW SLAVE STATUS", R, NO, 0) \
    C("show grants", "SHOW CREATE USER u", R, NO, 0) \
    C("handler", "HANDLER t READ FIRST", R, NO, 0) \
    C("do", "DO SLEEP(1)", R, NO, 0) \
    C("call", "CALL p()", W, NO, 0) \
    C("insert", "INSERT t VALUES (1)", W, NO, 0) \
    C("replace", "REPLACE t VALUES (1)", W, NO, 0) \
    C("load data", "LOAD DATA LOCAL INFILE 'x' INTO TABLE t", W, QT_DANGER_LOAD_DATA, 0) \
    C("load xml", "LOAD XML INFILE 'x' INTO TABLE t", W, QT_DANGER_LOAD_DATA, 0) \
    C("load index", "LOAD INDEX INTO CACHE t", A, QT_DANGER_TABLE_MAINTENANCE, 0) \
    C("import", "IMPORT TABLE FROM 'x.sdi'", W, QT_DANGER_LOAD_DATA, 0) \
    C("truncate", "TRUNCATE t", D, NO, 0) \
    C("create table", "CREATE TEMPORARY TABLE t AS SELECT 1", D, NO, 0) \
    C("create or replace view", "CREATE OR REPLACE VIEW v AS SELECT 1", D, NO, 0) \
    C("create procedure", "CREATE PROCEDURE p() BEGIN SELECT 1; DELETE FROM t; END", D, NO, 0) \
    C("procedure and a kill", "CREATE PROCEDURE p() SELECT 1; KILL 5", A, QT_DANGER_KILL, 0) \
    C("loadable function", "CREATE AGGREGATE FUNCTION f RETURNS STRING SONAME 'x.so'", A, QT_DANGER_PLUGINS, 0) \
    C("drop database", "DROP DATABASE d", D, NO, 0) \
    C("rename table", "RENAME TABLE a TO b", D, NO, 0) \
    C("rename user", "RENAME USER a TO b", A, QT_DANGER_ACCOUNTS, 0) \
    C("drop user", "DROP USER IF EXISTS u", A, QT_DANGER_ACCOUNTS, 0) \
    C("create role", "CREATE OR REPLACE ROLE r", A, QT_DANGER_ACCOUNTS, 0) \
    C("create user", "CREATE USER u", A, QT_DANGER_ACCOUNTS, SECRET) \
    C("grant", "GRANT SELECT ON *.* TO u", A, QT_DANGER_ACCOUNTS, 0) \
    C("revoke", "REVOKE ALL ON *.* FROM u", A, QT_DANGER_ACCOUNTS, 0) \
    C("begin", "BEGIN", X, NO, 0) \
    C("begin not atomic", "BEGIN NOT ATOMIC DROP TABLE t; END", D, NO, 0) \
    C("begin not atomic, a write", "BEGIN NOT ATOMIC SELECT 1; IF a THEN DELETE FROM t; END IF; END", W, NO, 0) \
    C("compound with a danger", "IF 1 THEN SHUTDOWN; END IF", A, QT_DANGER_SHUTDOWN, 0) \
    C("start transaction", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", X, NO, 0) \
    C("start transaction read write", "START TRANSACTION READ WRITE", X, QT_DANGER_SET_SESSION_UNSAFE, 0) \
    C("commit", "COMMIT AND CHAIN", X, NO, 0) \
    C("savepoint", "ROLLBACK TO SAVEPOINT a", X, NO, 0) \
    C("xa", "XA START 'x'", X, NO, 0) \
    C("unlock tables", "UNLOCK TABLES", X, NO, 0) \
    C("unlock instance", "UNLOCK INSTANCE", A, QT_DANGER_INSTANCE, 0) \
    C("lock tables", "LOCK TABLES t WRITE, u READ", A, QT_DANGER_LOCK_TABLES, 0) \
    C("lock instance", "LOCK INSTANCE FOR BACKUP", A, QT_DANGER_INSTANCE, 0) \
    C("use", "USE `foo`", S, NO, QT_F_USE) \
    C("set a variable", "SET @a=1, sort_buffer_size=2", S, NO, 0) \
    C("set names", "SET NAMES utf8mb4", S, NO, 0) \
    C("set timestamp", "SET timestamp=1", S, NO, QT_F_TIMESTAMP) \
    C("set session timestamp", "SET SESSION timestamp=1", S, NO, QT_F_TIMESTAMP) \
    C("set @@timestamp", "SET @@session.timestamp=1", S, NO, QT_F_TIMESTAMP) \
    C("set @@timestamp without scope", "SET a=1, @@TIMESTAMP := DEFAULT", S, NO, QT_F_TIMESTAMP) \
    C("set quoted timestamp", "SET `timestamp`=1", S, NO, QT_F_TIMESTAMP) \
    C("timestamp on the right", "SET a=TIMESTAMP(b), @timestamp=5", S, NO, 0) \
    C("set global", "SET GLOBAL a=1", A, QT_DANGER_SET_GLOBAL, 0) \
    C("set global second", "SET a=1, GLOBAL b=2", A, QT_DANGER_SET_GLOBAL, 0) \
    C("set persist", "SET PERSIST a=1", A, QT_DANGER_SET_GLOBAL, 0) \
    C("set persist_only", "SET @@persist_only.a=1", A, QT_DANGER_SET_GLOBAL, 0) \
    C("set @@global", "SET @@ global . a=1", A, QT_DANGER_SET_GLOBAL, 0) \
    C("global is read", "SET a=@@global.a", S, NO, 0) \
    C("comma in a call", "SET a=f(1, global), b=2", S, NO, 0) \
    C("set sql_log_bin", "SET SESSION sql_log_bin=0", S, QT_DANGER_SET_SESSION_UNSAFE, 0) \
    C("set quoted sql_log_bin", "SET a=1, @@session.`sql_log_bin`=0", S, QT_DANGER_SET_SESSION_UNSAFE, 0) \
    C("set transaction read write", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE", S, \
      QT_DANGER_SET_SESSION_UNSAFE, 0) \
    C("set transaction read only", "SET TRANSACTION READ ONLY", S, NO, 0) \
    C("set global transaction", "SET GLOBAL TRANSACTION READ ONLY", A, QT_DANGER_SET_GLOBAL, 0) \
    C("set transaction_read_only", "SET SESSION transaction_read_only=0", S, QT_DANGER_SET_SESSION_UNSAFE, 0) \
    C("set gtid_next", "SET gtid_next='AUTOMATIC'", A, QT_DANGER_REPLICATION, 0) \
    C("set password", "SET PASSWORD FOR u='x'", A, QT_DANGER_ACCOUNTS, SECRET) \
    C("password on the right", "SET @a = password, b = role", S, NO, 0) \
    C("set default role", "SET DEFAULT ROLE ALL TO u", A, QT_DANGER_ACCOUNTS, 0) \
    C("set role", "SET ROLE r", S, NO, 0) \
    C("set resource group", "SET RESOURCE GROUP g", A, QT_DANGER_INSTANCE, 0) \
    C("set statement for a read", "SET STATEMENT max_statement_time=1 FOR SELECT 1", R, NO, 0) \
    C("set statement for a drop", "SET STATEMENT max_statement_time=1 FOR DROP TABLE t", D, NO, 0) \
    C("set statement unsafe", "SET STATEMENT sql_log_bin=0 FOR SELECT 1", R, QT_DANGER_SET_SESSION_UNSAFE, 0) \
    C("kill", "KILL QUERY 5", A, QT_DANGER_KILL, 0) \
    C("flush", "FLUSH TABLES WITH READ LOCK", A, QT_DANGER_FLUSH, 0) \
    C("reset query cache", "RESET QUERY CACHE", A, QT_DANGER_FLUSH, 0) \
    C("reset master", "RESET MASTER", A, QT_DANGER_REPLICATION, 0) \
    C("reset persist", "RESET PERSIST a", A, QT_DANGER_SET_GLOBAL, 0) \
    C("purge", "PURGE BINARY LOGS TO 'x'", A, QT_DANGER_REPLICATION, 0) \
    C("binlog", "BINLOG 'x'", A, QT_DANGER_REPLICATION, 0) \
    C("change master", "CHANGE MASTER TO MASTER_HOST='h'", A, QT_DANGER_REPLICATION, SECRET) \
    C("start replica", "START REPLICA SQL_THREAD", A, QT_DANGER_REPLICATION, 0) \
    C("start all slaves", "START ALL SLAVES", A, QT_DANGER_REPLICATION, 0) \
    C("start group replication", "START GROUP_REPLICATION", A, QT_DANGER_REPLICATION, 0) \
    C("stop slave", "STOP SLAVE", A, QT_DANGER_REPLICATION, 0) \
    C("shutdown", "SHUTDOWN", A, QT_DANGER_SHUTDOWN, 0) \
    C("restart", "RESTART", A, QT_DANGER_SHUTDOWN, 0) \
    C("optimize", "OPTIMIZE TABLE t", A, QT_DANGER_TABLE_MAINTENANCE, 0) \
    C("check", "CHECK TABLE t", A, QT_DANGER_TABLE_MAINTENANCE, 0) \
    C("checksum", "CHECKSUM TABLE t", R, NO, 0) \
    C("cache index", "CACHE INDEX t IN c", A, QT_DANGER_TABLE_MAINTENANCE, 0) \
    C("install", "INSTALL PLUGIN p SONAME 'x'", A, QT_DANGER_PLUGINS, 0) \
    C("create server", "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')", A, QT_DANGER_PLUGINS, SECRET) \
    C("drop server", "DROP SERVER s", A, QT_DANGER_PLUGINS, 0) \
    C("alter instance", "ALTER INSTANCE ROTATE INNODB MASTER KEY", A, QT_DANGER_INSTANCE, 0) \
    C("create tablespace", "CREATE UNDO TABLESPACE x ADD DATAFILE 'y'", A, QT_DANGER_INSTANCE, 0) \
    C("backup", "BACKUP STAGE START", A, QT_DANGER_INSTANCE, 0) \
    C("prepare", "PREPARE s FROM 'SELECT 1'", W, NO, QT_F_SQL_PREPARE) \
    C("execute", "EXECUTE s USING @a", W, NO, QT_F_SQL_PREPARE) \
    C("execute immediate", "EXECUTE IMMEDIATE 'DROP TABLE t'", W, NO, QT_F_SQL_PREPARE) \
    C("execute immediate of a danger", "EXECUTE IMMEDIATE 'SHUTDOWN'", W, QT_DANGER_SHUTDOWN, QT_F_SQL_PREPARE) \
    C("prepare of a danger", "PREPARE `s` FROM \"SET GLOBAL a = 1\"", W, QT_DANGER_SET_GLOBAL, QT_F_SQL_PREPARE) \
    C("a value is not run", "EXECUTE IMMEDIATE 'SELECT ?' USING 'SHUTDOWN'", W, NO, QT_F_SQL_PREPARE) \
    C("drop prepare", "DROP PREPARE s", W, NO, QT_F_SQL_PREPARE) \
    C("unknown", "FROBNICATE t", A, NO, 0) \
    C("unknown beginning", "+ 1", A, NO, 0) \
    C("empty", "", S, NO, 0) \
    C("only a comment", "-- x", S, NO, 0) \
    C("executable drop", "/*!50000 DROP TABLE x */", D, NO, 0) \
    C("executable outfile", "SELECT 1 /*! INTO OUTFILE 'x' */", R, QT_DANGER_INTO_FILE, 0) \
    C("version may be skipped", "/*!80000 EXPLAIN */ DELETE FROM t", W, NO, 0) \
    C("version may hide a quote", "SELECT 1 /*!99999 ' */; DROP TABLE x -- '", D, NO, 0) \
    C("MariaDB's comment may be skipped", "/*M!100100 EXPLAIN */ UPDATE t SET a=1", W, NO, 0) \
    C("hint may hide a quote", "SELECT /*+ ' */ 1; DROP TABLE x -- '", D, NO, 0) \
    C("most dangerous of several", "SELECT 1; DROP TABLE x", D, NO, 0) \
    C("most dangerous danger of several", "FLUSH TABLES; SHUTDOWN; LOCK TABLES t READ", A, QT_DANGER_SHUTDOWN, 0) \
    C("placeholder", "SELECT * FROM t WHERE a=?", R, NO, QT_F_PLACEHOLDER) \
    C("question mark in a string", "SELECT '?', `?`", R, NO, 0) \
    C("quoted name is no keyword", "SELECT * FROM `outfile`", R, NO, 0) \
    C("column named password", "SELECT password FROM t WHERE password='x'", R, NO, 0) \
    C("md5 of a column", "SELECT MD5(a), SHA2(b, 256) FROM t", R, NO, 0) \
    C("md5 is a column", "SELECT md5 FROM t WHERE md5 = 'x'", R, NO, 0) \
    C("harmless comment", "SELECT 1 /* traceparent='00-abc', controller='users' */", R, NO, 0) \
    C("column named identified", "SELECT identified FROM t", R, NO, 0)
