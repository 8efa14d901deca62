// SPDX-License-Identifier: Apache-2.0
// A TPC-C of our own, small and seeded: tpcc -dsn DSN -dialect text|prepared|procedures -clients 6 -rounds 40
package main

import (
	"database/sql"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sync"
	"sync/atomic"
)

func main() {
	dsn := flag.String("dsn", "", "user@tcp(host:port)/schema?...")
	dialect := flag.String("dialect", "text", "text, prepared or procedures")
	clients := flag.Int("clients", 6, "sessions at once")
	rounds := flag.Int("rounds", 40, "transactions of each client")
	stay := flag.Int("stay", 15, "transactions before a client connects again")
	warehouses := flag.Int("warehouses", 1, "warehouses")
	inside := flag.Bool("inside", false, "procedures begin and commit, not the client")
	seed := flag.Int64("seed", 1, "of the random numbers")
	flag.Parse()

	db, err := sql.Open("mysql", *dsn)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var all sync.WaitGroup
	var done, deadlocks, failed atomic.Int64
	for n := 0; n < *clients; n++ {
		all.Add(1)
		go func() {
			defer all.Done()
			c := &client{db: db, dialect: *dialect, inside: *inside, number: n, rng: rand.New(rand.NewSource(*seed*1000 + int64(n)))}
			defer c.close()
			for round := 0; round < *rounds; round++ {
				err := error(nil)
				if round%*stay == 0 {
					err = c.connect()
				}
				if err == nil {
					err = c.transaction(*warehouses)
				}
				switch {
				case err == nil:
					done.Add(1)
				case met(err):
					deadlocks.Add(1)
					err = c.rollback("retry")
				}
				if err != nil {
					failed.Add(1)
					fmt.Fprintln(os.Stderr, err)
					return
				}
			}
		}()
	}
	all.Wait()
	fmt.Printf("%d done, %d met, %d failed\n", done.Load(), deadlocks.Load(), failed.Load())
	if failed.Load() > 0 {
		os.Exit(1)
	}
}
