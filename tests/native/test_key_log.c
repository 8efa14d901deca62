/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of TLS key logs. Some lines hold a secret, some are skipped, and some are counted as bad. Lines arrive in
 * pieces of any size. */
#include "tls/key_log.h"

#include <unistd.h>

#include "check.h"

enum { RANDOM = QT_TLS_RANDOM, ROOM = 1200 };
enum kind { KEPT, PASSED_OVER, BAD };

/* Builds the text of a key log line. `random` and `secret` are lengths in bytes. */
static char *line_of(char *out, const char *label, size_t random, size_t secret, const char *behind)
{
    size_t n = (size_t)sprintf(out, "%s ", label);
    for (size_t i = 0; i < random; i++)
        n += (size_t)sprintf(out + n, "%02zx", i * 7 & 255);
    n += (size_t)sprintf(out + n, " ");
    for (size_t i = 0; i < secret; i++)
        n += (size_t)sprintf(out + n, "%02zX", i * 5 & 255);
    sprintf(out + n, "%s", behind);
    return out;
}

static void expect(const char *line, enum kind kind)
{
    char text[ROOM * 2 + 8];
    size_t n = (size_t)sprintf(text, "%s\n", line);
    for (size_t most = 1; most <= n; most = most < 4 ? most + 1 : n == most ? n + 1 : n) {
        struct qt_tls_log *log = qt_tls_log_new();
        struct qt_tls_lines lines = {.n = 0};
        struct qt_tls_log_counts counts;
        CHECK(log != NULL);
        for (size_t at = 0; at < n; at += most)
            CHECK_INT(qt_tls_log_take(log, &lines, text + at, most < n - at ? most : n - at), 0);
        qt_tls_log_count(log, &counts);
        int begins = kind == BAD && most < n; /* a bad line may begin with a complete secret */
        if ((!begins && counts.connections != (kind == KEPT)) || counts.bad_lines != (kind == BAD))
            fprintf(stderr, "[%s] by %zu\n", line, most);
        CHECK(begins || counts.connections == (kind == KEPT));
        CHECK_INT(counts.bad_lines, kind == BAD);
        CHECK(begins || qt_tls_log_in_use(log) == (kind == KEPT));
        qt_tls_lines_end(&lines);
        qt_tls_log_free(log);
    }
}

static void secrets_of_wrong_length_are_bad_lines(void)
{
    static const char *const LABELS[] = {"CLIENT_RANDOM", "CLIENT_TRAFFIC_SECRET_0", "SERVER_TRAFFIC_SECRET_0"};
    char line[ROOM];
    for (size_t label = 0; label < 3; label++)
        for (size_t random = 0; random < 40; random++)
            for (size_t secret = 0; secret < 70; secret += random == RANDOM ? 1 : 16) {
                int fits = random == RANDOM && (secret == 48 || (secret == 32 && label > 0));
                expect(line_of(line, LABELS[label], random, secret, ""), fits ? KEPT : BAD);
            }
}

static void unknown_labels_are_skipped(void)
{
    static const struct {
        const char *label;
        enum kind kind;
    } CASES[] = {
        {"CLIENT_RANDOM", KEPT},
        {"CLIENT_RANDO", PASSED_OVER},
        {"CLIENT_RANDOM_", PASSED_OVER},
        {"CLIENT_TRAFFIC_SECRET_1", PASSED_OVER},
        {"EXPORTER_SECRET", PASSED_OVER},
        {"RSA", PASSED_OVER},
        {"A", PASSED_OVER},
        {"Z9_0", PASSED_OVER},
        {"", PASSED_OVER}, /* the line begins with a blank: no label */
        {"client_random", BAD},
        {"CLIENT-RANDOM", BAD},
        {"CLIENT_RANDOM:", BAD},
        {"@", BAD},
        {"[", BAD},
        {"/", BAD},
        {"#CLIENT_RANDOM", PASSED_OVER},
    };
    char line[ROOM];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        expect(line_of(line, CASES[i].label, RANDOM, 48, ""), CASES[i].kind);
    expect("", PASSED_OVER);
    expect("   \r", PASSED_OVER);
    expect("#", PASSED_OVER);
    expect("CLIENT_RANDOM", BAD);
    expect("CLIENT_RANDOM ", BAD);
    expect("no key log at all", BAD);
}

