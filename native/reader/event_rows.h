/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a tape, row by row: what every source fills, and how it becomes one Arrow batch. */
#ifndef QT_EVENT_ROWS_H
#define QT_EVENT_ROWS_H

#include "base/arrow_build.h"
#include "base/bytes.h"
#include "querytape.h"
#include "reader/timeline.h"

/* One row of the tape's `events` (schemas/tape.sql). Numbers: -1 = unknown; spans: p NULL = unknown. */
struct qt_event_row {
    int64_t session, seq, thread_id;
    const char *command; /* a name of commands in schemas/names.toml */
    int64_t start_ns, duration_ns, precision_ns;
    struct qt_span user, host, db;
    struct qt_span statement;        /* already redacted where `what` says so */
    const struct qt_statement *what; /* of the statement; NULL where there is none */
    int64_t stmt;
    struct qt_span params;
    int64_t insert_id, last_insert_id;
    struct qt_span insert_ids; /* "offset:id,..." of a text of several statements */
    int64_t file, offset;
    int64_t rows_sent, rows_examined, rows_affected, bytes_sent, lock_ns, warnings, errno_;
    struct qt_span error, checksum;
    int64_t request_ns, first_byte_ns;
    uint32_t flags;
};

/* An event of which nothing is known. */
extern const struct qt_event_row qt_event_unknown;
/* Sets statement, what and flags from a normalised statement: its redacted text where it has one. */
void qt_event_set_statement(struct qt_event_row *, struct qt_span text, const struct qt_statement *what);

extern const struct qt_column_spec qt_event_columns[];
extern const int32_t qt_event_n_columns;

struct qt_event_batch {
    struct qt_columns columns;
    struct qt_event_time *event_times; /* of the rows whose times are assigned when the batch is whole */
    size_t rows, room;
    uint64_t bytes;   /* of statements, params and texts */
    uint64_t largest; /* of one row, since the beginning */
    uint32_t *order;  /* scratch of qt_event_batch_finish */
    size_t order_room;
};

int qt_event_batch_init(struct qt_event_batch *); /* 0, or -1 when out of memory */
void qt_event_batch_free(struct qt_event_batch *);
/* Adds a row. `event_time`: NULL where the event's own times stand; else start, duration and flags come from it when
 * qt_event_batch_finish is called. All rows of a batch alike. 0, or -1 when out of memory. */
int qt_event_batch_add(struct qt_event_batch *, const struct qt_event_row *, const struct qt_event_time *);
/* Takes start_ns, duration_ns and flags of the event_times over, once they are assigned. */
void qt_event_batch_take_times(struct qt_event_batch *);
/* Earliest start and latest end of the rows; INT64_MAX and INT64_MIN where there is none. */
void qt_event_batch_find_range(struct qt_event_batch *, int64_t *first_ns, int64_t *last_ns);
/* Sorts by start, session and seq, and moves all rows into `out`. */
int qt_event_batch_finish(struct qt_event_batch *, struct ArrowArray *out, struct qt_error *);

#endif
