/* SPDX-License-Identifier: Apache-2.0 */
/* Client with real prepared statements: all parameter types, NULLs, long data, cursors, failures and LOCAL INFILE. With
 * MariaDB it also sends bulk and direct executions.
 *
 * Usage: `prepared_client HOST PORT USER PASSWORD SCHEMA FILE [mariadb]`. The variable QT_TLS=TLSv1.2 sets the TLS
 * version. QT_CIPHER sets the cipher suites up to TLS 1.2. QT_COMPRESS=1 enables compression. */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MYSQL *con;
static int mariadb; /* MySQL has no YEAR parameter type and no bulk execution */

static void must(int failed, const char *what)
{
    if (!failed)
        return;
    fprintf(stderr, "%s: %s\n", what, mysql_error(con));
    exit(1);
}

static MYSQL_STMT *prepare(const char *sql)
{
    MYSQL_STMT *s = mysql_stmt_init(con);
    if (mysql_stmt_prepare(s, sql, strlen(sql)) != 0) {
        fprintf(stderr, "%s: %s\n", sql, mysql_stmt_error(s));
        exit(1);
    }
    return s;
}

static void run(MYSQL_STMT *s)
{
    if (mysql_stmt_execute(s) != 0) {
        fprintf(stderr, "execute: %s\n", mysql_stmt_error(s));
        exit(1);
    }
}

/* Reads all rows of all results. */
static int drain(MYSQL_STMT *s)
{
    int n = 0;
    do {
        if (mysql_stmt_field_count(s) > 0)
            while (mysql_stmt_fetch(s) == 0)
                n++;
    } while (mysql_stmt_next_result(s) == 0);
    return n;
}

static void query(const char *sql)
{
    must(mysql_query(con, sql), sql);
    do {
        MYSQL_RES *r = mysql_store_result(con);
        mysql_free_result(r);
    } while (mysql_next_result(con) == 0);
}

static void every_type(void)
{
    signed char tiny = -7;
    unsigned char utiny = 250;
    short small = -30000;
    unsigned short year = 2026;
    int whole = -2000000000;
    unsigned int uwhole = 4000000000U;
    long long big = -9000000000000000000LL;
    unsigned long long ubig = 18446744073709551615ULL;
    float f = 1.5F;
    double d = -2.25e-300;
    MYSQL_TIME date = {.year = 2024, .month = 2, .day = 29, .time_type = MYSQL_TIMESTAMP_DATE};
    MYSQL_TIME at = {.year = 1999,
                     .month = 12,
                     .day = 31,
                     .hour = 23,
                     .minute = 59,
                     .second = 59,
                     .second_part = 999999,
                     .time_type = MYSQL_TIMESTAMP_DATETIME};
    MYSQL_TIME span = {
        .hour = 800, .minute = 1, .second = 2, .second_part = 3, .neg = 1, .time_type = MYSQL_TIMESTAMP_TIME};
    char decimal[] = "-12345678901234567890.123456789", text[] = "it's \"q\" \\ \n \xc3\xa9", blob[] = "\0\xff'\\";
    char null[16] = {0};
    MYSQL_BIND b[16];
    MYSQL_STMT *s = prepare("INSERT INTO types VALUES (0,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");

    memset(b, 0, sizeof b);
#define BIND(i, type, at, size, uns) \
    b[i].buffer_type = type, b[i].buffer = (void *)(at), b[i].buffer_length = size, b[i].is_unsigned = uns, \
    b[i].is_null = &null[i]
    BIND(0, MYSQL_TYPE_TINY, &tiny, 1, 0);
    BIND(1, MYSQL_TYPE_TINY, &utiny, 1, 1);
    BIND(2, MYSQL_TYPE_SHORT, &small, 2, 0);
    BIND(3, mariadb ? MYSQL_TYPE_YEAR : MYSQL_TYPE_SHORT, &year, 2, 1);
    BIND(4, MYSQL_TYPE_LONG, &whole, 4, 0);
    BIND(5, MYSQL_TYPE_LONG, &uwhole, 4, 1);
    BIND(6, MYSQL_TYPE_LONGLONG, &big, 8, 0);
    BIND(7, MYSQL_TYPE_LONGLONG, &ubig, 8, 1);
    BIND(8, MYSQL_TYPE_FLOAT, &f, 4, 0);
    BIND(9, MYSQL_TYPE_DOUBLE, &d, 8, 0);
    BIND(10, MYSQL_TYPE_NEWDECIMAL, decimal, sizeof decimal - 1, 0);
    BIND(11, MYSQL_TYPE_STRING, text, sizeof text - 1, 0);
    BIND(12, MYSQL_TYPE_BLOB, blob, sizeof blob - 1, 0);
    BIND(13, MYSQL_TYPE_DATE, &date, 0, 0);
    BIND(14, MYSQL_TYPE_TIME, &span, 0, 0);
    BIND(15, MYSQL_TYPE_DATETIME, &at, 0, 0);
    mysql_stmt_bind_param(s, b);
    run(s);
    tiny = 7; /* parameter types are not sent again */
    span.neg = 0;
    at.second_part = 0;
    run(s);
    for (int i = 0; i < 16; i += 2)
        null[i] = 1;
    run(s);
    memset(null, 1, sizeof null);
    run(s);
    memset(null, 0, sizeof null);
    b[0].buffer_type = MYSQL_TYPE_NULL;
    b[12].buffer_type = MYSQL_TYPE_VAR_STRING;
    b[15].buffer_type = MYSQL_TYPE_TIMESTAMP;
    mysql_stmt_bind_param(s, b);
    run(s);
    mysql_stmt_close(s);
}

