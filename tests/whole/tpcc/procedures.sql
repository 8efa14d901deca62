-- SPDX-License-Identifier: Apache-2.0
CREATE PROCEDURE neword(IN w INT, IN d INT, IN c INT, IN seed INT)
BEGIN
    DECLARE line INT DEFAULT 1;
    START TRANSACTION; -- inside
    SELECT d_next_o_id INTO @p_number FROM district WHERE d_w_id = w AND d_id = d FOR UPDATE;
    UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d;
    SET @p_d = d, @p_w = w, @p_c = c;
    PREPARE order_st FROM 'INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, CURDATE(), 5, 1)';
    EXECUTE order_st USING @p_number, @p_d, @p_w, @p_c;
    DEALLOCATE PREPARE order_st;
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (@p_number, d, w);
    WHILE line <= 5 DO
        SET @p_item = 1 + (seed * line * 7919) % 100, @p_line = line;
        SELECT i_price INTO @p_price FROM item WHERE i_id = @p_item;
        SELECT s_quantity INTO @p_left FROM stock WHERE s_i_id = @p_item AND s_w_id = w FOR UPDATE;
        SET @p_left = IF(@p_left > 14, @p_left - 5, @p_left + 86);
        PREPARE stock_st FROM 'UPDATE stock SET s_quantity = ?, s_ytd = s_ytd * 3 % 10007 + ?, s_order_cnt = s_order_cnt + 1 WHERE s_i_id = ? AND s_w_id = ?';
        EXECUTE stock_st USING @p_left, @p_line, @p_item, @p_w;
        PREPARE line_st FROM 'INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_quantity, ol_amount) VALUES (?, ?, ?, ?, ?, 5, 5 * ?)';
        EXECUTE line_st USING @p_number, @p_d, @p_w, @p_line, @p_item, @p_price;
        SET line = line + 1;
    END WHILE;
    IF seed % 100 = 0 THEN ROLLBACK; ELSE COMMIT; END IF; -- inside
END;;
CREATE PROCEDURE payment(IN w INT, IN d INT, IN c INT, IN amount INT)
BEGIN
    START TRANSACTION; -- inside
    UPDATE warehouse SET w_ytd = w_ytd * 3 % 1000003 + amount WHERE w_id = w;
    SET @p_amount = amount, @p_w = w, @p_d = d;
    PREPARE district_st FROM 'UPDATE district SET d_ytd = d_ytd * 7 % 1000003 + ? WHERE d_w_id = ? AND d_id = ?';
    EXECUTE district_st USING @p_amount, @p_w, @p_d;
    DEALLOCATE PREPARE district_st;
    SELECT c_balance INTO @p_balance FROM customer WHERE c_w_id = w AND c_d_id = d AND c_id = c FOR UPDATE;
    UPDATE customer SET c_balance = @p_balance * 3 % 1000003 - amount WHERE c_w_id = w AND c_d_id = d AND c_id = c;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_date, h_amount, h_data) VALUES (c, d, w, CURDATE(), amount, 'paid');
    COMMIT; -- inside
END;;
CREATE PROCEDURE delivery(IN w INT, IN carrier INT)
BEGIN
    DECLARE d INT DEFAULT 1;
    DECLARE number, customer INT;
    START TRANSACTION; -- inside
    WHILE d <= 10 DO
        SET number = NULL;
        SELECT MIN(no_o_id) INTO number FROM new_order WHERE no_w_id = w AND no_d_id = d FOR UPDATE;
        IF number IS NOT NULL THEN
            DELETE FROM new_order WHERE no_w_id = w AND no_d_id = d AND no_o_id = number;
            SELECT o_c_id INTO customer FROM orders WHERE o_w_id = w AND o_d_id = d AND o_id = number;
            UPDATE orders SET o_carrier_id = carrier WHERE o_w_id = w AND o_d_id = d AND o_id = number;
            UPDATE order_line SET ol_delivery_d = CURDATE() WHERE ol_w_id = w AND ol_d_id = d AND ol_o_id = number;
            UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = w AND c_d_id = d AND c_id = customer;
        END IF;
        SET d = d + 1;
    END WHILE;
    COMMIT; -- inside
END;;
CREATE PROCEDURE slev(IN w INT, IN d INT, IN below INT)
BEGIN
    SELECT COUNT(DISTINCT s_i_id) INTO @p_found FROM order_line JOIN stock ON s_i_id = ol_i_id AND s_w_id = ol_w_id
        WHERE ol_w_id = w AND ol_d_id = d AND s_quantity < below;
END;;
