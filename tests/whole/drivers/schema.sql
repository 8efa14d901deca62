-- SPDX-License-Identifier: Apache-2.0
-- The tables that the workloads of the driver tests write to.
CREATE TABLE items (
    id INT AUTO_INCREMENT PRIMARY KEY,
    name VARCHAR(200),
    qty INT,
    price DECIMAL(12, 2),
    made DATETIME(6),
    day DATE,
    raw VARBINARY(300),
    note TEXT,
    big BIGINT UNSIGNED,
    ratio DOUBLE
);
CREATE TABLE large (id INT PRIMARY KEY, body LONGTEXT);
CREATE TABLE steps (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(100));
CREATE TABLE loaded (a INT, b VARCHAR(50));
CREATE PROCEDURE add_item(IN p_name VARCHAR(200)) BEGIN INSERT INTO items (name) VALUES (p_name); SELECT COUNT(*) AS n FROM items; END;
