/* SPDX-License-Identifier: Apache-2.0 */
/* Out-of-memory errors, interrupted reads, short reads and failed reads. For each failing call, every reader reports
 * the failure or gives its normal output. No reader accesses memory beyond an allocation or reads uninitialized
 * memory. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"
#include "failing.h"
#include "sources.h"

/* Compares two outputs. A problem is still counted if memory for its text is missing. Parameters are reported as
 * unparsed if memory for them is missing. The text of a server error may be missing. */
static void check_same(const struct source *source, long number, const struct told *a, const struct told *b)
{
    int same = a->rows[0] == b->rows[0] && a->rows[1] <= b->rows[1] && a->rows[2] == b->rows[2] &&
               (source->is_packets || a->values[0] == b->values[0]) && a->values[2] == b->values[2] &&
               a->events == b->events && a->problems == b->problems && a->not_understood == b->not_understood &&
               a->bytes_parsed == b->bytes_parsed && strcmp(a->described, b->described) == 0;
    if (same || (a->problems > b->problems && a->rows[0] == b->rows[0]))
        return;
    fprintf(stderr,
            "%s, call %ld: %" PRIu64 ", %" PRIu64 ", %" PRIu64 " rows and nothing said; without a failure %" PRIu64
            ", %" PRIu64 ", %" PRIu64 "\n%s\n%s\n",
            source->path, number, a->rows[0], a->rows[1], a->rows[2], b->rows[0], b->rows[1], b->rows[2], a->described,
            b->described);
    exit(1);
}

static void each_call_of(const struct source *source, const char *path, enum failing_kind kind, int code_wanted,
                         const char *word, long step)
{
    static struct told whole, found;
    failing_set(kind, 0);
    read_source(source, path, 40, &whole);
    long calls = failing_stop();
    CHECK_INT(whole.code, QT_OK);
    CHECK(whole.rows[0] > 0 && calls > 0);
    for (long number = 1; number <= calls; number += step * (long)case_step()) {
        failing_set(kind, number);
        read_source(source, path, 40, &found);
        failing_stop();
        if (found.code == QT_OK)
            check_same(source, number, &found, &whole);
        else if ((found.code != code_wanted && found.code != QT_EIO) || strstr(found.message, word) == NULL) {
            fprintf(stderr, "%s, call %ld of %ld: code %d, '%s'\n", path, number, calls, found.code, found.message);
            exit(1);
        }
    }
}

static void each_call_fails(enum failing_kind kind, int code_wanted, const char *word, long step)
{
    for (size_t i = 0; i < N_SOURCES; i++)
        each_call_of(&SOURCES[i], SOURCES[i].path, kind, code_wanted, word, step);
}

/* A large statement with secrets, between ordinary statements of a log. The statement needs new buffers. */
static void failed_allocation_in_a_large_statement_is_reported(void)
{
    static const char *const BEFORE[] = {
        [0] = "# Time: 2024-06-10T08:13:20.125123Z\n# User@Host: a[a] @ h []  Id: 7\n# Query_time: 1.5  Lock_time: 0.1 "
              "Rows_sent: 1  Rows_examined: 2\nuse shop;\nSET timestamp=1718007200;\n",
        [1] = "2024-06-10T08:13:20.125123Z\t    7 Query\t",
        [3] = "20240610 08:13:20,db1,app,localhost,7,6,QUERY,shop,'",
    };
    static const char *const BEHIND[] = {[0] = ";\n", [1] = "\n", [3] = "',0\n"};
    static char blanks[600000];
    char path[] = "/tmp/qt-large-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    memset(blanks, 'x', sizeof blanks);
    for (size_t i = 0; i < 4; i++) {
        if (BEFORE[i] == NULL)
            continue;
        FILE *out = fopen(path, "w");
        CHECK(out != NULL);
        for (size_t size = 100; size <= sizeof blanks; size = size == 100 ? sizeof blanks : size + 1)
            fprintf(out, "%sSELECT AES_ENCRYPT(a, %s%.*s%s), b FROM t%s", BEFORE[i], i == 3 ? "\\'" : "'", (int)size,
                    blanks, i == 3 ? "\\'" : "'", BEHIND[i]);
        CHECK_INT(fclose(out), 0);
        each_call_of(&SOURCES[i], path, FAILING_MEMORY, QT_ENOMEM, "memory", 4);
    }
    close(fd);
    unlink(path);
}

static void single_failed_allocation_is_reported(void) { each_call_fails(FAILING_MEMORY, QT_ENOMEM, "memory", 1); }

static void permanent_lack_of_memory_is_reported(void) { each_call_fails(FAILING_ALL_MEMORY, QT_ENOMEM, "memory", 3); }

static void interrupted_read_is_repeated(void) { each_call_fails(FAILING_INTERRUPTED, QT_OK, "never said", 1); }

static void failed_read_is_reported(void) { each_call_fails(FAILING_READ, QT_EIO, "Input/output error", 1); }

static void check_same_events_with(enum failing_kind kind)
{
    static struct told whole, found;
    for (size_t i = 0; i < N_SOURCES; i++) {
        read_source(&SOURCES[i], SOURCES[i].path, 40, &whole);
        failing_set(kind, 0);
        read_source(&SOURCES[i], SOURCES[i].path, 40, &found);
        failing_stop();
        CHECK_INT(found.code, QT_OK);
        check_same(&SOURCES[i], 0, &found, &whole);
    }
}

static void reads_of_one_byte_give_the_same_events(void) { check_same_events_with(FAILING_SHORT); }

static void bytes_after_an_allocation_are_not_accessed(void) { check_same_events_with(FAILING_GUARD); }

int main(void)
{
    RUN(single_failed_allocation_is_reported);
    RUN(failed_allocation_in_a_large_statement_is_reported);
    RUN(permanent_lack_of_memory_is_reported);
    RUN(interrupted_read_is_repeated);
    RUN(failed_read_is_reported);
    RUN(reads_of_one_byte_give_the_same_events);
    RUN(bytes_after_an_allocation_are_not_accessed);
    return 0;
}
