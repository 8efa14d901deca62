/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   files -> input.c -> buffer -> slowlog_grammar.c -> one event
 *                                                        |-> normalize.c: digest, class, redaction
 *                                                        |-> sessions.c: session and seq of its thread id
 *                                                        v
 *                                              columns of one batch + event_times --timeline.c--> start_ns --> Arrow
 *
 * A batch closes at a change of second (whole-second logs get their start times second by second) and before a server
 * restart, so the event that would belong to the next batch is not consumed: it is read again then. Memory: the buffer
 * (the largest event, 512 KiB at least), the batches that reader.c holds, and sessions.c's entries.
 */
#include <stdlib.h>

#include "slowlog/slowlog_context.h"
#include "slowlog/slowlog_events.h"

static int read_batch(struct qt_reader *reader, struct qt_error *error)
{
    struct qt_slowlog *s = (struct qt_slowlog *)reader;
    return qt_log_end_batch(&s->log, qt_slow_read_events(s, error));
}

static void describe(struct qt_reader *reader, struct qt_json *json)
{
    struct qt_slowlog *s = (struct qt_slowlog *)reader;
    int64_t zone;
    qt_log_describe_version(&s->log, json);
    if (qt_slow_find_zone(s, &zone))
        qt_json_int(json, "timezone_ns", zone);
    qt_json_int(json, "restarts", (int64_t)atomic_load(&s->restarts));
    qt_json_int(json, "rate_limit", atomic_load(&s->rate_limit));
    qt_json_int(json, "rate_by_query", atomic_load(&s->rate_by_query));
    qt_json_int(json, "has_extra", atomic_load(&s->has_extra));
}

static void close_log(struct qt_reader *reader)
{
    struct qt_slowlog *s = (struct qt_slowlog *)reader;
    qt_bytes_free(&s->use);
    qt_log_close(&s->log);
}

static const struct qt_reader_kind kind = {read_batch, describe, close_log, NULL};

struct qt_reader *qt_slowlog_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *options,
                                  struct qt_error *error)
{
    struct qt_slowlog *s = qt_log_open(sizeof *s, &kind, "a MySQL or MariaDB slow log", paths, n_paths, options, error);
    return s != NULL ? &s->log.reader : NULL;
}

int qt_slowlog_first_time(const char *path, int64_t *out_ns, struct qt_error *error)
{
    struct qt_log_options options = {0};
    struct qt_reader *reader = qt_slowlog_open(&path, 1, &options, error);
    if (reader == NULL)
        return error != NULL ? error->code : QT_EIO;
    int code = qt_slow_peek_time((struct qt_slowlog *)reader, out_ns, error);
    qt_reader_close(reader);
    return code;
}
