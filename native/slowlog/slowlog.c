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
 * event, 4 MiB at least), one batch, and sessions.c's entries.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "input.h"
#include "slowlog_private.h"

#define FIRST_BUFFER ((size_t)4 << 20)
#define LARGEST_EVENT ((size_t)1100 << 20) /* max_allowed_packet ends at 1 GiB */
#define SESSIONS_KEPT (4u << 20)

struct qt_slowlog *qt_slowlog_open(const char *const *paths, int32_t n_paths, const struct qt_slowlog_options *options,
                                   struct qt_error *error)
{
    struct qt_slowlog *s = calloc(1, sizeof *s);
    if (s == NULL) {
        qt_fail(error, QT_ENOMEM, "out of memory");
        return NULL;
    }
    s->options = *options;
    s->line = 1;
    s->n_paths = n_paths;
    s->paths = calloc((size_t)n_paths + 1, sizeof *s->paths);
    s->buffer = malloc(FIRST_BUFFER);
    s->room = FIRST_BUFFER;
    s->normalizer = qt_normalizer_new();
    qt_timeline_init(&s->timeline);
    int bad = s->paths == NULL || s->buffer == NULL || s->normalizer == NULL ||
              qt_sessions_init(&s->sessions, SESSIONS_KEPT) != 0 || qt_problems_init(&s->problems) != 0 ||
              qt_slow_batch_init(&s->batch) != 0;
    for (int32_t i = 0; i < n_paths && !bad; i++)
        bad = (s->paths[i] = strdup(paths[i])) == NULL;
    if (bad) {
        qt_fail(error, QT_ENOMEM, "out of memory");
        qt_slowlog_close(s);
        return NULL;
    }
    atomic_store(&s->first_ns, INT64_MAX);
    atomic_store(&s->last_ns, INT64_MIN);
    for (int32_t i = 0; i < n_paths; i++) { /* a missing file is said before anything is written */
        struct qt_input *in = qt_input_open(paths[i], error);
        if (in == NULL) {
            qt_slowlog_close(s);
            return NULL;
        }
        if (i == 0)
            s->input = in;
        else
            qt_input_close(in);
    }
    return s;
}

void qt_slowlog_close(struct qt_slowlog *s)
{
    if (s == NULL)
        return;
    qt_input_close(s->input);
    for (int32_t i = 0; s->paths != NULL && i < s->n_paths; i++)
        free(s->paths[i]);
    free(s->paths);
    free(s->buffer);
    free(s->use.p);
    qt_normalizer_free(s->normalizer);
    qt_sessions_free(&s->sessions);
    qt_problems_free(&s->problems);
    qt_slow_batch_free(&s->batch);
    free(s);
}

void qt_slowlog_stop(struct qt_slowlog *s)
{
    atomic_store(&s->stopped, 1);
}

/* Lines are only needed where something is wrong: counted from the last place asked for, or before bytes go. */
uint64_t qt_slow_count_lines(struct qt_slowlog *s)
{
    const char *p = s->buffer + s->counted;
    size_t n = s->begin - s->counted;
    uint64_t lines = 0;
    while (n > 0) { /* in runs that a byte can count, so that the compiler adds many at once */
        size_t run = n < 255 ? n : 255;
        uint8_t found = 0;
        for (size_t i = 0; i < run; i++)
            found = (uint8_t)(found + (p[i] == '\n'));
        lines += found;
        p += run;
        n -= run;
    }
    s->counted = s->begin;
    return s->line += lines;
}

/* Makes room behind the unread bytes: moves them to the front, or doubles the buffer when they fill it. */
static int make_room(struct qt_slowlog *s, struct qt_error *error)
{
    if (s->begin > 0) {
        qt_slow_count_lines(s);
        s->counted = 0;
        memmove(s->buffer, s->buffer + s->begin, s->end - s->begin);
        s->end -= s->begin;
        s->begin = 0;
    }
    if (s->end < s->room - s->room / 8)
        return QT_OK;
    if (s->room >= LARGEST_EVENT)
        return QT_OK; /* full: the caller gives the event up */
    char *larger = realloc(s->buffer, s->room * 2);
    if (larger == NULL)
        return qt_fail(error, QT_ENOMEM, "out of memory for an event of more than %zu MiB", s->room >> 20);
    s->buffer = larger;
    s->room *= 2;
    return QT_OK;
}

