/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the sweep share. docs/order.md has the rules; their numbers stand in the comments.
 *
 *   events by lo ─► take.c: what is each event?
 *                       ▼
 *                   moments.c: when does each commit have its moment?
 *                       │ marks, waits
 *                       ▼
 *                   numbers.c: what number has each mark, how many marks lie before each wait?
 *                       │ pairs (place, number)
 *                       ▼
 *                   rows.c: one row for each event
 *
 * Each stage has a heap of points in time. It takes a point off when no earlier one can come any more. A point comes
 * late where a moment is known only later: of a write outside of transactions by its end, of an INSERT by the commits
 * before it. So memory grows with what is open at one time, not with the tape.
 *
 * The sweep owns everything here. An event is freed when its last point is numbered, a transaction when its last point
 * is and its session has gone on. */
#ifndef QT_SWEEP_STATE_H
#define QT_SWEEP_STATE_H

#include "base/arrow_build.h"
#include "sweep/heap.h"

enum { QT_LAST_NS = 1000000000 }; /* so long after its arrival the last event of a session may have ended */

struct qt_use {
    int32_t table;
    uint8_t asks, adds;
};

struct qt_pair {
    int32_t place; /* QT_PLACES * table + kind */
    int64_t number;
};

struct qt_pairs {
    struct qt_pair *pair;
    size_t n, room;
};

struct qt_tx;

struct qt_event {
    int64_t session, seq, tape_ns;
    int64_t at_ns, lo_ns, hi_ns; /* at_ns: its start, or its arrival */
    int64_t moment_ns;           /* of a commit of its own: the earliest that it can still have */
    const struct qt_use *uses;
    int32_t n_uses;
    int32_t left;      /* points that are not done; 0 = its row is complete */
    int32_t undecided; /* transactions that its moment depends on */
    uint8_t is_long, locks, alone, held, decided;
    uint8_t is_last;   /* of its session, on a log of arrivals: its end is not known */
    uint8_t part;      /* 1: what is left of an event whose implicit COMMIT is `commit` */
    uint8_t exclusive; /* it takes tables whole: DDL, LOCK TABLES */
    uint8_t user_lock; /* QT_USE_TAKES_LOCK, QT_USE_FREES_LOCK, QT_USE_LOOKS_AT_LOCK */
    struct qt_pairs waits, marks;
    struct qt_event *commit, *whole; /* the COMMIT in front of what ends a transaction and does more; and back */
    struct qt_event *before, *after; /* in a list of the sweep; `after` of the free ones as well */
};

/* A table of a transaction. */
struct qt_used {
    int32_t table;
    int64_t lo_ns;                          /* of the first statement that locked it */
    uint8_t held, read_later, locked_later; /* later: behind the first read */
};

struct qt_tx {
    int64_t first_seq, end_seq;
    struct qt_used *used;
    size_t n_used, used_room;
    struct qt_event *reader;   /* its first plain read */
    int64_t *seen, *locked;    /* what that waits for on each table; NULL before it is known */
    struct qt_event **waiting; /* writes that arrived while it was open */
    size_t n_waiting, waiting_room;
    int32_t refs;
    uint8_t over, dropped;         /* dropped: its end is not sent */
    struct qt_tx *previous, *next; /* of the sweep's */
};

/* The first lock that a transaction took on a table while DDL or LOCK TABLES wanted the table whole. */
struct qt_holder {
    int64_t ns;
    const struct qt_tx *tx; /* never read: only compared, and gone at its end */
};

enum { QT_BLOCK_EVENTS = 256 };

struct qt_block {
    struct qt_block *next;
    struct qt_event event[QT_BLOCK_EVENTS];
};

struct qt_list {
    struct qt_event *first, *last;
};

struct qt_sweep_table {
    int64_t number[QT_PLACES];
    int64_t seen;        /* the highest number of those commits that had ended */
    int64_t released_ns; /* moment of the last numbered commit */
    int64_t closed_ns;   /* moment of the last transaction's commit */
    int64_t *held_ns;    /* ends of locking statements after that, while a write of its own is open */
    size_t n_held, held_room, own_open;
    struct qt_holder *holder; /* while DDL or LOCK TABLES is open */
    size_t n_holders, holder_room, whole_open;
    int64_t whole_ns;    /* of arrivals: moment of the last DDL or LOCK TABLES */
    struct qt_tx **open; /* of arrivals: transactions that hold locks */
    size_t n_open, open_room;
    uint8_t is_long, is_exclusive, adds;
};

struct qt_sweep_session {
    int64_t id;
    struct qt_tx *tx;
    uint8_t taken;
};

enum qt_times { QT_BOTH, QT_ENDS, QT_ARRIVALS };

struct qt_sweep {
    enum qt_times times;
    uint8_t unknown; /* some statement is of unknown tables */
    uint8_t failed;  /* out of memory */
    int64_t now_ns;  /* everything before it has come */
    struct qt_sweep_table *table;
    int32_t n_tables;
    const struct qt_use *uses; /* by digest: from first_use[digest] up to that of the next */
    const int64_t *first_use;
    int64_t n_digests;
    struct qt_sweep_session *session; /* open addressing */
    size_t n_sessions, session_room;
    struct qt_heap moments, numbers, adds;
    struct qt_list own, adding; /* undecided writes of their own; what waits for its grant, by lo */
    struct qt_tx *transactions; /* all of them */
    struct qt_block *blocks;
    struct qt_event *free_events;
    struct qt_columns *rows;
};

#endif
