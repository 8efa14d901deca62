/* SPDX-License-Identifier: Apache-2.0 */
/* TLS key logs: late secrets, waiting records, hostile files, and forgotten secrets. */
#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "tls_told.h"

static void put(const char *path, const char *text, int flags)
{
    int fd = open(path, O_WRONLY | O_CREAT | flags, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* Records wait for secrets that arrive later, line by line. The secrets arrive in the same file or in a new file of the
 * same name. */
static void records_wait_for_late_secrets(void)
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
        if (how == 0) { /* appended to the file; the second line has no newline yet */
            put(path, "CLIENT_TRAFFIC_SECRET_0 " RANDOM " " CLIENT_SECRET "\nSERVER_TRAFFIC", O_APPEND);
            usleep(30000);
            say(t, sides, 0, "more ");
            CHECK_INT(told.records, 0);
            put(path, "_SECRET_0 " RANDOM " " SERVER_SECRET, O_APPEND);
        } else if (how == 1) { /* a new file of the same name */
            put(aside, KEY_LOG, O_TRUNC);
            CHECK(rename(aside, path) == 0);
        } else { /* truncated and rewritten */
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

/* The amount of waiting data is limited. A connection that exceeds the limit ends and counts as a connection without
 * keys. */
static void amount_of_waiting_data_is_limited(void)
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

/* A record may exceed the limit of waiting data. If the secrets are in the key log when this record arrives, this
 * record and all waiting records are decoded. */
static void secrets_that_arrive_at_the_limit_are_used(void)
{
    char path[] = "/tmp/qt-test-keys-XXXXXX";
    struct side sides[2];
    close(mkstemp(path));
    struct qt_tls_log *log = qt_tls_log_new();
    CHECK_INT(qt_tls_log_open(log, path, 1, NULL), QT_OK);
    struct qt_tls *t = begin(log, sides);
    say(t, sides, 0, "first ");
    for (size_t waiting = 28; waiting + 22 <= (size_t)1 << 20; waiting += 22)
        say(t, sides, 0, "");
    CHECK_INT(qt_tls_end_of(t), QT_TLS_GOES_ON);
    CHECK_INT(qt_tls_waits(t), 1);
    put(path, KEY_LOG, O_APPEND);
    say(t, sides, 0, "last");
    say(t, sides, 0, " and behind");
    CHECK_INT(told.records, 3);
    CHECK(memcmp(told.text[0], "first last and behind", 21) == 0);
    qt_tls_free(t);
    qt_tls_log_free(log);
    unlink(path);
}

/* A connection waits from its first record until its secrets arrive or the wait is given up. qt_tls_look then decodes
 * the waiting records. */
static void connection_waits_until_its_secrets_arrive(void)
{
    char path[] = "/tmp/qt-test-keys-XXXXXX", text[4000];
    struct side sides[2];
    close(mkstemp(path));
    struct qt_tls_log *log = qt_tls_log_new();
    CHECK_INT(qt_tls_log_open(log, path, 1, NULL), QT_OK);
    struct qt_tls *t = begin(log, sides);
    CHECK_INT(qt_tls_waits(t), 0);
    say(t, sides, 0, "early");
    CHECK_INT(qt_tls_waits(t), 1);
    CHECK_INT(qt_tls_look(t), QT_OK);
    CHECK_INT(qt_tls_waits(t), 1);
    CHECK_INT(told.records, 0);
    put(path, KEY_LOG, O_APPEND);
    for (int i = 0; i < 100 && told.records == 0; i++) {
        usleep(30000);
        CHECK_INT(qt_tls_look(t), QT_OK);
    }
    CHECK_INT(told.records, 1);
    CHECK_INT(qt_tls_waits(t), 0);
    say(t, sides, 1, "late");
    CHECK_INT(told.records, 2);
    CHECK_INT(qt_tls_waits(t), 0);
    qt_tls_free(t);
    qt_tls_log_free(log);

    put(path, "", O_TRUNC);
    log = qt_tls_log_new();
    CHECK_INT(qt_tls_log_open(log, path, 1, NULL), QT_OK);
    t = begin(log, sides);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 400; i++) {
        say(t, sides, 0, text);
        CHECK_INT(qt_tls_waits(t), qt_tls_end_of(t) == QT_TLS_GOES_ON);
    }
    CHECK_INT(qt_tls_waits(t), 0);
    CHECK_INT(told.records, 0);
    qt_tls_free(t);
    qt_tls_log_free(log);
    unlink(path);
}

static void invalid_key_logs_are_reported(void)
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

static void oldest_secrets_are_forgotten(void)
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

static void null_log_can_be_freed(void) { qt_tls_log_free(NULL); }

int main(void)
{
    RUN(records_wait_for_late_secrets);
    RUN(amount_of_waiting_data_is_limited);
    RUN(secrets_that_arrive_at_the_limit_are_used);
    RUN(connection_waits_until_its_secrets_arrive);
    RUN(invalid_key_logs_are_reported);
    RUN(oldest_secrets_are_forgotten);
    RUN(null_log_can_be_freed);
    return 0;
}
