/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads share a reader:
 *
 *   caller (DuckDB)                      the reader's thread
 *   next_batch: requests one ─ wanted ──► read_batch, sort, finish
 *   takes it, requests next  ◄─ ready ──
 *
 * Each batch is one part. One part is parsed ahead: while the caller writes a part, the thread parses the next part. */
#include "reader/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/arrow_stream.h"
#include "base/error.h"

int qt_reader_init(struct qt_reader *r, const struct qt_reader_kind *kind)
{
    memset(r, 0, sizeof *r);
    r->kind = kind;
    atomic_store(&r->first_ns, INT64_MAX);
    atomic_store(&r->last_ns, INT64_MIN);
    if (pthread_mutex_init(&r->lock, NULL) != 0)
        return -1;
    r->has_lock = 1;
    if (pthread_cond_init(&r->changed, NULL) != 0 || qt_event_batch_init(&r->batch) != 0 ||
        qt_problems_init(&r->problems) != 0)
        return -1;
    return qt_session_facts_init(&r->facts);
}

void qt_reader_release(struct qt_reader *r)
{
    if (!r->has_lock)
        return;
    qt_event_batch_free(&r->batch);
    qt_problems_free(&r->problems);
    qt_session_facts_free(&r->facts);
    qt_open_sessions_free(r->open);
    if (r->ready && r->next.release != NULL)
        r->next.release(&r->next);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    r->has_lock = 0;
}

void qt_reader_set_version(struct qt_reader *r, struct qt_span version)
{
    size_t len = version.len < sizeof r->server_version - 1 ? version.len : sizeof r->server_version - 1;
    pthread_mutex_lock(&r->lock);
    memcpy(r->server_version, version.p, len);
    r->server_version[len] = '\0';
    pthread_mutex_unlock(&r->lock);
}

void qt_reader_describe_version(struct qt_reader *r, struct qt_json *json)
{
    pthread_mutex_lock(&r->lock);
    size_t len = strlen(r->server_version);
    qt_json_text(json, "server_version", len > 0 ? r->server_version : NULL, len);
    pthread_mutex_unlock(&r->lock);
}

void qt_reader_set_open_sessions(struct qt_reader *r, struct qt_open_sessions *open)
{
    qt_open_sessions_free(r->open);
    r->open = open;
}

/* Makes one batch, from the input to Arrow. If the input has no more events, `out->release` is NULL. */
static int make_batch(struct qt_reader *r, struct ArrowArray *out, struct qt_error *error)
{
    *out = (struct ArrowArray){.release = NULL};
    /* A source with its own `stop` function ends by itself, after its pending input is processed. */
    int code = atomic_load(&r->stopped) && r->kind->stop == NULL ? QT_OK : r->kind->read_batch(r, error);
    if (code == QT_EAGAIN) /* the batch is due before it is full */
        code = QT_OK;
    if (code != QT_OK || r->batch.rows == 0)
        return code;
    r->parts += r->parts < 4;
    int64_t first, last;
    atomic_store(&r->largest, r->batch.largest);
    qt_event_batch_find_range(&r->batch, &first, &last);
    if (first < atomic_load(&r->first_ns))
        atomic_store(&r->first_ns, first);
    if (last > atomic_load(&r->last_ns))
        atomic_store(&r->last_ns, last);
    return qt_event_batch_finish(&r->batch, out, error);
}

