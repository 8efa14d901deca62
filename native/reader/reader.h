/* SPDX-License-Identifier: Apache-2.0 */
/* Gives what a native source has read, whatever it reads: parts as Arrow streams, problems, session facts, counters.
 *
 *     struct qt_slowlog { struct qt_reader reader; ... };     the reader is the first member
 *     static const struct qt_reader_kind kind = {read_batch, describe, close};
 *     qt_reader_init(&s->reader, &kind)
 *
 * A thread of the reader's own parses the next part while the caller writes this one. So read_batch and what it calls
 * run in that thread, one call at a time; describe and the counters are asked from others.
 */
#ifndef QT_READER_H
#define QT_READER_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/json.h"
#include "reader/event_rows.h"
#include "reader/open_sessions.h"
#include "reader/problems.h"
#include "reader/session_facts.h"

struct qt_reader_kind {
    /* Adds events to reader->batch until qt_reader_batch_full says so, the input ends or reader->stopped is set, and
     * assigns their start times where the source has ends alone. A batch left empty is the end. */
    int (*read_batch)(struct qt_reader *, struct qt_error *);
    /* Adds what this source knows of itself. May be NULL. Takes its own locks where it needs them. */
    void (*describe)(struct qt_reader *, struct qt_json *);
    /* Frees all but the reader itself, after its thread has ended; then the object that holds it. */
    void (*close)(struct qt_reader *);
    /* Wakes a read_batch that waits for input. May be NULL. */
    void (*stop)(struct qt_reader *);
};

struct qt_reader {
    const struct qt_reader_kind *kind;
    /* Of an input that has no end of its own: ends it with what it holds, instead of `stopped`; describes it. NULL
     * where it has one. */
    void (*let_end)(struct qt_reader *);
    void (*describe_more)(struct qt_reader *, struct qt_json *);
    struct qt_event_batch batch; /* of the parsing thread */
    struct qt_problems problems;
    struct qt_session_facts facts;
    struct qt_open_sessions *open;  /* owned; NULL = none is known */
    uint64_t part_rows, part_bytes; /* bounds of a batch */
    unsigned parts;                 /* made so far, up to 4 */

    pthread_t thread;
    int has_thread, has_lock;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    int wanted, ready, closing; /* a batch is to be parsed; one is in `next`; the thread is to end */
    struct ArrowArray next;
    int code; /* of the batch in `next` */
    struct qt_error error;
    char server_version[128]; /* "" = not known */

    int due;   /* the batch is to be closed at the next event that may begin another one */
    int given; /* the stream of the present part has had its batch */
    _Atomic uint64_t bytes_read, bytes_parsed, events, sessions, lost, largest, not_understood;
    _Atomic int64_t first_ns, last_ns;
    _Atomic int32_t file, finished, stopped;
};

int qt_reader_init(struct qt_reader *, const struct qt_reader_kind *); /* 0, or -1 when out of memory */
/* Is the batch as large as a part should be? Sources may go on for a little. */
static inline int qt_reader_batch_full(const struct qt_reader *r)
{
    /* The first parts are a quarter: who writes them need not wait for a whole one, nor the parser for who writes
     * it. */
    unsigned share = r->parts < 4 ? 4 : 1;
    return r->due || r->batch.rows >= r->part_rows / share || r->batch.bytes >= r->part_bytes / share;
}
/* Keeps what the input says of the server's version, cut if it is too long. In the parsing thread. */
void qt_reader_set_version(struct qt_reader *, struct qt_span version);
/* Adds `server_version`. From any thread. */
void qt_reader_describe_version(struct qt_reader *, struct qt_json *);
/* Counts bytes of the input that no event is made of, and that something should be. */
static inline void qt_reader_add_not_understood(struct qt_reader *r, uint64_t bytes)
{
    atomic_fetch_add_explicit(&r->not_understood, bytes, memory_order_relaxed);
}
/* For kinds' close: what qt_reader_init made. */
void qt_reader_release(struct qt_reader *);

/* The events that bring a replayed session into the state that its original had when the capture began. */

/* Adds a row for each statement of `open` that belongs on this kind of tape: those prepared in the protocol only where
 * `prepared`. `like`: account, schema, place and start of these rows; its seq is that of the last row, and stays so.
 * `time`: as in qt_event_batch_add. QT_OK or a code. */
int qt_carried_rows_add(struct qt_reader *, const struct qt_open_session *open, int prepared, struct qt_event_row *like,
                        const struct qt_event_time *time);

#endif
