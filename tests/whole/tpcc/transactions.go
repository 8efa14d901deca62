// SPDX-License-Identifier: Apache-2.0
// The five transactions of TPC-C on a small warehouse. Items of an order are in no order, so that deadlocks happen; one
// new order in a hundred is rolled back.
package main

import (
	"fmt"
	"strings"
)

const (
	districts, customers, items, lines = 10, 30, 100, 5
)

func (c *client) upTo(n int) int { return 1 + c.rng.Intn(n) }

// first runs steps until one fails.
func first(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// one reads a number into `into`.
func (c *client) one(into *int, tag, statement string, values ...any) func() error {
	return func() error {
		rows, err := c.read(tag, statement, values...)
		*into = 0
		if len(rows) > 0 {
			*into = rows[0]
		}
		return err
	}
}

// do runs a statement.
func (c *client) do(tag, statement string, values ...any) func() error {
	return func() error { return c.exec(tag, statement, values...) }
}

func (c *client) newOrder(w int) error {
	const tag = "checkout"
	d, customer, number, unused := c.upTo(districts), c.upTo(customers), 0, 0
	gone := c.rng.Intn(100) == 0
	err := first(
		func() error { return c.begin(tag) },
		c.one(&unused, tag, "SELECT c_discount FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", w, d, customer),
		c.one(&number, tag, "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE", w, d),
		c.do(tag, "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?", w, d),
	)
	if err == nil {
		err = first(
			c.do(tag, "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)"+
				" VALUES (?, ?, ?, ?, CURDATE(), ?, 1)", number, d, w, customer, lines),
			c.do(tag, "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)", number, d, w),
		)
	}
	for line := 1; err == nil && line <= lines; line++ {
		err = c.orderLine(tag, w, d, number, line)
	}
	if err == nil && gone {
		return c.rollback(tag)
	}
	if err == nil {
		err = c.commit(tag)
	}
	return err
}

func (c *client) orderLine(tag string, w, d, number, line int) error {
	item, wanted, price, left := c.upTo(items), c.upTo(10), 0, 0
	err := first(
		c.one(&price, tag, "SELECT i_price FROM item WHERE i_id = ?", item),
		c.one(&left, tag, "SELECT s_quantity FROM stock WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE", item, w),
	)
	if err != nil {
		return err
	}
	if left -= wanted; left < 10 {
		left += 91
	}
	stock := "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd * 3 % 10007 + ?, s_order_cnt = s_order_cnt + 1" +
		" WHERE s_i_id = ? AND s_w_id = ?"
	insert := "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_quantity, ol_amount)" +
		" VALUES (?, ?, ?, ?, ?, ?, ?)"
	if c.dialect == "text" && line%2 == 0 { // both in one command
		return c.say(tag, text(stock, []any{left, wanted, item, w})+"; "+
			text(insert, []any{number, d, w, line, item, wanted, price * wanted}))
	}
	return first(
		c.do(tag, stock, left, wanted, item, w),
		c.do(tag, insert, number, d, w, line, item, wanted, price*wanted),
	)
}

func (c *client) payment(w int) error {
	const tag = "payment"
	d, amount, customer := c.upTo(districts), c.upTo(5000), c.upTo(customers)
	err := first(
		func() error { return c.begin(tag) },
		c.do(tag, "UPDATE warehouse SET w_ytd = w_ytd * 3 % 1000003 + ? WHERE w_id = ?", amount, w),
		c.do(tag, "UPDATE district SET d_ytd = d_ytd * 7 % 1000003 + ? WHERE d_w_id = ? AND d_id = ?", amount, w, d),
	)
	if err == nil && c.rng.Intn(100) < 60 {
		var named []int
		named, err = c.read(tag, "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first FOR UPDATE",
			w, d, fmt.Sprintf("NAME%d", customer%10))
		if len(named) > 0 {
			customer = named[len(named)/2]
		}
	}
	if err != nil {
		return err
	}
	return first(
		c.do(tag, "UPDATE customer SET c_balance = c_balance * 3 % 1000003 - ?, c_data = LEFT(CONCAT(?, c_data), 200)"+
			" WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", amount, fmt.Sprintf("%d-%d ", d, amount), w, d, customer),
		c.do(tag, "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, CURDATE(), ?, ?)",
			customer, d, w, amount, "it's paid"),
		func() error { return c.commit(tag) },
	)
}

func (c *client) delivery(w int) error {
	const tag = "delivery"
	err := c.begin(tag)
	for d := 1; err == nil && d <= districts; d++ {
		number, customer, amount := 0, 0, 0
		err = c.one(&number, tag, "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE", w, d)()
		if err != nil || number == 0 {
			continue
		}
		err = first(
			c.do(tag, "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", w, d, number),
			c.one(&customer, tag, "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", w, d, number),
			c.do(tag, "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", c.number+1, w, d, number),
			c.do(tag, "UPDATE order_line SET ol_delivery_d = CURDATE() WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", w, d, number),
			c.one(&amount, tag, "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", w, d, number),
		)
		if err == nil {
			err = c.exec(tag, "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1"+
				" WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", amount, w, d, customer)
		}
	}
	if err == nil {
		err = c.commit(tag)
	}
	return err
}

func (c *client) looks(w int) error {
	const tag = "looks"
	d, unused := c.upTo(districts), 0
	if c.rng.Intn(2) == 0 {
		return first(
			func() error { return c.begin(tag) },
			c.one(&unused, tag, "SELECT c_balance FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", w, d, c.upTo(customers)),
			c.one(&unused, tag, "SELECT MAX(o_id) FROM orders WHERE o_w_id = ? AND o_d_id = ?", w, d),
			func() error { return c.commit(tag) },
		)
	}
	return first(
		func() error { return c.begin(tag) },
		c.one(&unused, tag, "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_i_id = ol_i_id AND s_w_id = ol_w_id"+
			" WHERE ol_w_id = ? AND ol_d_id = ? AND s_quantity < ?", w, d, c.upTo(60)),
		func() error { return c.commit(tag) },
	)
}

// Arguments of the procedures.
var calls = map[string][]string{
	"neword":   {"w", "d", "c", "seed"},
	"payment":  {"w", "d", "c", "amount"},
	"delivery": {"w", "carrier"},
	"slev":     {"w", "d", "below"},
}

// call executes a prepared CALL with user variables, in a transaction of its own or of the procedure's.
func (c *client) call(name string, values ...any) error {
	var set, names []string
	for i, place := range calls[name] {
		names = append(names, "@"+place)
		set = append(set, fmt.Sprintf("@%s = %v", place, values[i]))
	}
	tag := name
	if c.inside {
		tag = ""
	}
	steps := []func() error{
		func() error { return c.begin(tag) },
		func() error { return c.say("", "SET "+strings.Join(set, ", ")) },
		func() error {
			return c.say("", fmt.Sprintf("EXECUTE %s_call USING %s", name, strings.Join(names, ", ")))
		},
		func() error { return c.commit(tag) },
	}
	if c.inside {
		steps = steps[1:3]
	}
	return first(steps...)
}

// transaction runs one of the five, in the mix of TPC-C.
func (c *client) transaction(warehouses int) error {
	w, kind := c.upTo(warehouses), c.rng.Intn(100)
	if c.dialect == "procedures" {
		switch {
		case kind < 45:
			return c.call("neword", w, c.upTo(districts), c.upTo(customers), c.upTo(100000))
		case kind < 88:
			return c.call("payment", w, c.upTo(districts), c.upTo(customers), c.upTo(5000))
		case kind < 92:
			return c.call("delivery", w, c.number+1)
		}
		return c.call("slev", w, c.upTo(districts), c.upTo(60))
	}
	switch {
	case kind < 45:
		return c.newOrder(w)
	case kind < 88:
		return c.payment(w)
	case kind < 92:
		return c.delivery(w)
	}
	return c.looks(w)
}