static void *parse_ahead(void *owner)
{
    struct qt_reader *r = owner;
    pthread_mutex_lock(&r->lock);
    while (!r->closing) {
        if (!r->wanted || r->ready) {
            pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        r->wanted = 0;
        pthread_mutex_unlock(&r->lock);
        struct ArrowArray made;
        struct qt_error error = {0};
        int code = make_batch(r, &made, &error);
        pthread_mutex_lock(&r->lock);
        r->next = made;
        r->code = code;
        r->error = error;
        r->ready = 1;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static int begin_thread(struct qt_reader *r, struct qt_error *error)
{
    if (r->has_thread)
        return QT_OK;
    int failed = pthread_create(&r->thread, NULL, parse_ahead, r);
    if (failed)
        return qt_fail(error, QT_EIO, "cannot start the parser thread: %s", strerror(failed));
    r->has_thread = 1;
    r->wanted = 1;
    pthread_cond_broadcast(&r->changed);
    return QT_OK;
}

static int next_batch(void *owner, struct ArrowArray *out, struct qt_error *error)
{
    struct qt_reader *r = owner;
    if (r->given || atomic_load(&r->finished))
        return QT_OK;
    pthread_mutex_lock(&r->lock);
    int code = begin_thread(r, error);
    while (code == QT_OK && !r->ready)
        pthread_cond_wait(&r->changed, &r->lock);
    if (code == QT_OK) {
        code = r->code;
        if (code != QT_OK && error != NULL)
            *error = r->error;
        *out = r->next;
        r->next.release = NULL;
        r->ready = 0;
        r->given = 1;
        if (code != QT_OK || out->release == NULL)
            atomic_store(&r->finished, 1);
        else
            r->wanted = 1;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return code;
}

int qt_reader_part(struct qt_reader *r, uint64_t max_rows, uint64_t max_bytes, struct ArrowArrayStream *out,
                   struct qt_error *error)
{
    struct qt_stream_source source = {qt_event_columns, qt_event_n_columns, next_batch, NULL, r};
    if (!r->has_thread) { /* the thread reads the limits without a lock, so only the first part may set them */
        r->part_rows = max_rows;
        r->part_bytes = max_bytes;
    }
    r->given = 0;
    return qt_stream_make(out, &source, error);
}

int qt_reader_problems(struct qt_reader *r, struct ArrowArrayStream *out, struct qt_error *error)
{
    return qt_problems_take(&r->problems, out, error);
}

int qt_reader_sessions(struct qt_reader *r, struct ArrowArrayStream *out, struct qt_error *error)
{
    return qt_session_facts_take(&r->facts, out, error);
}

void qt_reader_stats(struct qt_reader *r, struct qt_reader_stats *out)
{
    memset(out, 0, sizeof *out);
    out->bytes_read = atomic_load_explicit(&r->bytes_read, memory_order_relaxed);
    out->bytes_parsed = atomic_load_explicit(&r->bytes_parsed, memory_order_relaxed);
    out->events = atomic_load_explicit(&r->events, memory_order_relaxed);
    out->sessions = atomic_load_explicit(&r->sessions, memory_order_relaxed);
    out->not_understood = atomic_load_explicit(&r->not_understood, memory_order_relaxed);
    out->largest = atomic_load_explicit(&r->largest, memory_order_relaxed);
    out->lost = atomic_load_explicit(&r->lost, memory_order_relaxed);
    out->first_ns = atomic_load_explicit(&r->first_ns, memory_order_relaxed);
    out->last_ns = atomic_load_explicit(&r->last_ns, memory_order_relaxed);
    out->file = atomic_load_explicit(&r->file, memory_order_relaxed);
    out->finished = atomic_load(&r->finished);
    pthread_mutex_lock(&r->problems.lock);
    out->problems = r->problems.total;
    pthread_mutex_unlock(&r->problems.lock);
}

void qt_reader_describe(struct qt_reader *r, char *out, size_t room)
{
    struct qt_json json;
    qt_json_begin(&json, out, room);
    if (r->kind->describe != NULL)
        r->kind->describe(r, &json);
    if (r->describe_more != NULL)
        r->describe_more(r, &json);
    qt_json_end(&json);
}

void qt_reader_stop(struct qt_reader *r)
{
    if (r->let_end != NULL) {
        r->let_end(r);
        return;
    }
    atomic_store(&r->stopped, 1);
    if (r->kind->stop != NULL)
        r->kind->stop(r);
}

void qt_reader_close(struct qt_reader *r)
{
    if (r == NULL)
        return;
    if (r->has_thread) {
        atomic_store(&r->stopped, 1);
        qt_reader_stop(r);
        pthread_mutex_lock(&r->lock);
        r->closing = 1;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
        r->has_thread = 0;
    }
    r->kind->close(r);
}

/* The added statements are classified and redacted like all other statements. */

int qt_carried_rows_add(struct qt_reader *r, const struct qt_open_session *open, int prepared,
                        struct qt_event_row *like, const struct qt_event_time *time)
{
    struct qt_normalizer *normalizer = qt_open_sessions_normalizer(r->open);
    int64_t number = 0;
    for (const struct qt_open_statement *s = open->statements; s != NULL; s = s->next) {
        struct qt_statement what;
        struct qt_event_row row = qt_event_unknown;
        struct qt_event_time when;
        int is_prepared = s->id >= 0;
        number += is_prepared;
        if (is_prepared && !prepared)
            continue;
        int code = qt_normalize(normalizer, NULL, s->text.p, s->text.len, &what, NULL);
        if (code != QT_OK)
            return code;
        row.session = like->session;
        row.seq = ++like->seq;
        row.thread_id = like->thread_id;
        row.command = is_prepared ? "prepare" : "query";
        row.start_ns = like->start_ns;
        row.precision_ns = like->precision_ns;
        row.user = like->user;
        row.host = like->host;
        row.db = like->db;
        row.stmt = is_prepared ? number : -1;
        row.file = like->file;
        row.offset = like->offset;
        row.flags = QT_F_CARRIED;
        qt_event_set_statement(&row, s->text, &what);
        if (time != NULL) {
            when = *time;
            when.duration_ns = -1;
            when.stamp_kind = QT_STAMP_CARRIED;
            when.flags = row.flags;
        }
        if (qt_event_batch_add(&r->batch, &row, time != NULL ? &when : NULL) != 0)
            return QT_ENOMEM;
        atomic_fetch_add_explicit(&r->events, 1, memory_order_relaxed);
    }
    return QT_OK;
}
