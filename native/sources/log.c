/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

#define FIRST_BUFFER ((size_t)512 << 10)
#define LARGEST_EVENT ((size_t)1100 << 20) /* max_allowed_packet ends at 1 GiB */
#define SESSIONS_KEPT (4u << 20)

int qt_log_init(struct qt_log *l, const struct qt_reader_kind *kind, const char *what, const char *const *paths,
                int32_t n_paths, const struct qt_log_options *options, struct qt_error *error)
{
    l->what = what;
    l->line = 1;
    l->n_paths = n_paths;
    l->timezone_ns = options->timezone_ns;
    l->has_timezone = options->has_timezone;
    l->paths = calloc((size_t)n_paths + 1, sizeof *l->paths);
    l->buffer = malloc(FIRST_BUFFER);
    l->room = FIRST_BUFFER;
    l->normalizer = qt_normalizer_new();
    qt_timeline_init(&l->timeline);
    int bad = qt_reader_init(&l->reader, kind) != 0 || l->paths == NULL || l->buffer == NULL || l->normalizer == NULL ||
              qt_sessions_init(&l->sessions, SESSIONS_KEPT) != 0;
    for (int32_t i = 0; i < n_paths && !bad; i++)
        bad = (l->paths[i] = strdup(paths[i])) == NULL;
    if (bad)
        return qt_fail(error, QT_ENOMEM, "out of memory");
    for (int32_t i = 0; i < n_paths; i++) { /* a missing file is said before anything is written */
        struct qt_input *in = qt_input_open(paths[i], error);
        if (in == NULL)
            return error != NULL ? error->code : QT_EIO;
        if (i == 0)
            l->input = in;
        else
            qt_input_close(in);
    }
    return QT_OK;
}

void qt_log_done(struct qt_log *l)
{
    qt_input_close(l->input);
    for (int32_t i = 0; l->paths != NULL && i < l->n_paths; i++)
        free(l->paths[i]);
    free(l->paths);
    free(l->buffer);
    qt_normalizer_free(l->normalizer);
    qt_sessions_free(&l->sessions);
    qt_reader_done(&l->reader);
}

/* Lines are only needed where something is wrong: counted from the last place asked for, or before bytes go. */
uint64_t qt_log_count_lines(struct qt_log *l)
{
    const char *p = l->buffer + l->counted;
    size_t n = l->begin - l->counted;
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
    l->counted = l->begin;
    return l->line += lines;
}

void qt_log_problem(struct qt_log *l, const char *kind, const char *expected, struct qt_span found)
{
    qt_problems_add(&l->reader.problems, l->file, (int64_t)qt_log_count_lines(l), (int64_t)l->offset, kind, expected, found.p,
                    found.len);
}

void qt_log_consume(struct qt_log *l, size_t used)
{
    l->begin += used;
    l->offset += used;
    atomic_fetch_add_explicit(&l->reader.bytes_parsed, used, memory_order_relaxed);
}

/* Makes room behind the unread bytes: moves them to the front, or doubles the buffer when they fill it. */
static int make_room(struct qt_log *l, struct qt_error *error)
{
    if (l->begin > 0) {
        qt_log_count_lines(l);
        l->counted = 0;
        memmove(l->buffer, l->buffer + l->begin, l->end - l->begin);
        l->end -= l->begin;
        l->begin = 0;
    }
    if (l->end < l->room - l->room / 8)
        return QT_OK;
    if (l->room >= LARGEST_EVENT)
        return QT_OK; /* full: the caller gives the event up */
    char *larger = realloc(l->buffer, l->room * 2);
    if (larger == NULL)
        return qt_fail(error, QT_ENOMEM, "out of memory for an event of more than %zu MiB", l->room >> 20);
    l->buffer = larger;
    l->room *= 2;
    return QT_OK;
}

