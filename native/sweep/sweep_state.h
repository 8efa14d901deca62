/* SPDX-License-Identifier: Apache-2.0 */
/* Types that the files of the sweep share. The comments refer to the numbered rules in docs/order.md.
 *
 *   events by lo ─► take.c: what is each event?
 *                       ▼
 *                   moments.c: what is the moment of each commit?
 *                       │ marks, waits
 *                       ▼
 *                   numbers.c: what is the number of each mark, how many marks are before each wait?
 *                       │ pairs (place, number)
 *                       ▼
 *                   rows.c: one row for each event
 *
 * Each stage has a heap of points in time. A stage processes a point when no earlier point can come. Some points are
 * only added later, when their moment is known. The moment of a write outside of transactions is known at the write's
 * end. The moment of an INSERT is known when all commits before it are known. Memory therefore grows with the number of
 * open events, not with the tape.
 *
 * The sweep owns all of this data. An event is freed when its last point is numbered. A transaction is freed when its
 * last point is done and its session has continued. */
#ifndef QT_SWEEP_STATE_H
#define QT_SWEEP_STATE_H

#include "base/arrow_build.h"
#include "sweep/heap.h"

enum { QT_LAST_NS = 1000000000 }; /* assumed time from the arrival to the end of a session's last event */

struct qt_use {
    int32_t table;
    uint8_t asks, adds, later; /* later: only a later statement of the transaction uses the table */
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
    int64_t at_ns, lo_ns, hi_ns; /* at_ns: start or arrival */
    int64_t moment_ns;           /* own commit: the earliest moment that is still possible */
    int64_t after_ns;            /* DDL: the last end of a transaction that was certainly before it, or lo_ns */
    int64_t from_ns;             /* rule 8: the statement certainly had no locks before this time */
    size_t slow_at;              /* rule 8: its place in the list `slow` */
    const struct qt_use *uses;
    int32_t n_uses;
    int32_t left;      /* unfinished points; 0 = the row is complete */
    int32_t undecided; /* number of open transactions that the event's moment depends on */
    uint8_t is_long, locks, alone, held, decided;
    uint8_t is_last;   /* last event of its session in a log of arrivals: its end is unknown */
    uint8_t part;      /* 1: remaining part after the implicit COMMIT in `commit` */
    uint8_t exclusive; /* locks whole tables: DDL, LOCK TABLES */
    uint8_t user_lock; /* QT_USE_TAKES_LOCK, QT_USE_FREES_LOCK, QT_USE_LOOKS_AT_LOCK */
    struct qt_pairs waits, marks;
    struct qt_event *commit, *whole; /* implicit COMMIT before a DDL or LOCK TABLES; `whole` points back */
    struct qt_event *before, *after; /* links in a list of the sweep; free events use `after` */
};

/* The entries of a transaction in the list `holder` of a table: of its own locks, and of a use that comes later. */
struct qt_noted {
    int64_t list;  /* number of the list; the list of a table is emptied often */
    int32_t at[2]; /* -1: none */
};

/* A table that a transaction uses. */
struct qt_used {
    int32_t table;
    struct qt_noted noted;
    int64_t hi_ns;                          /* hi_ns of the first statement that locked the table */
    uint8_t held, read_later, locked_later; /* later: after the first plain read */
};

struct qt_tx {
    int64_t first_seq, end_seq;
    struct qt_used *used;
    size_t n_used, used_room;
    struct qt_noted noted;     /* in the table of all tables */
    struct qt_event *reader;   /* first plain read of the transaction */
    int64_t *seen, *locked;    /* waits of the reader by table; NULL = not known yet */
    struct qt_event **waiting; /* writes that arrived while the transaction was open */
    size_t n_waiting, waiting_room;
    int32_t refs;
    uint8_t over, dropped;         /* dropped: the replay does not send the transaction's end */
    uint8_t whole;                 /* LOCK TABLES */
    struct qt_tx *previous, *next; /* links in the sweep's list */
};

/* The first lock of a transaction on a table while DDL or LOCK TABLES waits for the whole table. */
struct qt_holder {
    int64_t ns, end_ns; /* end_ns: moment of its commit; INT64_MAX = still open */
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
    int64_t seen;        /* highest number of the commits that had ended */
    int64_t released_ns; /* moment of the last numbered commit */
    int64_t closed_ns;   /* moment of the last commit of a transaction */
    int64_t *held_ns;    /* ends of later locking statements, while an own write is open */
    size_t n_held, held_room, own_open;
    struct qt_holder *holder; /* by `ns`; used while DDL is open */
    int64_t list;             /* how often `holder` was emptied */
    size_t n_holders, holder_room, whole_open;
    int64_t whole_ns;    /* logs of arrivals: moment of the last DDL or LOCK TABLES */
    struct qt_tx **open; /* logs of arrivals: transactions that hold locks */
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
    uint8_t unknown; /* at least one statement has unknown tables */
    int32_t n_whole; /* number of undecided DDL statements */
    uint8_t failed;  /* memory ran out */
    int64_t now_ns;  /* all points before this time were already added */
    struct qt_sweep_table *table;
    int32_t n_tables;
    const struct qt_use *uses; /* uses of digest d: from first_use[d] to before first_use[d + 1] */
    const int64_t *first_use;
    int64_t n_digests;
    struct qt_sweep_session *session; /* hash table with open addressing */
    size_t n_sessions, session_room;
    struct qt_heap moments, numbers, adds;
    struct qt_event **slow; /* open statements of rule 8 */
    size_t n_slow, slow_room;
    int64_t overlap_ns;
    struct qt_list own, adding; /* own: undecided writes outside transactions; adding: INSERTs without grant, by lo */
    struct qt_tx *transactions; /* list of all transactions */
    struct qt_block *blocks;
    struct qt_event *free_events;
    struct qt_columns *rows;
};

#endif
