// SPDX-License-Identifier: Apache-2.0
// One client's connection, in three dialects: text with tags, statements prepared by the driver, and SQL-level PREPARE
// of calls of procedures.
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand"
	"strings"

	"github.com/go-sql-driver/mysql"
)

type client struct {
	db       *sql.DB
	conn     *sql.Conn
	dialect  string
	prepared map[string]*sql.Stmt
	rng      *rand.Rand
	number   int
	inside   bool // procedures begin and commit
}

var everywhere = context.Background()

// connect opens a connection of its own, whatever the pool thinks of it.
func (c *client) connect() error {
	c.close()
	conn, err := c.db.Conn(everywhere)
	if err != nil {
		return err
	}
	c.conn, c.prepared = conn, map[string]*sql.Stmt{}
	switch c.dialect {
	case "text":
		return c.say("session", "SET autocommit = 0")
	case "procedures":
		for name, places := range calls {
			marks := strings.TrimSuffix(strings.Repeat("?, ", len(places)), ", ")
			if err := c.say("", fmt.Sprintf("PREPARE %s_call FROM 'CALL %s(%s)'", name, name, marks)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *client) close() {
	if c.conn == nil {
		return
	}
	for _, statement := range c.prepared {
		statement.Close()
	}
	c.conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool must not keep it
	c.conn.Close()
	c.conn = nil
}

// text puts values into a statement.
func text(statement string, values []any) string {
	for _, value := range values {
		literal := fmt.Sprint(value)
		if word, is := value.(string); is {
			literal = "'" + strings.ReplaceAll(word, "'", "''") + "'"
		}
		statement = strings.Replace(statement, "?", literal, 1)
	}
	return statement
}

// say sends text.
func (c *client) say(tag, statement string) error {
	if tag != "" {
		statement = "/* app:" + tag + " */ " + statement
	}
	_, err := c.conn.ExecContext(everywhere, statement)
	return err
}

func (c *client) statement(text string) (*sql.Stmt, error) {
	if found := c.prepared[text]; found != nil {
		return found, nil
	}
	made, err := c.conn.PrepareContext(everywhere, text)
	if err == nil {
		c.prepared[text] = made
	}
	return made, err
}

func (c *client) exec(tag, statement string, values ...any) error {
	if c.dialect != "prepared" {
		return c.say(tag, text(statement, values))
	}
	made, err := c.statement(statement)
	if err == nil {
		_, err = made.ExecContext(everywhere, values...)
	}
	return err
}

// read returns the rows' first column.
func (c *client) read(tag, statement string, values ...any) ([]int, error) {
	var rows *sql.Rows
	var err error
	if c.dialect == "prepared" {
		var made *sql.Stmt
		if made, err = c.statement(statement); err == nil {
			rows, err = made.QueryContext(everywhere, values...)
		}
	} else {
		rows, err = c.conn.QueryContext(everywhere, "/* app:"+tag+" */ "+text(statement, values))
	}
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []int
	for rows.Next() {
		var value sql.NullInt64
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		found = append(found, int(value.Int64))
	}
	return found, rows.Err()
}

func (c *client) begin(tag string) error {
	if c.dialect == "text" { // autocommit is off
		return nil
	}
	return c.say(tag, "START TRANSACTION")
}

func (c *client) commit(tag string) error   { return c.say(tag, "COMMIT") }
func (c *client) rollback(tag string) error { return c.say(tag, "ROLLBACK") }

// met tells whether a statement failed because of another session.
func met(err error) bool {
	var fault *mysql.MySQLError
	return errors.As(err, &fault) && (fault.Number == 1213 || fault.Number == 1205 || fault.Number == 1020)
}