static void long_data(void)
{
    MYSQL_BIND b[2];
    int n = 1;
    MYSQL_STMT *s = prepare("INSERT INTO blobs (n, b) VALUES (?, ?)");
    char *piece = malloc(70000);
    memset(piece, 'x', 70000);
    memset(b, 0, sizeof b);
    b[0].buffer_type = MYSQL_TYPE_LONG;
    b[0].buffer = &n;
    b[1].buffer_type = MYSQL_TYPE_LONG_BLOB;
    mysql_stmt_bind_param(s, b);
    for (int i = 0; i < 3; i++)
        mysql_stmt_send_long_data(s, 1, piece, 70000);
    run(s);
    n = 2;
    mysql_stmt_send_long_data(s, 1, "sho\0rt", 6);
    run(s);
    n = 3;
    mysql_stmt_send_long_data(s, 1, "forgotten by the reset", 22);
    mysql_stmt_reset(s);
    b[1].buffer_type = MYSQL_TYPE_STRING;
    b[1].buffer = "inline";
    b[1].buffer_length = 6;
    mysql_stmt_bind_param(s, b);
    run(s);
    n = 1; /* causes a duplicate key error */
    if (mysql_stmt_execute(s) == 0)
        must(1, "a duplicate was accepted");
    mysql_stmt_close(s);
    free(piece);
}

static void cursor(void)
{
    MYSQL_BIND b[1];
    int least = 0;
    unsigned long type = CURSOR_TYPE_READ_ONLY, rows = 3;
    MYSQL_STMT *s = mysql_stmt_init(con);
    const char *sql = "SELECT id, n FROM numbers WHERE n > ? ORDER BY n";

    mysql_stmt_attr_set(s, STMT_ATTR_CURSOR_TYPE, &type);
    mysql_stmt_attr_set(s, STMT_ATTR_PREFETCH_ROWS, &rows);
    must(mysql_stmt_prepare(s, sql, strlen(sql)), sql);
    memset(b, 0, sizeof b);
    b[0].buffer_type = MYSQL_TYPE_LONG;
    b[0].buffer = &least;
    mysql_stmt_bind_param(s, b);
    run(s);
    if (drain(s) != 10)
        must(1, "rows of the cursor");
    least = 5;
    run(s);
    mysql_stmt_fetch(s);
    query("SELECT 'beside an open cursor'");
    run(s); /* closes the cursor */
    drain(s);
    mysql_stmt_close(s);
}

