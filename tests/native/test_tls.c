/* SPDX-License-Identifier: Apache-2.0 */
/* TLS: the key schedule with the numbers of RFC 8448, key logs, and a connection's records in every state of order. */
#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "tls/tls.h"
#include "tls_records.h"

static struct {
    char text[2][4096]; /* what each way said */
    size_t n[2];
    int gaps, records;
    struct qt_tls_plain last;
} told;

static int on_plain(void *self, int way, const struct qt_tls_plain *p)
{
    (void)self;
    CHECK(told.n[way] + p->n <= sizeof told.text[way]);
    memcpy(told.text[way] + told.n[way], p->p, p->n);
    told.n[way] += p->n;
    told.records++;
    told.last = *p;
    return QT_OK;
}

static int on_gap(void *self, int way, uint64_t lost, int64_t when_ns, int64_t packet)
{
    (void)self;
    (void)way;
    (void)lost;
    (void)when_ns;
    (void)packet;
    told.gaps++;
    return QT_OK;
}

struct side {
    struct qt_tls_secret secret;
    uint64_t seq;
};

static struct qt_tls_log *log_of(const char *text)
{
    struct qt_tls_lines lines = {0};
    struct qt_tls_log *log = qt_tls_log_new();
    CHECK(log != NULL && qt_tls_log_take(log, &lines, text, strlen(text)) == 0);
    qt_tls_lines_end(&lines);
    return log;
}

static struct qt_tls *begin(struct qt_tls_log *log, struct side sides[2])
{
    uint8_t bytes[256];
    struct qt_tls_sink sink = {NULL, on_plain, on_gap};
    memset(&told, 0, sizeof told);
    sides[0] = (struct side){secret_of(CLIENT_SECRET), 0};
    sides[1] = (struct side){secret_of(SERVER_SECRET), 0};
    struct qt_tls *t = qt_tls_new(log, &sink);
    for (int way = 0; way < 2; way++) {
        size_t n = hello(way, bytes);
        CHECK_INT(qt_tls_take(t, way, bytes, n, 1, 1), QT_OK);
    }
    return t;
}

/* Adds the next record of a side to `out`. */
static size_t next(struct side *s, int type, const void *content, size_t n, uint8_t *out)
{
    return seal(&s->secret, s->seq++, type, content, n, out);
}

static void say(struct qt_tls *t, struct side sides[2], int way, const char *text)
{
    uint8_t bytes[4096];
    size_t n = next(&sides[way], QT_TLS_DATA, text, strlen(text), bytes);
    CHECK_INT(qt_tls_take(t, way, bytes, n, 5, 5), QT_OK);
}

/* ---- keys ---- */

