/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   files -> input.c -> buffer -> slowlog_grammar.c -> one event
 *                                                        |-> normalize.c: digest, class, redaction
 *                                                        |-> sessions.c: session and seq of its thread id
 *                                                        v
 *                                              columns of one batch + moments --timeline.c--> start_ns --> Arrow
 *
 * A batch closes at a change of second (whole-second logs are laid out second by second) and before a server restart, so
 * the event that would belong to the next batch is not consumed: it is read again then. Memory: the buffer (the largest
 * event, 512 KiB at least), the batches that reader.c holds, and sessions.c's entries.
 */
#include <stdlib.h>
#include <string.h>

#include "slowlog_private.h"

static int read_batch(struct qt_reader *reader, struct qt_error *error)
{
    struct qt_slowlog *s = (struct qt_slowlog *)reader;
    int code = qt_slow_read_events(s, error);
    if (code == QT_OK)
        qt_log_lay(&s->log);
    return code;
}

static void describe(struct qt_reader *reader, struct qt_json *json)
{
    struct qt_slowlog *s = (struct qt_slowlog *)reader;
    int64_t zone;
    pthread_mutex_lock(&s->lock);
    size_t len = strlen(s->server_version);
    qt_json_text(json, "server_version", len > 0 ? s->server_version : NULL, len);
    if (qt_slow_zone(s, &zone))
        qt_json_int(json, "timezone_ns", zone);
    pthread_mutex_unlock(&s->lock);
    qt_json_int(json, "restarts", (int64_t)atomic_load(&s->restarts));
    qt_json_int(json, "rate_limit", atomic_load(&s->rate_limit));
    qt_json_int(json, "rate_by_query", atomic_load(&s->rate_by_query));
    qt_json_int(json, "has_extra", atomic_load(&s->has_extra));
}

static void close_log(struct qt_reader *reader)
{
    struct qt_slowlog *s = (struct qt_slowlog *)reader;
    free(s->use.p);
    qt_log_done(&s->log);
    if (s->has_lock)
        pthread_mutex_destroy(&s->lock);
    free(s);
}

static const struct qt_reader_kind kind = {read_batch, describe, close_log, NULL};

struct qt_reader *qt_slowlog_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *options,
                                  struct qt_error *error)
{
    struct qt_slowlog *s = calloc(1, sizeof *s);
    if (s == NULL) {
        qt_fail(error, QT_ENOMEM, "out of memory");
        return NULL;
    }
    int code = qt_log_init(&s->log, &kind, "a MySQL or MariaDB slow log", paths, n_paths, options, error);
    if (code == QT_OK && !(s->has_lock = pthread_mutex_init(&s->lock, NULL) == 0))
        code = qt_fail(error, QT_ENOMEM, "out of memory");
    if (code != QT_OK) {
        close_log(&s->log.reader);
        return NULL;
    }
    return &s->log.reader;
}

int qt_slow_next_file(struct qt_slowlog *s, struct qt_error *error)
{
    int more = qt_log_next_file(&s->log, error);
    if (more > 0) {
        s->header_known = 0;
        s->use.len = 0;
        s->has_use = 0;
    }
    return more;
}

int qt_slowlog_first_time(const char *path, int64_t *out_ns, struct qt_error *error)
{
    struct qt_log_options options = {0, 0, 0};
    struct qt_reader *reader = qt_slowlog_open(&path, 1, &options, error);
    if (reader == NULL)
        return error != NULL ? error->code : QT_EIO;
    int code = qt_slow_peek_time((struct qt_slowlog *)reader, out_ns, error);
    qt_reader_close(reader);
    return code;
}
