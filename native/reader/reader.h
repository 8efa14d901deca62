/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of all native readers. It delivers parts (as Arrow streams), problems, session properties and
 * counters.
 *
 *     struct qt_slowlog { struct qt_reader reader; ... };     the reader is the first member
 *     static const struct qt_reader_kind kind = {read_batch, describe, close};
 *     qt_reader_init(&s->reader, &kind)
 *
 * A thread of the reader parses the next part while the caller writes the current part. This thread calls read_batch,
 * one call at a time. Other threads call `describe` and read the counters. */
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
    /* Adds events to reader->batch until qt_reader_batch_full returns true, the input ends or reader->stopped is set.
     * The function also assigns start times if the source has only end times. At the end of the input, the batch stays
     * empty. */
    int (*read_batch)(struct qt_reader *, struct qt_error *);
    /* Adds the source's own properties. The function may be NULL. It must lock the data that other threads change. */
    void (*describe)(struct qt_reader *, struct qt_json *);
    /* Called after the reader's thread has ended. Frees everything including the object that contains the reader. */
    void (*close)(struct qt_reader *);
    /* Wakes a read_batch that waits for input. The function may be NULL. */
    void (*stop)(struct qt_reader *);
};

struct qt_reader {
    const struct qt_reader_kind *kind;
    /* `let_end` ends an input without a natural end, such as a followed log. The bytes written so far are still read.
     * Such an input uses `let_end` in place of `stopped`. `describe_more` describes such an input. Both functions are
     * NULL for other inputs. */
    void (*let_end)(struct qt_reader *);
    void (*describe_more)(struct qt_reader *, struct qt_json *);
    struct qt_event_batch batch; /* used by the parsing thread only */
    struct qt_problems problems;
    struct qt_session_facts facts;
    struct qt_open_sessions *open;  /* owned; NULL = none reported */
    uint64_t part_rows, part_bytes; /* limits of a batch */
    unsigned parts;                 /* number of finished parts, counted up to 4 */

    pthread_t thread;
    int has_thread, has_lock;
    pthread_mutex_t lock; /* protects the members down to `server_version` */
    pthread_cond_t changed;
    int wanted, ready, closing; /* a batch is requested; `next` holds a batch; the thread must end */
    struct ArrowArray next;
    int code; /* result code of the batch in `next` */
    struct qt_error error;
    char server_version[128]; /* "" = unknown */

    int due;   /* close the batch at the next event that may begin a new batch */
    int given; /* the current stream has delivered its batch */
    _Atomic uint64_t bytes_read, bytes_parsed, events, sessions, lost, largest, not_understood;
    _Atomic int64_t first_ns, last_ns;
    _Atomic int32_t file, finished, stopped;
};

int qt_reader_init(struct qt_reader *, const struct qt_reader_kind *); /* returns 0, or -1 when out of memory */
/* Returns whether the batch has reached the size of a part. Sources may still add a few events. */
static inline int qt_reader_batch_full(const struct qt_reader *r)
{
    /* The first parts have a quarter of the size, so that parsing and writing soon overlap. */
    unsigned share = r->parts < 4 ? 4 : 1;
    return r->due || r->batch.rows >= r->part_rows / share || r->batch.bytes >= r->part_bytes / share;
}
/* Stores the server version found in the input, truncated if it is too long. The parsing thread calls this function. */
void qt_reader_set_version(struct qt_reader *, struct qt_span version);
/* Adds `server_version`. Any thread may call this function. */
void qt_reader_describe_version(struct qt_reader *, struct qt_json *);
/* Counts bytes of the input that should have yielded an event. */
static inline void qt_reader_add_not_understood(struct qt_reader *r, uint64_t bytes)
{
    atomic_fetch_add_explicit(&r->not_understood, bytes, memory_order_relaxed);
}
/* Frees the members created by qt_reader_init. The `close` function of the kind calls this function. */
void qt_reader_release(struct qt_reader *);

/* Events that bring a replayed session into the state of the original session at the beginning of the capture. */

/* Adds a row for each statement of `open`. Statements prepared in the protocol are only added if `prepared` is set.
 * `like` provides account, schema, position and start of the rows. Before the call, `like` must have the `seq` of the
 * previous row. After the call, `like` has the `seq` of the last added row. `time`: as in qt_event_batch_add. Returns
 * QT_OK or an error code. */
int qt_carried_rows_add(struct qt_reader *, const struct qt_open_session *open, int prepared, struct qt_event_row *like,
                        const struct qt_event_time *time);

#endif
