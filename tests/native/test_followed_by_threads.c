/* SPDX-License-Identifier: Apache-2.0 */
/* A log grows, is renamed and is truncated. Meanwhile one thread takes parts and another thread reads statistics. No
 * event is lost, and the threads have no data races (make tsan). */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arrow_stream.h"
#include "check.h"
#include "querytape.h"
#include "reader/follow.h"

#define EVENTS 3000
#define BURST 50

struct followed {
    char folder[64], path[96];
    struct qt_reader *reader;
    atomic_int written, over;
    uint64_t rows;
};

/* Waits until the reader has read all written events except the last, which may be incomplete. */
static void wait_until_read(struct followed *f, int written)
{
    struct qt_reader_stats stats;
    do {
        usleep(2000);
        qt_reader_stats(f->reader, &stats);
    } while (stats.events + 1 < (uint64_t)written);
}

static void write_events(FILE *out, int first, int n)
{
    for (int i = first; i < first + n; i++)
        fprintf(out,
                "# Time: 2024-06-10T06:%02d:%02d.%06dZ\n# User@Host: app[app] @ localhost []  Id: %5d\n"
                "# Query_time: 0.000010  Lock_time: 0.000001 Rows_sent: 0  Rows_examined: 0\n"
                "SET timestamp=%d;\nSELECT %d;\n",
                13 + i / 6000, i / 100 % 60, i % 100 * 10000, i % 7 + 1, 1718000000 + i / 100, i);
    fflush(out);
}

/* Writes bursts of events. After a burst, the log stays unchanged, is renamed and replaced, or is copied and
 * truncated. */
static void *write_log(void *arg)
{
    struct followed *f = arg;
    FILE *out = fopen(f->path, "a");
    char old[128], command[320];
    int turns = 0;

    CHECK(out != NULL);
    for (int n = 0; n < EVENTS; n += BURST) {
        write_events(out, n, BURST);
        if (n % 1000 == 500) {
            snprintf(old, sizeof old, "%s.%d", f->path, ++turns);
            CHECK_INT(rename(f->path, old), 0);
            fclose(out);
            out = fopen(f->path, "a");
            CHECK(out != NULL);
            write_events(out, n += BURST, BURST);
            wait_until_read(f, n + BURST);
        } else if (n % 1000 == 950) {
            wait_until_read(f, n + BURST);
            snprintf(command, sizeof command, "cp %s %s.copy", f->path, f->path);
            CHECK_INT(system(command), 0);
            CHECK_INT(truncate(f->path, 0), 0);
            usleep(300000); /* regrowth to the old size between two checks would hide the truncation */
        }
    }
    fclose(out);
    atomic_store(&f->written, 1);
    return NULL;
}

/* Polls statistics like the program's progress display. */
static void *ask(void *arg)
{
    struct followed *f = arg;
    struct qt_reader_stats stats;
    char text[4096];

    while (!atomic_load(&f->over)) {
        qt_reader_stats(f->reader, &stats);
        qt_reader_describe(f->reader, text, sizeof text);
        if (atomic_load(&f->written) && stats.events >= EVENTS - 1)
            qt_reader_stop(f->reader);
        usleep(1000);
    }
    return NULL;
}

static uint64_t take(struct followed *f, int (*of)(struct qt_reader *, struct ArrowArrayStream *, struct qt_error *))
{
    struct ArrowArrayStream stream;
    struct qt_error error = {0};
    uint64_t rows = 0;
    CHECK_INT(of(f->reader, &stream, &error), QT_OK);
    CHECK_INT(qt_drain(&stream, &rows, &error), QT_OK);
    stream.release(&stream);
    return rows;
}

static int part(struct qt_reader *reader, struct ArrowArrayStream *out, struct qt_error *error)
{
    return qt_reader_part(reader, 500, 1 << 20, out, error);
}

static void log_can_be_followed_while_it_is_written(void)
{
    struct followed f = {.folder = "/tmp/qt-follow-XXXXXX"};
    struct qt_error error = {0};
    pthread_t writer, asker;
    struct qt_reader_stats stats;
    char command[128];

    CHECK(mkdtemp(f.folder) != NULL);
    snprintf(f.path, sizeof f.path, "%s/slow.log", f.folder);
    fclose(fopen(f.path, "a"));
    const char *paths[] = {f.path};
    struct qt_log_options options = {.follow = 1, .part_ns = 5000000};
    f.reader = qt_slowlog_open(paths, 1, &options, &error);
    CHECK(f.reader != NULL);
    CHECK_INT(pthread_create(&writer, NULL, write_log, &f), 0);
    CHECK_INT(pthread_create(&asker, NULL, ask, &f), 0);
    do {
        f.rows += take(&f, part);
        CHECK_INT(take(&f, qt_reader_problems), 0);
        take(&f, qt_reader_sessions);
        qt_reader_stats(f.reader, &stats);
    } while (!stats.finished);
    atomic_store(&f.over, 1);
    pthread_join(writer, NULL);
    pthread_join(asker, NULL);
    CHECK_INT(f.rows, EVENTS);
    qt_reader_close(f.reader);
    snprintf(command, sizeof command, "rm -r %s", f.folder);
    CHECK_INT(system(command), 0);
}

