// SPDX-License-Identifier: Apache-2.0

// The drivers' workload through go-sql-driver/mysql.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const insert = "INSERT INTO items (name, qty, price, made, day, raw, note, big, ratio) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func exec(db interface {
	Exec(string, ...any) (sql.Result, error)
}, statement string, args ...any) {
	_, err := db.Exec(statement, args...)
	must(err)
}

func read(rows *sql.Rows, err error) {
	must(err)
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
		}
	}
	must(rows.Close())
}

func row(name string, qty int) []any {
	raw := make([]byte, 256)
	for n := range raw {
		raw[n] = byte(n)
	}
	made := time.Date(2026, 2, 28, 23, 59, 59, 123456000, time.UTC)
	return []any{name, qty, "12345.67", made, "1999-12-31", raw, nil, uint64(1<<64 - 1), 0.1}
}

func work(db *sql.DB, large int) {
	must(db.Ping())
	exec(db, "INSERT INTO steps (what) VALUES ('text')")
	read(db.Query("/* app:shop */ SELECT COUNT(*) FROM steps -- behind"))
	if _, err := db.Query("SELECT nothing FROM nowhere"); err == nil {
		log.Fatal("an error was expected")
	}
	exec(db, insert, row("café 中 'it''s' \\", -7)...)
	stmt, err := db.Prepare(insert)
	must(err)
	for n := 0; n < 5; n++ {
		_, err = stmt.Exec(row(fmt.Sprintf("p%d", n), n)...)
		must(err)
	}
	must(stmt.Close())
	for n := 0; n < 3; n++ {
		read(db.Query("SELECT id, name, made, raw FROM items WHERE qty = ?", n))
	}
	for n := 0; n < 3; n++ {
		tx, err := db.Begin()
		must(err)
		exec(tx, "INSERT INTO steps (what) VALUES (?)", fmt.Sprintf("transaction %d", n))
		exec(tx, "DELETE FROM items WHERE qty = ?", n)
		if n == 1 {
			must(tx.Rollback())
		} else {
			must(tx.Commit())
		}
	}
	exec(db, "REPLACE INTO large VALUES (1, ?)", strings.Repeat("x'\n", large/3))
	exec(db, "INSERT INTO steps (what) VALUES ('one'); INSERT INTO steps (what) VALUES ('two')")
	read(db.Query("CALL add_item(?)", "from go"))
	mysql.RegisterReaderHandler("lines", func() io.Reader {
		var lines strings.Builder
		for n := 0; n < 500; n++ {
			fmt.Fprintf(&lines, "%d\tline %d\n", n, n)
		}
		return strings.NewReader(lines.String())
	})
	exec(db, "LOAD DATA LOCAL INFILE 'Reader::lines' INTO TABLE loaded")
}

func main() {
	large, err := strconv.Atoi(os.Getenv("QT_LARGE"))
	if err != nil {
		large = 200000
	}
	for _, interpolate := range []string{"false", "true"} {
		dsn := fmt.Sprintf("%s:%s@tcp(%s:%s)/%s?multiStatements=true&interpolateParams=%s", os.Getenv("QT_USER"),
			os.Getenv("QT_PASSWORD"), os.Getenv("QT_HOST"), os.Getenv("QT_PORT"), os.Getenv("QT_DB"), interpolate)
		db, err := sql.Open("mysql", dsn)
		must(err)
		db.SetMaxOpenConns(1)
		work(db, large)
		con, err := db.Conn(context.Background())
		must(err)
		must(con.Close())
		must(db.Close())
	}
}
