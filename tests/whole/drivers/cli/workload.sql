-- SPDX-License-Identifier: Apache-2.0
-- The workload of the driver tests for the command line clients mysql and mariadb.
INSERT INTO steps (what) VALUES ('text');
/* app:shop */ SELECT COUNT(*) FROM steps;
SELECT nothing FROM nowhere;
INSERT INTO items (name, qty, price, made, day, raw, note, big, ratio)
VALUES ('café ''it''s''', -7, 12345.67, '2026-02-28 23:59:59.123456', '1999-12-31', x'00FF10', NULL, 18446744073709551615, 0.1);
SHOW WARNINGS;
PREPARE one FROM 'INSERT INTO items (name, qty) VALUES (?, ?)';
SET @name = 'sql prepared', @qty = 3;
EXECUTE one USING @name, @qty;
DEALLOCATE PREPARE one;
START TRANSACTION;
INSERT INTO steps (what) VALUES ('transaction 0');
SAVEPOINT here;
DELETE FROM items WHERE qty = 3;
ROLLBACK TO SAVEPOINT here;
COMMIT;
BEGIN;
INSERT INTO steps (what) VALUES ('transaction 1');
ROLLBACK;
CALL add_item('from the command line');
delimiter //
CREATE PROCEDURE gone() BEGIN SELECT 1; SELECT 2; END//
delimiter ;
CALL gone();
DROP PROCEDURE gone;