static void results(void)
{
    MYSQL_BIND b[1];
    int n = 4;
    MYSQL_STMT *s = prepare("CALL two(?)");
    memset(b, 0, sizeof b);
    b[0].buffer_type = MYSQL_TYPE_LONG;
    b[0].buffer = &n;
    mysql_stmt_bind_param(s, b);
    run(s);
    drain(s);
    mysql_stmt_close(s);
    s = mysql_stmt_init(con);
    if (mysql_stmt_prepare(s, "SELECT nothing FROM nowhere", 27) == 0)
        must(1, "nowhere is there");
    mysql_stmt_close(s);
}

static void bulk(void)
{
    int n[4] = {101, 102, 103, 104};
    char *text[4] = {"a", "bb", NULL, "dddd"};
    unsigned long len[4] = {1, 2, 0, 4};
    char indicator[4] = {STMT_INDICATOR_NONE, STMT_INDICATOR_NONE, STMT_INDICATOR_NULL, STMT_INDICATOR_NONE};
    unsigned int size = 4;
    MYSQL_BIND b[2];
    MYSQL_STMT *s = prepare("INSERT INTO blobs (n, b) VALUES (?, ?)");

    memset(b, 0, sizeof b);
    b[0].buffer_type = MYSQL_TYPE_LONG;
    b[0].buffer = n;
    b[1].buffer_type = MYSQL_TYPE_STRING;
    b[1].buffer = text;
    b[1].length = len;
    b[1].u.indicator = indicator;
    mysql_stmt_attr_set(s, STMT_ATTR_ARRAY_SIZE, &size);
    mysql_stmt_bind_param(s, b);
    run(s);
    mysql_stmt_close(s);
    s = mysql_stmt_init(con);
    if (mariadb_stmt_execute_direct(s, "UPDATE numbers SET n = n + 100 WHERE n = 3", (size_t)-1) != 0)
        must(1, mysql_stmt_error(s));
    mysql_stmt_close(s);
}

int main(int argc, char **argv)
{
    char sql[1024];
    MYSQL_STMT *left_open;
    if (argc < 7)
        return 2;
    con = mysql_init(NULL);
    mysql_options(con, MYSQL_OPT_LOCAL_INFILE, &(unsigned){1});
    mysql_options(con, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &(my_bool){0});
    mariadb = argc > 7;
    if (getenv("QT_TLS") != NULL) {
        mysql_options(con, MYSQL_OPT_SSL_ENFORCE, &(my_bool){1});
        mysql_options(con, MARIADB_OPT_TLS_VERSION, getenv("QT_TLS"));
    }
    if (getenv("QT_CIPHER") != NULL)
        mysql_options(con, MYSQL_OPT_SSL_CIPHER, getenv("QT_CIPHER"));
    if (getenv("QT_COMPRESS") != NULL)
        mysql_options(con, MYSQL_OPT_COMPRESS, NULL);
    must(mysql_real_connect(con, argv[1], argv[3], argv[4], argv[5], (unsigned)atoi(argv[2]), NULL,
                            CLIENT_MULTI_RESULTS) == NULL,
         "connect");
    left_open = prepare("SELECT COUNT(*) FROM numbers");
    every_type();
    long_data();
    run(left_open);
    drain(left_open);
    cursor();
    results();
    snprintf(sql, sizeof sql, "LOAD DATA LOCAL INFILE '%s' INTO TABLE loaded FIELDS TERMINATED BY ','", argv[6]);
    query(sql);
    if (mariadb)
        bulk();
    must(mysql_reset_connection(con), "reset");
    left_open = prepare("SELECT 'after the reset', ?");
    mysql_stmt_bind_param(left_open,
                          &(MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING, .buffer = "yes", .buffer_length = 3});
    run(left_open);
    drain(left_open);
    mysql_close(con);
    return 0;
}