/* Reads until there are at least `want` unread bytes, or the file ends. */
int qt_slow_fill(struct qt_slowlog *s, size_t want, struct qt_error *error)
{
    int code = make_room(s, error);
    while (code == QT_OK && !s->at_end && s->end - s->begin < want && s->end < s->room) {
        size_t got = 0;
        code = qt_input_read(s->input, s->buffer + s->end, s->room - s->end, &got, error);
        s->end += got;
        if (code == QT_EFORMAT) { /* a damaged archive: what came before it stays */
            qt_problems_add(&s->problems, s->file, s->line, (int64_t)(s->offset + s->end - s->begin), "damaged_archive",
                            error->message, NULL, 0);
            s->at_end = 1;
            return QT_OK;
        }
        s->at_end |= code == QT_OK && got == 0;
        atomic_store_explicit(&s->bytes_read, s->bytes_before + qt_input_stored_bytes(s->input), memory_order_relaxed);
    }
    return code;
}

/* Goes on with the next file; 0 where there is none. What the file before left half is not carried over. */
int qt_slow_next_file(struct qt_slowlog *s, struct qt_error *error)
{
    if (s->input != NULL) {
        s->bytes_before += qt_input_stored_bytes(s->input);
        if (s->offset > 0 && s->file_events == 0)
            qt_problems_add(&s->problems, s->file, 1, 0, "no_events", "a MySQL or MariaDB slow log", "no event in the whole file", 26);
        qt_input_close(s->input);
        s->input = NULL;
    }
    if (s->file + 1 >= s->n_paths)
        return 0;
    s->file++;
    s->input = qt_input_open(s->paths[s->file], error);
    if (s->input == NULL)
        return -1;
    s->begin = s->end = s->counted = 0;
    s->offset = 0;
    s->line = 1;
    s->at_end = 0;
    s->header_known = 0;
    s->file_events = 0;
    s->use.len = 0;
    s->has_use = 0;
    return 1;
}

void qt_slowlog_stats(const struct qt_slowlog *s, struct qt_slowlog_stats *out)
{
    struct qt_slowlog *w = (struct qt_slowlog *)s; /* the mutex inside is not const */
    memset(out, 0, sizeof *out);
    out->bytes_read = atomic_load_explicit(&w->bytes_read, memory_order_relaxed);
    out->bytes_parsed = atomic_load_explicit(&w->bytes_parsed, memory_order_relaxed);
    out->events = atomic_load_explicit(&w->events, memory_order_relaxed);
    out->sessions = atomic_load_explicit(&w->n_sessions, memory_order_relaxed);
    out->restarts = atomic_load_explicit(&w->restarts, memory_order_relaxed);
    out->first_ns = atomic_load_explicit(&w->first_ns, memory_order_relaxed);
    out->last_ns = atomic_load_explicit(&w->last_ns, memory_order_relaxed);
    out->rate_limit = atomic_load_explicit(&w->rate_limit, memory_order_relaxed);
    out->rate_by_query = atomic_load_explicit(&w->rate_by_query, memory_order_relaxed);
    out->has_extra = atomic_load_explicit(&w->has_extra, memory_order_relaxed);
    out->file = atomic_load_explicit(&w->file_now, memory_order_relaxed);
    out->finished = atomic_load(&w->finished);
    pthread_mutex_lock(&w->problems.lock);
    out->problems = w->problems.total;
    memcpy(out->server_version, w->server_version, sizeof out->server_version);
    out->timezone_known = qt_slow_zone(w, &out->timezone_ns);
    pthread_mutex_unlock(&w->problems.lock);
}

int qt_slowlog_problems(struct qt_slowlog *s, struct ArrowArrayStream *out, struct qt_error *error)
{
    return qt_problems_take(&s->problems, out, error);
}

int qt_slowlog_first_time(const char *path, int64_t *out_ns, struct qt_error *error)
{
    struct qt_slowlog_options options = {0, 0, 0};
    struct qt_slowlog *s = qt_slowlog_open(&path, 1, &options, error);
    if (s == NULL)
        return error != NULL ? error->code : QT_EIO;
    int code = qt_slow_peek_time(s, out_ns, error);
    qt_slowlog_close(s);
    return code;
}