/* ---- truncation at any moment ---- */

#define TURNS 2000
#define NUMBER 9 /* bytes of a log line: eight digits and a newline */

struct turned {
    char folder[64], path[96], copy[112];
    struct qt_follow *follow;
    atomic_uint turns, read, over;
    unsigned wrong;
};

static void append(const char *path, unsigned *next, unsigned n)
{
    FILE *out = fopen(path, "a");
    CHECK(out != NULL);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "%08u\n", (*next)++);
    fclose(out);
}

static void copy_file(const char *from, const char *to)
{
    char piece[4096];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    CHECK(in != NULL && out != NULL);
    size_t n = fread(piece, 1, sizeof piece, in);
    CHECK(n < sizeof piece);
    CHECK_INT(fwrite(piece, 1, n, out), n);
    fclose(in);
    fclose(out);
}

/* Truncates and rewrites the log as fast as possible. The new log is often longer than the old log, so only the bytes
 * of the new log reveal the truncation. */
static void *truncate_often(void *arg)
{
    struct turned *t = arg;
    unsigned next = 0;
    append(t->path, &next, 1);
    for (unsigned turn = 1; turn <= TURNS; turn++) {
        while (atomic_load(&t->read) < next)
            sched_yield();
        copy_file(t->path, t->copy);
        CHECK_INT(truncate(t->path, 0), 0);
        append(t->path, &next, turn % 2 ? 200 : 1);
        while (atomic_load(&t->turns) < turn)
            sched_yield();
    }
    while (atomic_load(&t->read) < next)
        sched_yield();
    atomic_store(&t->over, 1);
    return NULL;
}

static unsigned number_of(const char *json, const char *name)
{
    const char *at = strstr(json, name);
    CHECK(at != NULL);
    return (unsigned)strtoul(at + strlen(name) + 2, NULL, 10);
}

/* Reads continuously. Each number must follow the previous number. */
static void read_often(struct turned *t)
{
    char text[4096], said[512], line[NUMBER + 1] = "";
    size_t have = 0, got = 0;
    struct qt_error error = {0};
    while (!atomic_load(&t->over) && t->wrong == 0) {
        enum qt_follow_read what = qt_follow_read(t->follow, text, sizeof text, &got, &error);
        t->wrong += what != QT_FOLLOW_BYTES && what != QT_FOLLOW_NOTHING;
        for (size_t i = 0; i < got; i++) {
            line[have++] = text[i];
            if (have < NUMBER)
                continue;
            t->wrong += (unsigned)strtoul(line, NULL, 10) != atomic_load(&t->read) || line[NUMBER - 1] != '\n';
            atomic_fetch_add(&t->read, 1);
            have = 0;
        }
        struct qt_json json;
        qt_json_begin(&json, said, sizeof said);
        qt_follow_describe(t->follow, &json);
        qt_json_end(&json);
        atomic_store(&t->turns, number_of(said, "\"truncations\""));
    }
}

static void log_can_be_truncated_while_it_is_followed(void)
{
    struct turned t = {.folder = "/tmp/qt-turned-XXXXXX"};
    struct qt_error error = {0};
    pthread_t writer;
    CHECK(mkdtemp(t.folder) != NULL);
    snprintf(t.path, sizeof t.path, "%s/log", t.folder);
    snprintf(t.copy, sizeof t.copy, "%s.1", t.path);
    fclose(fopen(t.path, "a"));
    t.follow = qt_follow_open(t.path, 0, &error);
    CHECK(t.follow != NULL);
    CHECK_INT(pthread_create(&writer, NULL, truncate_often, &t), 0);
    read_often(&t);
    CHECK_INT(t.wrong, 0);
    pthread_join(writer, NULL);
    qt_follow_close(t.follow);
    CHECK_INT(unlink(t.path) | unlink(t.copy) | rmdir(t.folder), 0);
}

int main(void)
{
    RUN(log_can_be_truncated_while_it_is_followed);
    RUN(log_can_be_followed_while_it_is_written);
    return 0;
}
