-- SPDX-License-Identifier: Apache-2.0
CREATE TABLE warehouse (w_id INT PRIMARY KEY, w_ytd BIGINT NOT NULL);
CREATE TABLE district (d_id INT, d_w_id INT, d_ytd BIGINT NOT NULL, d_next_o_id INT NOT NULL, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_id INT, c_d_id INT, c_w_id INT, c_first VARCHAR(16), c_last VARCHAR(16), c_discount INT,
    c_balance BIGINT, c_delivery_cnt INT, c_data VARCHAR(200), PRIMARY KEY (c_w_id, c_d_id, c_id),
    KEY by_name (c_w_id, c_d_id, c_last, c_first));
CREATE TABLE history (h_c_id INT, h_c_d_id INT, h_c_w_id INT, h_date DATETIME, h_amount INT, h_data VARCHAR(24));
CREATE TABLE new_order (no_o_id INT, no_d_id INT, no_w_id INT, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE TABLE orders (o_id INT, o_d_id INT, o_w_id INT, o_c_id INT, o_entry_d DATETIME, o_carrier_id INT, o_ol_cnt INT,
    o_all_local INT, PRIMARY KEY (o_w_id, o_d_id, o_id), KEY by_customer (o_w_id, o_d_id, o_c_id, o_id));
CREATE TABLE order_line (ol_o_id INT, ol_d_id INT, ol_w_id INT, ol_number INT, ol_i_id INT, ol_delivery_d DATETIME,
    ol_quantity INT, ol_amount INT, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number), KEY by_item (ol_i_id));
CREATE TABLE item (i_id INT PRIMARY KEY, i_price INT);
CREATE TABLE stock (s_i_id INT, s_w_id INT, s_quantity INT, s_ytd INT, s_order_cnt INT, PRIMARY KEY (s_w_id, s_i_id),
    KEY by_item (s_i_id));
