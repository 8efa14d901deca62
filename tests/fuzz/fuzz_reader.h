/* SPDX-License-Identifier: Apache-2.0 */
/* Reads any bytes as a file of one kind to its end. All batches are read and discarded. A fuzz target for a log defines
 * OPEN_LOG before it includes this header. */
#ifndef QT_FUZZ_READER_H
#define QT_FUZZ_READER_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arrow_abi.h"
#include "querytape.h"

static inline void drain(int (*take)(struct qt_reader *, struct ArrowArrayStream *, struct qt_error *),
                         struct qt_reader *r)
{
    struct ArrowArrayStream stream;
    struct qt_error error;
    uint64_t rows;
    if (take(r, &stream, &error) != QT_OK)
        return;
    (void)qt_drain(&stream, &rows, &error);
    qt_stream_release(&stream);
}

static inline int read_as(const uint8_t *data, size_t size,
                          struct qt_reader *(*open_file)(const char *const *, struct qt_error *))
{
    char path[64], described[4096];
    const char *paths[1] = {path};
    struct qt_error error = {0};
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct qt_reader *reader = open_file(paths, &error);
    if (reader != NULL) {
        struct qt_reader_stats stats = {.finished = 0};
        for (int parts = 0; !stats.finished && parts < 10000; parts++) {
            struct ArrowArrayStream stream;
            uint64_t rows;
            if (qt_reader_part(reader, 64, 1 << 16, &stream, &error) != QT_OK)
                break;
            int code = qt_drain(&stream, &rows, &error);
            qt_stream_release(&stream);
            if (code != QT_OK)
                break;
            qt_reader_stats(reader, &stats);
        }
        drain(qt_reader_problems, reader);
        drain(qt_reader_sessions, reader);
        qt_reader_describe(reader, described, sizeof described);
        qt_reader_close(reader);
    }
    close(fd);
    return 0;
}

#ifdef OPEN_LOG
static struct qt_reader *open_log(const char *const *paths, struct qt_error *error)
{
    struct qt_log_options options = {0};
    return OPEN_LOG(paths, 1, &options, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return read_as(data, size, open_log); }
#endif

#endif