int qt_log_fill(struct qt_log *l, size_t want, struct qt_error *error)
{
    int code = make_room(l, error);
    while (code == QT_OK && !l->at_end && l->end - l->begin < want && l->end < l->room) {
        size_t got = 0;
        code = qt_input_read(l->input, l->buffer + l->end, l->room - l->end, &got, error);
        l->end += got;
        if (code == QT_EFORMAT) { /* a damaged archive: what came before it stays */
            qt_problems_add(&l->reader.problems, l->file, (int64_t)l->line, (int64_t)(l->offset + l->end - l->begin),
                            "damaged_archive", error->message, NULL, 0);
            l->at_end = 1;
            return QT_OK;
        }
        l->at_end |= code == QT_OK && got == 0;
        atomic_store_explicit(&l->reader.bytes_read, l->bytes_before + qt_input_stored_bytes(l->input), memory_order_relaxed);
    }
    return code;
}

/* What the file before left half is not carried over. */
int qt_log_next_file(struct qt_log *l, struct qt_error *error)
{
    if (l->input != NULL) {
        l->bytes_before += qt_input_stored_bytes(l->input);
        if (l->offset > 0 && l->file_events == 0)
            qt_problems_add(&l->reader.problems, l->file, 1, 0, "no_events", l->what, "no event in the whole file", 26);
        qt_input_close(l->input);
        l->input = NULL;
    }
    if (l->file + 1 >= l->n_paths)
        return 0;
    l->file++;
    l->input = qt_input_open(l->paths[l->file], error);
    if (l->input == NULL)
        return -1;
    l->begin = l->end = l->counted = 0;
    l->offset = 0;
    l->line = 1;
    l->at_end = 0;
    l->file_events = 0;
    atomic_store(&l->reader.file, l->file);
    return 1;
}

int qt_log_line(struct qt_log *l, struct qt_span *line, size_t *used, int *code, struct qt_error *error)
{
    size_t looked = 0;
    for (;;) {
        size_t have = l->end - l->begin;
        const char *p = l->buffer + l->begin, *newline = have > looked ? memchr(p + looked, '\n', have - looked) : NULL;
        if (newline == NULL && !l->at_end && have < l->room) {
            looked = have;
            *code = qt_log_fill(l, have + have / 4 + 1, error);
            if (*code != QT_OK)
                return -1;
            continue;
        }
        if (have == 0)
            return 0;
        size_t len = newline != NULL ? (size_t)(newline - p) : have;
        *used = newline != NULL ? len + 1 : len;
        *line = (struct qt_span){p, len > 0 && p[len - 1] == '\r' ? len - 1 : len};
        return 1;
    }
}

void qt_log_trim_sessions(struct qt_log *l)
{
    if (qt_sessions_trim(&l->sessions))
        qt_log_problem(l, "sessions_forgotten", "fewer than 4 million thread ids at once; the longest unused were forgotten",
                       (struct qt_span){NULL, 0});
}

int64_t qt_log_session(struct qt_log *l, uint64_t key, uint32_t account, const char *command)
{
    int64_t at = qt_sessions_find(&l->sessions, key, atomic_load_explicit(&l->reader.events, memory_order_relaxed));
    if (at < 0)
        return at;
    struct qt_session_entry *e = &l->sessions.entries[at];
    int other = account != 0 && e->account != 0 && e->account != account && strcmp(command, "change_user") != 0;
    if (e->session == 0 || e->ended || other) {
        qt_sessions_begin(&l->sessions, e);
        atomic_store_explicit(&l->reader.sessions, (uint64_t)(l->sessions.next_session - 1), memory_order_relaxed);
    }
    if (account != 0)
        e->account = account;
    e->seq++;
    e->ended = strcmp(command, "quit") == 0;
    return at;
}

void qt_log_lay(struct qt_log *l)
{
    struct qt_event_batch *b = &l->reader.batch;
    qt_timeline_lay(&l->timeline, &l->sessions, b->moments, b->rows);
    qt_event_batch_lay(b);
}
