/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites CSV with backslash escapes to CSV without backslash escapes. All values are preserved, and no input causes a
 * crash or a hang. */
#include "querytape.h"

#include <unistd.h>

#include "check.h"

enum { ROOM = 1 << 18, ROWS = 200 };

static char given[ROOM], expected[ROOM];
static size_t n_given, n_expected;

static void add(char *to, size_t *n, const char *bytes, size_t count)
{
    CHECK(*n + count <= ROOM);
    memcpy(to + *n, bytes, count);
    *n += count;
}

/* Adds a value of random bytes, in the server's format and in the expected output. */
static void add_value(char separator, char quote, int last)
{
    static const char bytes[] = "ab\"\\\n\t,;\0\r N";
    size_t length = (size_t)rand() % 400;
    if (rand() % 5 == 0)
        add(given, &n_given, "\\N", 2);
    else {
        add(given, &n_given, &quote, quote != 0);
        add(expected, &n_expected, "\"", 1);
        for (size_t i = 0; i < length; i++) {
            char c = bytes[(size_t)rand() % (sizeof bytes - 1)];
            c = c == '\r' && quote == 0 ? 'a' : c; /* without quotes the CR is not escaped and would end the line */
            int escaped = c == '\\' || c == separator || c == '\n' || c == '\r' || (quote != 0 && c == quote);
            add(given, &n_given, c == 0 ? "\\0" : "\\", c == 0 ? 2 : escaped);
            add(given, &n_given, c == '\r' ? "r" : &c, c != 0);
            add(expected, &n_expected, "\"", c == '"');
            add(expected, &n_expected, &c, 1);
        }
        add(given, &n_given, &quote, quote != 0);
        add(expected, &n_expected, "\"", 1);
    }
    add(given, &n_given, last ? "\n" : &separator, 1);
    add(expected, &n_expected, last ? "\n" : ",", 1);
}

/* Rewrites `given` to `out` and returns the length. */
static size_t rewritten(char separator, char quote, char *out, int *code)
{
    char path[] = "/tmp/qt-csv-XXXXXX", copy[] = "/tmp/qt-csv-XXXXXX";
    struct qt_error error;
    int file = mkstemp(path), fd = mkstemp(copy);
    CHECK(file >= 0 && fd >= 0 && write(file, given, n_given) == (ssize_t)n_given);
    struct qt_input *in = qt_input_open(path, &error);
    CHECK(in != NULL);
    *code = qt_input_rewrite_csv(in, fd, separator, quote, &error);
    qt_input_close(in);
    ssize_t n = pread(fd, out, ROOM, 0);
    CHECK(n >= 0);
    close(file);
    close(fd);
    unlink(path);
    unlink(copy);
    return (size_t)n;
}

static void escaped_values_are_rewritten_as_csv(void)
{
    static char out[ROOM];
    for (int seed = 1; seed <= 20; seed++) {
        char separator = ",\t;"[seed % 3], quote = seed % 2 ? '"' : 0;
        int code;
        srand((unsigned)seed);
        n_given = n_expected = 0;
        for (int row = 0; row < ROWS; row++) {
            add_value(separator, quote, 0);
            add_value(separator, quote, 1);
        }
        size_t n = rewritten(separator, quote, out, &code);
        CHECK_INT(code, QT_OK);
        CHECK(n == n_expected && memcmp(out, expected, n) == 0);
    }
}

static void random_bytes_give_a_result_or_a_format_error(void)
{
    static const char bytes[] = "\"\\\n,a\rN";
    static char out[ROOM];
    for (int seed = 1; seed <= 300; seed++) {
        int code;
        srand((unsigned)seed);
        for (n_given = 0; n_given < (size_t)seed; n_given++)
            given[n_given] = bytes[(size_t)rand() % (sizeof bytes - 1)];
        rewritten(',', seed % 2 ? '"' : 0, out, &code);
        CHECK(code == QT_OK || (seed % 2 && code == QT_EFORMAT));
    }
}

int main(void)
{
    RUN(escaped_values_are_rewritten_as_csv);
    RUN(random_bytes_give_a_result_or_a_format_error);
    return 0;
}
