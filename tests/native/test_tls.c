/* SPDX-License-Identifier: Apache-2.0 */
/* TLS: the key schedule with the values of RFC 8448, and the records of a connection in any order and state. */
#include "check.h"
#include "tls_told.h"

/* ---- keys ---- */

static void key_schedule_matches_rfc_8448(void)
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

/* Decrypts the client's application data record of RFC 8448: 50 bytes with the values 0 to 49. */
static void record_of_rfc_8448_is_decrypted(void)
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
    CHECK(qt_tls_record_decrypt(&keys, record, n, 0, out, &len, &type) != 0); /* no keys yet */
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

/* Checks keys of ECDHE-RSA-AES128-GCM-SHA256. The expected values come from Python's hmac with the formulas of RFC
 * 5246. */
static void keys_from_a_master_secret_match_rfc_5246(void)
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

static void records_are_decrypted_in_pieces_of_any_size(void)
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

/* The time range of a record is from its first to its last byte. */
static void record_has_the_times_of_its_first_and_last_byte(void)
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

/* Handshake records without known keys come first, followed by a ticket, a key update in each direction, and data. */
static void tickets_and_key_updates_are_followed(void)
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

/* After lost records, reading continues at the next complete record. The loss may begin and end inside a record. */
static void decryption_continues_after_lost_records(void)
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

/* The server requests a second ClientHello. change_cipher_spec in both directions comes before the second hellos. */
static void second_client_hello_is_followed(void)
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

/* Supported cipher suites by version. TLS 1.3 suites are supported only in TLS 1.3. AEAD suites and longer MACs are
 * supported only in TLS 1.2. */
static void cipher_suites_depend_on_the_tls_version(void)
{
    static const struct {
        int minor, suite, supported;
    } each[] = {{0, 0x002F, 0}, {1, 0x002F, 1}, {2, 0x002F, 1}, {3, 0x002F, 1}, {4, 0x002F, 0}, {1, 0x003C, 0},
                {2, 0x003C, 0}, {3, 0x003C, 1}, {4, 0x003C, 0}, {1, 0xC02F, 0}, {2, 0xC02F, 0}, {3, 0xC02F, 1},
                {4, 0xC02F, 0}, {1, 0x1301, 0}, {3, 0x1301, 0}, {4, 0x1301, 1}, {5, 0x1301, 0}, {3, 0x0001, 0}};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        struct side sides[2] = {{secret_of(CLIENT_SECRET), 0}, {secret_of(SERVER_SECRET), 0}};
        struct qt_tls_sink sink = {NULL, on_plain, on_gap};
        struct qt_tls_log *log = log_of("");
        struct qt_tls *t = qt_tls_new(log, &sink);
        uint8_t bytes[256], *body = bytes + 9, *behind = body + 34;
        memset(&told, 0, sizeof told);
        size_t n = hello(0, bytes);
        qt_tls_take(t, 0, bytes, n, 1, 1);
        n = hello(1, bytes);
        behind[1] = (uint8_t)(each[i].suite >> 8);
        behind[2] = (uint8_t)each[i].suite;
        if (each[i].minor < 4) {
            body[1] = (uint8_t)each[i].minor;
            behind[7] = 0xff; /* not the supported_versions extension */
        } else {
            behind[11] = (uint8_t)each[i].minor;
        }
        qt_tls_take(t, 1, bytes, n, 1, 1);
        qt_tls_take(t, 0, "\x14\3\3\0\1\1", 6, 2, 2);
        say(t, sides, 0, "x");
        qt_tls_finish(t);
        CHECK_INT(qt_tls_end_of(t), each[i].supported ? QT_TLS_NO_KEYS : QT_TLS_UNSUPPORTED);
        qt_tls_free(t);
        qt_tls_log_free(log);
    }
}

/* Up to TLS 1.2, a second change_cipher_spec is encrypted. Without keys, the connection then ends as unreadable. */
static void second_change_cipher_spec_needs_keys(void)
{
    struct qt_tls_sink sink = {NULL, on_plain, on_gap};
    for (int way = 0; way < 2; way++) {
        struct qt_tls_log *log = log_of("");
        struct qt_tls *t = qt_tls_new(log, &sink);
        uint8_t bytes[256];
        qt_tls_take(t, 0, bytes, hello(0, bytes), 1, 1);
        size_t n = hello(1, bytes);
        bytes[9 + 34 + 1] = 0xC0; /* 0xC02F, a suite of TLS 1.2 */
        bytes[9 + 34 + 2] = 0x2F;
        bytes[9 + 1] = 3;
        bytes[9 + 34 + 7] = 0xff; /* not the supported_versions extension */
        qt_tls_take(t, 1, bytes, n, 1, 1);
        for (int i = 0; i < 3; i++) {
            CHECK_INT(qt_tls_take(t, way, "\x14\3\3\0\1\1", 6, 2, 2), QT_OK);
            CHECK_INT(qt_tls_end_of(t), i == 0 ? QT_TLS_GOES_ON : QT_TLS_NO_KEYS);
        }
        qt_tls_free(t);
        qt_tls_log_free(log);
    }
}

/* close_notify and a fatal alert end their direction of the connection. Later data of this direction is not read. Other
 * warnings do not end a direction. */
static void close_and_fatal_alerts_end_a_direction(void)
{
    static const struct {
        uint8_t bytes[2];
        size_t n;
        int ends;
    } all[] = {{{1, 0}, 2, 1},   {{2, 0}, 2, 1}, {{2, 40}, 2, 1}, {{1, 90}, 2, 0},
               {{1, 100}, 2, 0}, {{1, 0}, 1, 0}, {{2, 40}, 1, 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int way = 0; way < 2; way++) {
            struct side sides[2];
            struct qt_tls_log *log = log_of(KEY_LOG);
            struct qt_tls *t = begin(log, sides);
            uint8_t bytes[256];
            say(t, sides, way, "a");
            size_t n = next(&sides[way], QT_TLS_ALERT, all[i].bytes, all[i].n, bytes);
            CHECK_INT(qt_tls_take(t, way, bytes, n, 2, 2), QT_OK);
            say(t, sides, way, "b");
            say(t, sides, 1 - way, "c");
            CHECK_INT(told.n[way], all[i].ends ? 1 : 2);
            CHECK_INT(told.n[1 - way], 1);
            CHECK_INT(qt_tls_end_of(t), QT_TLS_GOES_ON);
            qt_tls_free(t);
            qt_tls_log_free(log);
        }
}

/* Unreadable connections and the reported reasons. */
static void unreadable_connections_report_their_reason(void)
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

int main(void)
{
    RUN(key_schedule_matches_rfc_8448);
    RUN(record_of_rfc_8448_is_decrypted);
    RUN(keys_from_a_master_secret_match_rfc_5246);
    RUN(records_are_decrypted_in_pieces_of_any_size);
    RUN(record_has_the_times_of_its_first_and_last_byte);
    RUN(tickets_and_key_updates_are_followed);
    RUN(decryption_continues_after_lost_records);
    RUN(second_client_hello_is_followed);
    RUN(cipher_suites_depend_on_the_tls_version);
    RUN(second_change_cipher_spec_needs_keys);
    RUN(close_and_fatal_alerts_end_a_direction);
    RUN(unreadable_connections_report_their_reason);
    return 0;
}
