/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the nanoseconds of qt_normalize per statement and per byte, best of several rounds.
 *
 *   cc -std=c11 -O2 -I native -I native/base -I native/sql bench/native/bench_normalize.c native/sql/*.c \
 *      native/base/error.c -o bench_normalize && ./bench_normalize
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "querytape_engine.h"

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static char *repeated(const char *head, const char *unit, size_t times, const char *tail)
{
    char *p = malloc(strlen(head) + times * strlen(unit) + strlen(tail) + 1), *at = p;
    at += sprintf(at, "%s", head);
    for (size_t i = 0; i < times; i++)
        at += sprintf(at, "%s", unit);
    sprintf(at, "%s", tail);
    return p;
}

static void measure(struct qt_normalizer *n, const char *name, const char *sql)
{
    size_t len = strlen(sql), times = 20000000 / (len + 100) + 1;
    double best = 1e18;
    uint64_t digest = 0;
    for (int round = 0; round < 7; round++) {
        int64_t begin = now_ns();
        for (size_t i = 0; i < times; i++) {
            struct qt_statement out;
            qt_normalize(n, NULL, sql, len, &out, NULL);
            digest ^= out.digest;
        }
        double each = (double)(now_ns() - begin) / (double)times;
        best = each < best ? each : best;
    }
    printf("%-28s %9zu bytes %12.1f ns %7.2f ns/byte  (%016llx)\n", name, len, best, best / (double)len,
           (unsigned long long)digest);
}

int main(void)
{
    struct qt_normalizer *n = qt_normalizer_new();
    measure(n, "point select", "SELECT c FROM sbtest1 WHERE id=5021");
    measure(n, "range", "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 5021 AND 5120 ORDER BY c");
    measure(n, "update", "UPDATE sbtest1 SET k=k+1 WHERE id=5021");
    measure(n, "insert",
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (5021, 4990, '08566691963-88624912351-16662227201-46648573979',"
            " '63188288836-92351140030-06390587585')");
    measure(
        n, "join",
        "SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.status = 'open'"
        " AND o.created_at >= '2024-01-01 00:00:00' AND c.country IN ('DE','FR','IT') ORDER BY o.created_at DESC"
        " LIMIT 50");
    measure(n, "quoted names",
            "SELECT `orders`.`id`, `orders`.`total` FROM `orders` WHERE `orders`.`customer_id` = 17 LIMIT 1");
    measure(n, "commit", "COMMIT");
    measure(n, "set", "SET NAMES utf8mb4, @@session.autocommit = 1");
    measure(n, "versioned comment", "SELECT /*!40001 SQL_NO_CACHE */ * FROM `film`");
    measure(n, "secret", "ALTER USER 'app'@'%' IDENTIFIED BY 'secret'");
    measure(n, "1,000 rows", repeated("INSERT INTO t (a, b) VALUES (1,'a')", ",(12345,'some text')", 1000, ""));
    measure(n, "IN of 1,000", repeated("SELECT a FROM t WHERE b IN (1", ",12345", 1000, ")"));
    measure(n, "1 MB literal", repeated("INSERT INTO t VALUES ('", "abcdefgh01234567", 65536, "')"));
    measure(n, "1 MB of names", repeated("SELECT a", ", some_column_name", 65536, " FROM t"));
    qt_normalizer_free(n);
    return 0;
}