static void only_blanks_may_follow_a_secret(void)
{
    static const struct {
        const char *behind;
        enum kind kind;
    } CASES[] = {{"\r", KEPT}, {"  ", KEPT}, {" \r \r", KEPT}, {" x", BAD}, {"\t", BAD}, {"0", BAD}, {" 00", BAD}};
    char line[ROOM];
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        expect(line_of(line, "CLIENT_RANDOM", RANDOM, 48, CASES[i].behind), CASES[i].kind);
    for (size_t secret = 31; secret < 34; secret++) { /* only the client random, with or without a blank */
        line_of(line, "CLIENT_RANDOM", secret, 0, "");
        expect(line, BAD);
        line[strlen(line) - 1] = '\0';
        expect(line, BAD);
    }
}

static void non_hexadecimal_digit_makes_a_line_bad(void)
{
    char line[ROOM];
    for (int byte = 1; byte < 256; byte++)
        for (int place = 0; place < 4; place++) {
            static const size_t PLACES[] = {14, 15, 14 + 64 + 1, 14 + 64 + 1 + 95};
            int is = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
            if (byte == '\n' || (place == 3 && (byte == ' ' || byte == '\r')))
                continue;
            line_of(line, "CLIENT_RANDOM", RANDOM, 48, "");
            line[PLACES[place]] = (char)byte;
            expect(line, is ? KEPT : BAD);
        }
}

/* An overlong line is bad, whatever it contains. The next line is read. */
static void overlong_line_is_bad(void)
{
    char line[ROOM];
    for (size_t n = QT_TLS_LINE_MAX - 2; n <= QT_TLS_LINE_MAX + 2; n++) {
        line_of(line, "CLIENT_RANDOM", RANDOM, 48, "");
        size_t has = strlen(line);
        memset(line + has, ' ', n - has);
        line[n] = '\0';
        expect(line, n <= QT_TLS_LINE_MAX ? KEPT : BAD);
    }
    char text[2 * ROOM];
    struct qt_tls_log *log = qt_tls_log_new();
    struct qt_tls_lines lines = {.n = 0};
    struct qt_tls_log_counts counts;
    memset(line, 'A', ROOM - 1);
    line[ROOM - 1] = '\0';
    size_t n = (size_t)sprintf(text, "%s\n", line);
    line_of(text + n, "CLIENT_RANDOM", RANDOM, 48, "\n");
    for (size_t at = 0; at < strlen(text); at++)
        CHECK_INT(qt_tls_log_take(log, &lines, text + at, 1), 0);
    qt_tls_log_count(log, &counts);
    CHECK_INT(counts.connections, 1);
    CHECK_INT(counts.bad_lines, 1);
    qt_tls_log_free(log);
}

/* A last line without a newline counts as a secret as soon as the secret is complete. */
static void last_line_needs_no_newline(void)
{
    char line[ROOM];
    line_of(line, "SERVER_TRAFFIC_SECRET_0", RANDOM, 48, "");
    for (size_t n = 0; n <= strlen(line); n++) {
        struct qt_tls_log *log = qt_tls_log_new();
        struct qt_tls_lines lines = {.n = 0};
        struct qt_tls_log_counts counts;
        CHECK_INT(qt_tls_log_take(log, &lines, line, n), 0);
        qt_tls_log_count(log, &counts);
        size_t secret = n > 24 + 64 + 1 ? n - (24 + 64 + 1) : 0;
        CHECK_INT(counts.connections, secret == 64 || secret == 96);
        CHECK_INT(counts.bad_lines, 0);
        qt_tls_log_free(log);
    }
}

int main(void)
{
    RUN(secrets_of_wrong_length_are_bad_lines);
    RUN(unknown_labels_are_skipped);
    RUN(only_blanks_may_follow_a_secret);
    RUN(non_hexadecimal_digit_makes_a_line_bad);
    RUN(overlong_line_is_bad);
    RUN(last_line_needs_no_newline);
    return 0;
}