static void key_schedule_of_rfc_8448(void)
{
    static const struct {
        const char *secret, *key, *iv;
    } cases[] = {
        {CLIENT_SECRET, "17422dda596ed5d9acd890e3c63f5051", "5b78923dee08579033e523d9"},
        {SERVER_SECRET, "9f02283b6c9c07efc26bb9f2ac92e356", "cf782b88dd83549aadf1e984"},
        {"b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21", "dbfaa693d1762c5b666af5d950258d01",
         "5bd3c71b836e0b76bb73265f"},
        {"b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38", "3fce516009c21727d0f2e4e86ee403bc",
         "5d313eb2671276ee13000b30"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qt_tls_secret secret = secret_of(cases[i].secret);
        struct qt_tls_material m;
        uint8_t key[16], iv[12];
        from_hex(cases[i].key, key);
        from_hex(cases[i].iv, iv);
        CHECK_INT(qt_tls_traffic_keys(qt_tls_suite_find(0x1301), &secret, &m), 0);
        CHECK(memcmp(m.key, key, 16) == 0 && memcmp(m.iv, iv, 12) == 0);
    }
}

/* Its client's record of application data: 50 bytes from 0 on. */
static void record_of_rfc_8448(void)
{
    uint8_t record[128], out[QT_TLS_RECORD_MAX];
    size_t n = from_hex(
        "17 03 03 00 43 a2 3f 70 54 b6 2c 94 d0 af fa fe 82 28 ba 55 cb ef ac ea 42 f9 14 aa 66 bc ab 3f"
        "2b 98 19 a8 a5 b4 6b 39 5b d5 4a 9a 20 44 1e 2b 62 97 4e 1f 5a 62 92 a2 97 70 14 bd 1e 3d ea e6"
        "3a ee bb 21 69 49 15 e4",
        record);
    struct qt_tls_secret secret = secret_of(CLIENT_SECRET);
    struct qt_tls_record_keys keys = {0};
    struct qt_tls_material m;
    const struct qt_tls_suite *suite = qt_tls_suite_find(0x1301);
    size_t len;
    int type;
    CHECK_INT(qt_tls_traffic_keys(suite, &secret, &m), 0);
    CHECK_INT(qt_tls_record_keys_set(&keys, suite, QT_TLS_13, 0, &m), 0);
    CHECK_INT(qt_tls_record_decrypt(&keys, record, n, 0, out, &len, &type), 0);
    CHECK_INT(type, QT_TLS_DATA);
    CHECK_INT(len, 50);
    for (size_t i = 0; i < len; i++)
        CHECK_INT(out[i], i);
    CHECK(qt_tls_record_decrypt(&keys, record, n, 1, out, &len, &type) != 0);
    record[20] ^= 1;
    CHECK(qt_tls_record_decrypt(&keys, record, n, 0, out, &len, &type) != 0);
    qt_tls_record_keys_free(&keys);
}

/* Keys of ECDHE-RSA-AES128-GCM-SHA256, as Python's hmac makes them of the same secret by RFC 5246's formulas. */
static void master_keys(void)
{
    struct qt_tls_secret master = {.n = 48};
    struct qt_tls_material m[2];
    uint8_t client[32], server[32], expected[40];
    memset(master.p, 1, 48);
    memset(client, 2, 32);
    memset(server, 3, 32);
    CHECK_INT(qt_tls_master_keys(qt_tls_suite_find(0xC02F), QT_TLS_12, &master, client, server, m), 0);
    from_hex("3b6f0c6be11aac59fdbcadee4aca5f487c97e6b78ac38d43957f6c084b2c944f4d9f143ce26efe79", expected);
    CHECK(memcmp(m[0].key, expected, 16) == 0 && memcmp(m[1].key, expected + 16, 16) == 0);
    CHECK(memcmp(m[0].iv, expected + 32, 4) == 0 && memcmp(m[1].iv, expected + 36, 4) == 0);
}

/* ---- records ---- */

static void records_in_pieces_and_together(void)
{
    for (size_t step = 1; step < 400; step = step * 3 + 1) {
        struct side sides[2];
        struct qt_tls_log *log = log_of(KEY_LOG);
        struct qt_tls *t = begin(log, sides);
        uint8_t bytes[4096];
        size_t n = next(&sides[0], QT_TLS_DATA, "one ", 4, bytes);
        n += next(&sides[0], QT_TLS_DATA, "two ", 4, bytes + n);
        n += next(&sides[0], QT_TLS_DATA, "", 0, bytes + n);
        n += next(&sides[0], QT_TLS_DATA, "three", 5, bytes + n);
        for (size_t at = 0; at < n; at += step)
            CHECK_INT(qt_tls_take(t, 0, bytes + at, n - at < step ? n - at : step, (int64_t)at, (int64_t)at), QT_OK);
        CHECK_INT(told.records, 3);
        CHECK(memcmp(told.text[0], "one two three", 13) == 0);
        CHECK_INT(qt_tls_finish(t), QT_OK);
        CHECK_INT(qt_tls_end_of(t), QT_TLS_GOES_ON);
        qt_tls_free(t);
        qt_tls_log_free(log);
    }
}

/* A record's times are those of its first and its last byte. */
static void times_of_a_record(void)
{
    struct side sides[2];
    struct qt_tls_log *log = log_of(KEY_LOG);
    struct qt_tls *t = begin(log, sides);
    uint8_t bytes[256];
    size_t n = next(&sides[0], QT_TLS_DATA, "text", 4, bytes);
    qt_tls_take(t, 0, bytes, 7, 1000, 10);
    qt_tls_take(t, 0, bytes + 7, n - 7, 2000, 11);
    CHECK_INT(told.last.first_ns, 1000);
    CHECK_INT(told.last.last_ns, 2000);
    CHECK_INT(told.last.packet, 10);
    qt_tls_free(t);
    qt_tls_log_free(log);
}

/* Handshake records that no key is known of come first; then a ticket, a key update of either way, data. */
static void handshake_tickets_and_key_updates(void)
{
    static const uint8_t ticket[] = {4, 0, 0, 3, 1, 2, 3}, update[] = {24, 0, 0, 1, 0};
    struct side sides[2];
    struct qt_tls_log *log = log_of(KEY_LOG);
    struct qt_tls *t = begin(log, sides);
    struct qt_tls_secret other = secret_of(RANDOM);
    uint8_t bytes[4096];
    size_t n = seal(&other, 0, QT_TLS_HANDSHAKE, "certificate", 11, bytes);
    n += seal(&other, 1, QT_TLS_HANDSHAKE, "finished", 8, bytes + n);
    n += next(&sides[1], QT_TLS_HANDSHAKE, ticket, sizeof ticket, bytes + n);
    n += next(&sides[1], QT_TLS_HANDSHAKE, ticket, 4, bytes + n);
    n += next(&sides[1], QT_TLS_HANDSHAKE, ticket + 4, 3, bytes + n);
    CHECK_INT(qt_tls_take(t, 1, bytes, n, 2, 2), QT_OK);
    for (int way = 0; way < 2; way++) {
        say(t, sides, way, "before ");
        for (int i = 0; i < 2; i++) {
            n = next(&sides[way], QT_TLS_HANDSHAKE, update, sizeof update, bytes);
            CHECK_INT(qt_tls_take(t, way, bytes, n, 3, 3), QT_OK);
            CHECK_INT(qt_tls_next_secret(qt_tls_suite_find(0x1301), &sides[way].secret), 0);
            sides[way].seq = 0;
            say(t, sides, way, "behind ");
        }
        CHECK(memcmp(told.text[way], "before behind behind ", 21) == 0);
    }
    CHECK_INT(told.gaps, 0);
    qt_tls_free(t);
    qt_tls_log_free(log);
}

/* Records are lost, from anywhere in one to anywhere in another: reading goes on with the next whole one. */
static void a_gap_is_crossed(void)
{
    for (size_t lost_to = 30; lost_to < 300; lost_to += 17) {
        struct side sides[2];
        struct qt_tls_log *log = log_of(KEY_LOG);
        struct qt_tls *t = begin(log, sides);
        uint8_t bytes[4096];
        size_t n = 0;
        say(t, sides, 0, "begin ");
        for (int i = 0; i < 20; i++)
            n += next(&sides[0], QT_TLS_DATA, "0123456789", 10, bytes + n);
        qt_tls_take(t, 0, bytes, 20, 6, 6);
        CHECK_INT(qt_tls_skip(t, 0, lost_to - 20, 7, 7), QT_OK);
        for (size_t at = lost_to; at < n; at += 100)
            qt_tls_take(t, 0, bytes + at, n - at < 100 ? n - at : 100, 8, 8);
        say(t, sides, 0, " end");
        CHECK_INT(told.gaps, 1);
        CHECK_INT(told.n[0], 6 + (20 - (lost_to + 31) / 32) * 10 + 4);
        CHECK(memcmp(told.text[0] + told.n[0] - 4, " end", 4) == 0);
        CHECK_INT(qt_tls_end_of(t), QT_TLS_GOES_ON);
        qt_tls_free(t);
        qt_tls_log_free(log);
    }
}

/* A server that asks for another ClientHello: change_cipher_spec of both ways comes before the second hellos. */
static void another_client_hello(void)
{
    static const uint8_t retry[] = {0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C,
                                    0x02, 0x1E, 0x65, 0xB8, 0x91, 0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB,
                                    0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C};
    struct qt_tls_sink sink = {NULL, on_plain, on_gap};
    struct qt_tls_log *log = log_of(KEY_LOG);
    struct qt_tls *t = qt_tls_new(log, &sink);
    struct side sides[2] = {{secret_of(CLIENT_SECRET), 0}, {secret_of(SERVER_SECRET), 0}};
    uint8_t bytes[256];
    memset(&told, 0, sizeof told);
    for (int again = 0; again < 2; again++) {
        qt_tls_take(t, 0, bytes, hello(0, bytes), 1, 1);
        size_t n = hello(1, bytes);
        if (again == 0)
            memcpy(bytes + 11, retry, sizeof retry);
        qt_tls_take(t, 1, bytes, n, 1, 1);
        for (int way = 0; way < 2; way++)
            qt_tls_take(t, way, "\x14\x03\x03\0\1\1", 6, 1, 1);
    }
    say(t, sides, 0, "asks");
    say(t, sides, 1, "answers");
    CHECK_INT(told.records, 2);
    qt_tls_free(t);
    qt_tls_log_free(log);
}

/* What cannot be read, and why. */
static void ends(void)
{
    struct side sides[2];
    uint8_t bytes[4096];
    struct qt_tls_log *log = log_of("CLIENT_RANDOM " RANDOM " " CLIENT_SECRET "\n"), *wrong, *none = log_of("");
    struct qt_tls *t = begin(log, sides);
    say(t, sides, 0, "x");
    CHECK_INT(qt_tls_end_of(t), QT_TLS_NO_KEYS);
    qt_tls_free(t);
    wrong = log_of("CLIENT_TRAFFIC_SECRET_0 " RANDOM " " SERVER_SECRET "\nSERVER_TRAFFIC_SECRET_0 " RANDOM " " RANDOM
                   "\n");
    t = begin(wrong, sides);
    for (int i = 0; i < 100; i++)
        say(t, sides, 0, "x");
    CHECK_INT(qt_tls_end_of(t), QT_TLS_WRONG_KEYS);
    qt_tls_free(t);
    t = begin(wrong, sides);
    for (int i = 0; i < 3; i++)
        say(t, sides, 0, "x");
    qt_tls_finish(t);
    CHECK_INT(qt_tls_end_of(t), QT_TLS_WRONG_KEYS);
    qt_tls_free(t);
    t = begin(wrong, sides);
    qt_tls_skip(t, 0, 100, 1, 1);
    qt_tls_take(t, 0, "\x17\x03\x03", 3, 1, 1);
    qt_tls_free(t);
    t = begin(none, sides);
    size_t n = hello(1, bytes);
    bytes[9 + 34 + 1] = 0x00; /* another suite: 0x0001 */
    bytes[9 + 34 + 2] = 0x01;
    struct qt_tls_sink sink = {NULL, on_plain, on_gap};
    struct qt_tls *other = qt_tls_new(none, &sink);
    qt_tls_take(other, 1, bytes, n, 1, 1);
    n = hello(0, bytes);
    qt_tls_take(other, 0, bytes, n, 1, 1);
    say(other, sides, 0, "x");
    CHECK_INT(qt_tls_end_of(other), QT_TLS_UNSUPPORTED);
    qt_tls_free(other);
    qt_tls_free(t);
    t = qt_tls_new(none, &sink);
    qt_tls_take(t, 0, "SELECT 1", 8, 1, 1);
    CHECK_INT(qt_tls_end_of(t), QT_TLS_LOST);
    qt_tls_free(t);
    qt_tls_log_free(log);
    qt_tls_log_free(wrong);
    qt_tls_log_free(none);
}

/* ---- key logs ---- */

static void put(const char *path, const char *text, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* Records wait for secrets that come later, a line at a time, in the file or in another one of its name. */
static void secrets_that_come_late(void)
{
    char path[] = "/tmp/qt-test-keys-XXXXXX", aside[64];
    struct side sides[2];
    struct qt_error error = {0};
    close(mkstemp(path));
    snprintf(aside, sizeof aside, "%s.new", path);
    for (int how = 0; how < 3; how++) {
        put(path, "# nothing yet\n# and a line that is longer than all that is written anew\n", O_TRUNC);
        struct qt_tls_log *log = qt_tls_log_new();
        CHECK_INT(qt_tls_log_open(log, path, 1, &error), QT_OK);
        struct qt_tls *t = begin(log, sides);
        say(t, sides, 0, "early ");
        say(t, sides, 1, "answer ");
        CHECK_INT(told.records, 0);
        if (how == 0) { /* appended, the second line without its end */
            put(path, "CLIENT_TRAFFIC_SECRET_0 " RANDOM " " CLIENT_SECRET "\nSERVER_TRAFFIC", O_APPEND);
            usleep(30000);
            say(t, sides, 0, "more ");
            CHECK_INT(told.records, 0);
            put(path, "_SECRET_0 " RANDOM " " SERVER_SECRET, O_APPEND);
        } else if (how == 1) { /* another file */
            put(aside, KEY_LOG, O_TRUNC);
            CHECK(rename(aside, path) == 0);
        } else { /* begun again from nothing */
            put(path, "", O_TRUNC);
            usleep(30000);
            say(t, sides, 0, "more ");
            put(path, KEY_LOG, O_APPEND);
        }
        CHECK_INT(qt_tls_finish(t), QT_OK);
        CHECK_INT(qt_tls_end_of(t), QT_TLS_GOES_ON);
        CHECK(memcmp(told.text[0], "early ", 6) == 0 && memcmp(told.text[1], "answer ", 7) == 0);
        struct qt_tls_log_counts counts;
        qt_tls_free(t);
        qt_tls_log_count(log, &counts);
        CHECK_INT(counts.waiting, 0);
        CHECK_INT(counts.connections, 1);
        qt_tls_log_free(log);
    }
    unlink(path);
}

/* What waits is bounded, and what the bound ends is counted as without keys. */
static void waiting_is_bounded(void)
{
    char path[] = "/tmp/qt-test-keys-XXXXXX", text[4000];
    struct side sides[2];
    close(mkstemp(path));
    struct qt_tls_log *log = qt_tls_log_new();
    CHECK_INT(qt_tls_log_open(log, path, 1, NULL), QT_OK);
    struct qt_tls *t = begin(log, sides);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 400; i++)
        say(t, sides, 0, text);
    CHECK_INT(qt_tls_end_of(t), QT_TLS_NO_KEYS);
    qt_tls_free(t);
    struct qt_tls_log_counts counts;
    qt_tls_log_count(log, &counts);
    CHECK_INT(counts.waiting, 0);
    qt_tls_log_free(log);
    unlink(path);
}

static void hostile_key_logs(void)
{
    static char huge[100000];
    struct qt_error error = {0};
    struct qt_tls_log_counts counts;
    char path[] = "/tmp/qt-test-keys-XXXXXX";
    memset(huge, 'A', sizeof huge - 1);
    close(mkstemp(path));
    for (int i = 0; i < 2; i++) {
        put(path, huge, O_TRUNC);
        if (i == 1)
            put(path, "\n" KEY_LOG "CLIENT_RANDOM zz yy\nlower case\nEXPORTER_SECRET 00 11\n\r\n", O_APPEND);
        struct qt_tls_log *log = qt_tls_log_new();
        CHECK_INT(qt_tls_log_open(log, path, 0, &error), i == 0 ? QT_EFORMAT : QT_OK);
        qt_tls_log_count(log, &counts);
        CHECK_INT(counts.connections, i);
        CHECK_INT(counts.bad_lines, i == 0 ? 0 : 3);
        qt_tls_log_free(log);
    }
    unlink(path);
    static const char *const paths[] = {"/", "/dev/zero", "/nowhere/at/all"};
    for (size_t i = 0; i < 3; i++) {
        struct qt_tls_log *log = qt_tls_log_new();
        CHECK_INT(qt_tls_log_open(log, paths[i], 0, &error), QT_EIO);
        CHECK(strstr(error.message, paths[i]) != NULL);
        qt_tls_log_free(log);
    }
}

static void the_oldest_are_forgotten(void)
{
    struct qt_tls_store *s = qt_tls_store_new(3000);
    struct qt_tls_secret secret = {.n = 48};
    uint8_t random[QT_TLS_RANDOM] = {0};
    uint64_t forgotten;
    for (uint32_t i = 0; i < 10000; i++) {
        memcpy(random, &i, sizeof i);
        CHECK_INT(qt_tls_store_add(s, random, QT_TLS_MASTER, &secret), 0);
        CHECK_INT(qt_tls_store_add(s, random, QT_TLS_MASTER, &secret), 0);
    }
    for (uint32_t i = 0; i < 10000; i++) {
        memcpy(random, &i, sizeof i);
        CHECK_INT(qt_tls_store_find(s, random) != NULL, i >= 7000);
    }
    CHECK_INT(qt_tls_store_count(s, &forgotten), 10000);
    CHECK_INT(forgotten, 7000);
    qt_tls_store_free(s);
}

int main(void)
{
    RUN(key_schedule_of_rfc_8448);
    RUN(record_of_rfc_8448);
    RUN(master_keys);
    RUN(records_in_pieces_and_together);
    RUN(times_of_a_record);
    RUN(handshake_tickets_and_key_updates);
    RUN(a_gap_is_crossed);
    RUN(another_client_hello);
    RUN(ends);
    RUN(secrets_that_come_late);
    RUN(waiting_is_bounded);
    RUN(hostile_key_logs);
    RUN(the_oldest_are_forgotten);
    return 0;
}
