/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a tape. Each source adds rows, and a batch of rows becomes one Arrow batch. */
#ifndef QT_EVENT_ROWS_H
#define QT_EVENT_ROWS_H

#include "base/arrow_build.h"
#include "base/bytes.h"
#include "querytape.h"
#include "reader/timeline.h"

/* One row of the tape's `events` (schemas/tape.sql). In numbers, -1 = unknown. In spans, p NULL = unknown. */
struct qt_event_row {
    int64_t session, seq, thread_id;
    const char *command; /* a command name from schemas/names.toml */
    int64_t start_ns, duration_ns, precision_ns;
    struct qt_span user, host, db;
    struct qt_span statement;        /* already redacted if `what->redacted` is set */
    const struct qt_statement *what; /* properties of the statement; NULL = no statement */
    int64_t stmt;
    struct qt_span params;
    int64_t insert_id, last_insert_id;
    struct qt_span insert_ids; /* "offset:id,..." for a multi-statement text */
    int64_t file, offset;
    int64_t rows_sent, rows_examined, rows_affected, bytes_sent, lock_ns, warnings, errno_;
    struct qt_span error, checksum;
    int64_t request_ns, first_byte_ns;
    uint32_t flags;
};

/* An event with all fields unknown. */
extern const struct qt_event_row qt_event_unknown;
/* Sets statement, what and flags from a normalised statement. Uses its redacted text if there is one. */
void qt_event_set_statement(struct qt_event_row *, struct qt_span text, const struct qt_statement *what);

extern const struct qt_column_spec qt_event_columns[];
extern const int32_t qt_event_n_columns;

struct qt_event_batch {
    struct qt_columns columns;
    struct qt_event_time *event_times; /* for rows that get their times when the batch is complete */
    size_t rows, room;
    uint64_t bytes;   /* total size of statements, params and texts */
    uint64_t largest; /* size of the largest row so far, in all batches */
    uint32_t *order;  /* scratch memory of qt_event_batch_finish */
    size_t order_room;
};

int qt_event_batch_init(struct qt_event_batch *); /* returns 0, or -1 when out of memory */
void qt_event_batch_free(struct qt_event_batch *);
/* Adds a row. If `event_time` is NULL, the row already has its times. Otherwise qt_event_batch_take_times sets its
 * start, duration and flags. Either all rows of a batch have an `event_time`, or no row has one. Returns 0, or -1 when
 * out of memory. */
int qt_event_batch_add(struct qt_event_batch *, const struct qt_event_row *, const struct qt_event_time *);
/* Copies start_ns, duration_ns and flags from the event_times, after they were assigned. */
void qt_event_batch_take_times(struct qt_event_batch *);
/* Finds the earliest start and latest end of the rows, or INT64_MAX and INT64_MIN if there are no rows. */
void qt_event_batch_find_range(struct qt_event_batch *, int64_t *first_ns, int64_t *last_ns);
/* Sorts the rows by start, session and seq, and moves them into `out`. */
int qt_event_batch_finish(struct qt_event_batch *, struct ArrowArray *out, struct qt_error *);

#endif
