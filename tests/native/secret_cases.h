/* SPDX-License-Identifier: Apache-2.0 */
/* Z(name, statement): the statement contains the secret hunter2 or a part of this secret. The redacted text must not
 * contain the secret. */
#define SECRET_CASES(Z) \
    Z("identified by", "CREATE USER u IDENTIFIED BY 'hunter2'") \
    Z("identified with", "ALTER USER u@'%' IDENTIFIED WITH mysql_native_password AS 'hunter2' REPLACE 'hunter2'") \
    Z("identified via", \
      "CREATE USER u IDENTIFIED VIA mysql_native_password USING 'hunter2' OR ed25519 USING PASSWORD('hunter2')") \
    Z("grant", "GRANT ALL ON *.* TO u IDENTIFIED BY PASSWORD 'hunter2'") \
    Z("grant without quotes", "GRANT ALL ON *.* TO u IDENTIFIED BY hunter2") \
    Z("identified by a quoted name", "GRANT ALL ON *.* TO u IDENTIFIED BY `hunter2`") \
    Z("broken syntax", "u IDENTIFIED BY 'hunter2'") \
    Z("comment between", "GRANT ALL TO u IDENTIFIED/* x */BY 'hunter2' /* hunter2 */ # hunter2") \
    Z("executable comment", "/*!50003 CREATE USER u IDENTIFIED BY 'hunter2' */") \
    Z("cut in the secret", "CREATE USER u IDENTIFIED BY 'hunter2") \
    Z("cut in a quoted name", "CREATE USER `hunter2") \
    Z("set password", "SET PASSWORD = 'hunter2'") \
    Z("set password for", "SET PASSWORD FOR 'u'@'%' = PASSWORD(\"hunter2\")") \
    Z("set password without quotes", "SET PASSWORD = hunter2") \
    Z("password()", "UPDATE mysql.user SET a=PASSWORD ('hunter2') WHERE user='x'") \
    Z("quoted password()", "SELECT `password`('hunter2')") \
    Z("old_password()", "SELECT OLD_PASSWORD('hunter2')") \
    Z("alter user", "ALTER USER u ATTRIBUTE 'hunter2'") \
    Z("create server", "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD 'hunter2')") \
    Z("create or replace server", \
      "CREATE OR REPLACE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD 'hunter2')") \
    Z("alter server", "ALTER SERVER s OPTIONS (PASSWORD 'hunter2')") \
    Z("change master", "CHANGE MASTER 'c' TO MASTER_PASSWORD='hunter2'") \
    Z("change replication source", "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD='hunter2'") \
    Z("start replica", "START REPLICA USER='u' PASSWORD='hunter2'") \
    Z("start group replication", "START GROUP_REPLICATION USER='u', PASSWORD='hunter2'") \
    Z("clone", "CLONE INSTANCE FROM u@h:3306 IDENTIFIED BY 'hunter2'") \
    Z("federated", "CREATE TABLE t (a INT) ENGINE=FEDERATED CONNECTION='mysql://u:hunter2@h/d/t'") \
    Z("spider", "ALTER TABLE t COMMENT='user \"u\", password \"hunter2\"'") \
    Z("table option", "CREATE TABLE t (a INT) PASSWORD = 'hunter2'") \
    Z("aes_encrypt", "INSERT INTO t VALUES (AES_ENCRYPT(a, 'hunter2'))") \
    Z("aes_decrypt, nested", "SELECT AES_DECRYPT(UNHEX(a), UNHEX(SHA2('hunter2', 512))) FROM t") \
    Z("quoted aes_decrypt", "SELECT `AES_DECRYPT`(a, 'hunter2') FROM t") \
    Z("des_decrypt", "SELECT DES_DECRYPT(a, 'hunter2')") \
    Z("encode", "SELECT ENCODE(a, 'hunter2')") \
    Z("encrypt", "SELECT ENCRYPT('hunter2')") \
    Z("hex key", "SELECT AES_DECRYPT(a, x'hunter2'), 0xABCDEF") \
    Z("set variable", "SET @db_password = 'hunter2'") \
    Z("set quoted variable", "SET @`api Token` := 'hunter2'") \
    Z("set wsrep_sst_auth", "SET GLOBAL wsrep_sst_auth='u:hunter2'") \
    Z("set @@ variable", "SET @@global.ft_secret_x='hunter2'") \
    Z("set second variable", "SET a=1, SESSION my_secret=CONCAT('hunter2')") \
    Z("prepare", "PREPARE s FROM 'CREATE USER u IDENTIFIED BY \"hunter2\"'") \
    Z("execute immediate", "EXECUTE IMMEDIATE CONCAT('set pass', 'word = ', 'CREATE USER u identified by hunter2')") \
    Z("statement in a variable", "SET @s = 'GRANT ALL ON *.* TO u IDENTIFIED BY ''hunter2'''") \
    Z("second statement", "SELECT 'hunter2'; ALTER USER u IDENTIFIED BY 'hunter2'") \
    Z("no backslash escapes", "CREATE USER u IDENTIFIED BY 'a\\', v IDENTIFIED BY 'hunter2'") \
    Z("md5", "SELECT id FROM u WHERE p = MD5('hunter2')") \
    Z("sha2", "INSERT INTO u VALUES (1, SHA2('hunter2', 256))") \
    Z("sha1, nested", "UPDATE u SET p = SHA1(CONCAT('salt', 'hunter2'))") \
    Z("sha", "SELECT SHA('hunter2')") \
    Z("quoted md5", "SELECT `md5`('hunter2')") \
    Z("kdf", "SELECT KDF('hunter2', 'salt', 1000, 'pbkdf2_hmac')") \
    Z("create_digest", "SELECT CREATE_DIGEST('SHA256', 'hunter2')") \
    Z("install component", "INSTALL COMPONENT 'file://component_x' SET x.y = 'hunter2'") \
    Z("comment", "SELECT 'a' /* password=hunter2 */ FROM t") \
    Z("comment, JSON", "SELECT 'a' /* {\"api_key\": \"hunter2\"} */") \
    Z("comment at the end", "SELECT 'a' FROM t -- token: hunter2") \
    Z("comment, URL", "SELECT 'a' # mysql://u:hunter2@h/") \
    Z("no statement", "CREAT USER u PASSWORT 'hunter2'; PASSWORD 'hunter2'") \
    Z("no statement, a misspelt one", "UPDAT u SET password = 'hunter2'") \
    Z("set pwd", "SET @my_pwd = 'hunter2'") \
    Z("set secret", "SET @a_secret = 'hunter2'") \
    Z("set token", "SET @token = 'hunter2'") \
    Z("set credential", "SET @credentials = 'hunter2'") \
    Z("set api_key", "SET @api_key = 'hunter2'") \
    Z("set apikey", "SET @apikey = 'hunter2'") \
    Z("set private_key", "SET @private_key = 'hunter2'") \
    Z("set access_key", "SET @access_key = 'hunter2'") \
    Z("set crypt_key", "SET @crypt_key = 'hunter2'") \
    Z("set passphrase", "SET @passphrase = 'hunter2'") \
    Z("set aes_key", "SET @aes_key := 'hunter2'") \
    Z("an option of a table", "CREATE TABLE t (a INT) ENGINE=SPIDER REMOTE_PASSWORD='hunter2'") \
    Z("an option of a changed table", "ALTER TABLE t s3_secret_key = 'hunter2'") \
    Z("strength of a password", "SELECT VALIDATE_PASSWORD_STRENGTH('hunter2')") \
    Z("a key for the keyring", "SELECT keyring_key_store('k', 'AES', 'hunter2')") \
    Z("a private key", "SELECT ASYMMETRIC_SIGN('RSA', d, 'hunter2', 'SHA256')") \
    Z("a public key of a private one", "SELECT create_asymmetric_pub_key('RSA', 'hunter2')") \
    Z("a source of RDS", "CALL mysql.rds_set_external_master('h', 3306, 'u', 'hunter2', 'f', 1, 0)") \
    Z("a source of RDS by GTID", "CALL mysql.rds_set_external_source_with_auto_position('h', 1, 'u', 'hunter2', 0)") \
    Z("keys of RDS", "CALL mysql.rds_import_binlog_ssl_material('hunter2')") \
    Z("a source of Azure", "CALL mysql.az_replication_change_master('h', 'u', 'hunter2', 1, 'f', 4, '')") \
    Z("set passw", "SET @passwd = 'hunter2'") \
    Z("set auth", "SET @authorization = 'hunter2'") \
    Z("no backslash escapes, double quotes", "CREATE USER u IDENTIFIED BY \"a\\\", v IDENTIFIED BY \"hunter2\"") \
    Z("select into", "SELECT 'hunter2' INTO @password") \
    Z("select into, of several", "SELECT 1, CONCAT('hunter2', a) FROM t LIMIT 1 INTO @a, @`my pwd`") \
    Z("select into, before FROM", "SELECT 'hunter2', 2 INTO @secret, @b FROM DUAL") \
    Z("select into, a subquery", "SELECT (SELECT 'hunter2') INTO @password") \
    Z("select into, of a union", "SELECT a FROM t UNION SELECT 'hunter2' INTO @password") \
    Z("select into, of a CTE", "WITH k AS (SELECT 'hunter2' AS v) SELECT v INTO @token FROM k") \
    Z("select into, in a body", "CREATE PROCEDURE p() BEGIN SELECT 'hunter2' INTO v_password; END") \
    Z("select into, a hex key", "SELECT x'hunter2' INTO @aes_key") \
    Z("values into", "VALUES ROW('hunter2') INTO @password") \
    Z("a key in a CTE", "WITH k AS (SELECT 'hunter2' AS v) SELECT AES_DECRYPT(c, v) FROM t, k") \
    Z("a key in a derived table", "SELECT AES_DECRYPT(c, k.v) FROM t JOIN (SELECT UNHEX('hunter2') v) k") \
    Z("a key in a CTE of VALUES", "WITH k AS (VALUES ROW('hunter2')) SELECT AES_ENCRYPT(c, column_0) FROM t, k") \
    Z("a key in a subquery", "SELECT AES_DECRYPT(c, (SELECT v FROM (SELECT 'hunter2' v) d)) FROM t") \
    Z("a key of an INSERT ... SELECT", "INSERT INTO t SELECT AES_ENCRYPT(c, v) FROM s, (SELECT 'hunter2' v) k") \
    Z("hint", "SELECT /*+ SET_VAR(my_password='hunter2') */ 1 FROM t") \
    Z("hint without quotes", "SELECT /*+ token = Bearer hunter2 */ 1 FROM t") \
    Z("hint behind another", "UPDATE /*+ MRR(t) pwd: hunter2 BKA(u) */ t SET a = 1") \
    Z("retain", "ALTER USER USER() IDENTIFIED BY 'x' REPLACE 'hunter2' RETAIN CURRENT PASSWORD")
