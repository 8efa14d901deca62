/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a session, gathered in chunks so that the lock is taken once for many:
 *
 *   session thread: chunk of 64 records ──full, or a second old──► out.first … out.last ──► outcomes.c
 *                        ▲                                                                     │ emptied
 *                        └───────────────────────────── out.spare ◄──────────────────────────┘
 *
 * Where the outcomes are not read, session threads over the bound wait for the reader, but never for more than a second
 * each time: memory then grows slowly, and the run goes on.
 */
#include "engine/records.h"

#include <stdlib.h>

#define OLD_NS QT_SECOND

void qt_out_init(struct qt_engine *e)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&e->out.lock, NULL);
    pthread_cond_init(&e->out.more, &attr);
    pthread_cond_init(&e->out.less, &attr);
    pthread_condattr_destroy(&attr);
}

void qt_chunks_free(struct qt_chunk *chunk)
{
    while (chunk != NULL) {
        struct qt_chunk *next = chunk->next;
        for (int i = 0; i < chunk->n; i++)
            free(chunk->record[i].error);
        free(chunk);
        chunk = next;
    }
}

void qt_out_free(struct qt_engine *e)
{
    qt_chunks_free(e->out.first);
    qt_chunks_free(e->out.spare);
    pthread_mutex_destroy(&e->out.lock);
    pthread_cond_destroy(&e->out.more);
    pthread_cond_destroy(&e->out.less);
}

void qt_out_done(struct qt_engine *e)
{
    pthread_mutex_lock(&e->out.lock);
    e->out.done = 1;
    pthread_cond_broadcast(&e->out.more);
    pthread_mutex_unlock(&e->out.lock);
}

void qt_records_hand_over(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    struct qt_out *out = &e->out;
    struct qt_chunk *chunk = s->chunk;

    if (chunk == NULL || chunk->n == 0)
        return;
    pthread_mutex_lock(&out->lock);
    if (out->records > QT_MAX_WAITING_RECORDS && !qt_stopping(e)) {
        int64_t until = qt_now() + QT_SECOND;
        while (out->records > QT_MAX_WAITING_RECORDS && !qt_stopping(e) && qt_out_wait(&out->less, &out->lock, until))
            ;
    }
    chunk->next = NULL;
    if (out->last != NULL)
        out->last->next = chunk;
    else
        out->first = chunk;
    out->last = chunk;
    out->records += chunk->n;
    if (out->records >= QT_ENOUGH_RECORDS && out->records - chunk->n < QT_ENOUGH_RECORDS)
        pthread_cond_signal(&out->more);
    s->chunk = out->spare;
    if (out->spare != NULL) {
        out->spare = out->spare->next;
        out->spares--;
    }
    pthread_mutex_unlock(&out->lock);
}

/* NULL when out of memory. */
static struct qt_record *add_record(struct qt_session *s, int64_t now_ns)
{
    if (s->chunk != NULL && s->chunk->n > 0 &&
        (s->chunk->n == QT_CHUNK_RECORDS || now_ns - s->chunk->oldest_ns > OLD_NS))
        qt_records_hand_over(s);
    if (s->chunk == NULL) {
        s->chunk = malloc(sizeof *s->chunk);
        if (s->chunk == NULL)
            return NULL;
        s->chunk->n = 0;
    }
    if (s->chunk->n == 0)
        s->chunk->oldest_ns = now_ns;
    return &s->chunk->record[s->chunk->n++];
}

struct qt_record *qt_record_new(struct qt_session *s, const struct qt_planned_event *ev, int64_t now_ns)
{
    struct qt_record *r = add_record(s, now_ns);
    if (r == NULL)
        return NULL;
    *r = (struct qt_record){
        .session = s->id,
        .seq = ev->seq,
        .due_ns = qt_unpaced(s->engine) ? QT_NONE : ev->due_ns,
        .queued_ns = qt_from_zero(s->engine, ev->queued_ns),
        .free_ns = QT_NONE,
        .sent_ns = QT_NONE,
        .first_ns = QT_NONE,
        .done_ns = QT_NONE,
        .rows = QT_NONE,
        .affected = QT_NONE,
        .bytes = QT_NONE,
        .warnings = QT_NONE,
        .order_ns = QT_NONE,
        .digest = ev->digest,
    };
    return r;
}
