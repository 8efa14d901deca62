/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's data, shared by its files. Contains only types and functions that must be inline.
 *
 *   feeder (the caller's thread)          supervisor                     timer probes
 *      │ copies events                       │ opens sessions ahead         sleep and note how late they wake
 *      ▼                                     │ sets zero, joins ended threads, ends the drain
 *   session.inbox ──► session thread ◄───────┘
 *      (one each)        │ connects, sleeps until due, sends, receives
 *                        ▼
 *                     chunk of records ──full or a second old──► engine.out ──► outcome stream (the caller's thread)
 *
 * Session threads only wait for each other to keep the order of commits (commit_order.c). They share counters and the
 * lock of engine.out. A thread holds this lock only briefly, to hand over a full chunk.
 *
 * Internal times are absolute, on CLOCK_MONOTONIC. They become relative to the run's zero when a record is written. */
#ifndef QT_ENGINE_STATE_H
#define QT_ENGINE_STATE_H

#include <pthread.h>
#include <string.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "engine/connection_state.h"

#define QT_NONE INT64_MIN /* no value; becomes NULL in an int64 column */

/* The session array consists of pieces, so that sessions keep their address when others are added. */
enum { QT_PIECE_SHIFT = 10, QT_PIECE_SESSIONS = 1 << QT_PIECE_SHIFT, QT_MAX_PIECES = 1 << 16 };

/* An event in a session's queue. The bytes of its statement follow, then its parameters. */
struct qt_planned_event {
    struct qt_planned_event *next;
    int64_t seq, due_ns, queued_ns; /* due_ns from the run's zero, queued_ns absolute */
    int64_t span_ns;                /* duration on the tape */
    int64_t clock_us, insert_id;    /* values to set before the event; QT_NONE = none */
    int64_t actions;                /* QT_ACTION_*; 0 if the command executes nothing */
    int64_t flags;
    const char *db;    /* interned: equal names are equal pointers; NULL = unknown or none */
    int64_t stmt;      /* number of the prepared statement in its session */
    uint64_t digest;   /* 0 = none */
    size_t len;        /* length of the statement; SIZE_MAX = no statement */
    size_t params_len; /* 0 = no parameters */
    char *params;      /* in the event's memory, after QT_PARAMS_ROOM free bytes */
    const char *waits; /* in the event's memory; NULL = neither waits nor commits */
    int32_t command, class;
    int32_t account; /* change_user: the new account; -1 = the run's own */
    int32_t refused; /* set by the feeder: QT_OVERLOAD, QT_NOT_PERMITTED; 0 = not refused */
    char statement[];
};

struct qt_record {
    int64_t session, seq, due_ns, queued_ns, free_ns, sent_ns, first_ns, done_ns;
    int64_t rows, affected, bytes, warnings, order_ns;
    uint64_t digest;        /* 0 = none */
    char *error;            /* owned; NULL = none */
    struct qt_checksum sum; /* row checksum; sum.results 0 = none computed */
    int32_t error_code;
    int32_t on_read_target; /* the read target answered */
    int32_t binary;         /* the checksummed rows use the binary protocol */
    int32_t reason;         /* enum qt_reason */
};

enum { QT_CHUNK_RECORDS = 64, QT_MAX_WAITING_RECORDS = 1 << 19 };

struct qt_chunk {
    struct qt_chunk *next;
    int64_t oldest_ns;
    int32_t n;
    struct qt_record record[QT_CHUNK_RECORDS];
};

/* Values of qt_session.sleep: why the session's thread sleeps. To wake the thread, swap in QT_AWAKE and wake the
 * futex. */
enum { QT_AWAKE = 0, QT_WAITS_FOR_EVENT = 1, QT_WAITS_FOR_TIME = 2, QT_WAITS_FOR_ZERO = 3, QT_WAITS_FOR_ORDER = 4 };

/* Special values of qt_session.stuck_due_ns: the wait is not stuck, or it is stuck and was broken. */
#define QT_NOT_STUCK INT64_MAX
#define QT_LET_GO INT64_MIN

/* Waits that a transaction skips until it ends: none; waits for statements that add rows; all. */
enum qt_unordered { QT_IN_ORDER = 0, QT_PAST_GUESSES = 1, QT_OUT_OF_ORDER = 2 };

enum { QT_UNBORN = 0, QT_LIVE = 1, QT_ENDED = 2 };

/* A session's connection to the target or the read target, and the known state of the session on that server. */
struct qt_backend {
    struct qt_connection connection;
    const char *current_db; /* interned: equal names are equal pointers */
    int64_t clock_us;       /* current value of `timestamp`; QT_NONE = the target's own clock */
    int own_clock;          /* the session itself set `timestamp`, as on the tape: the engine leaves it unchanged */
    int64_t thread_id;
    int32_t account; /* account of the login; -1 = the run's own */
    int32_t several; /* the target accepts several statements in one text */
};

/* Reasons why a session must stay on the target's connection. */
enum qt_pin { QT_PINNED_BY_TABLES = 1, QT_PINNED_BY_LOCKS = 2 };

struct qt_session {
    struct qt_engine *engine;
    /* Values from the plan. */
    int64_t id, open_due_ns, planned, client_flags; /* client_flags 0 = unknown */
    int64_t place;                                  /* index in the order of open_due_ns */
    const char *db, *charset, *names;               /* interned: equal names are equal pointers */
    int32_t ahead, account, collation;              /* account -1 = the run's own */
    int32_t concurrency; /* max pace: number of sessions open on the tape when this session opened, including itself */
    int64_t fed;         /* used by the feeder only, as is `planned` */
    int32_t quit_fed;    /* feeder only; in follow mode: the session's quit was fed, no event follows */
    /* The queue: the feeder pushes events, newest first. The session's thread takes all of them and reverses the
     * order. */
    _Atomic(struct qt_planned_event *) inbox;
    _Atomic uint32_t sleep;
    /* Only the session's thread uses the following members. */
    struct qt_planned_event *ready; /* taken from the inbox, oldest first */
    int64_t taken;                  /* number of events taken */
    int64_t free_ns;                /* time from which the session could send */
    int64_t answered_ns;            /* end of the previous answer, or of connecting */
    int64_t answered_stood_ns;      /* total pause of the plan until answered_ns */
    int64_t order_ns;               /* how long the current event waited for its turn */
    int64_t tape_end_ns;            /* tape end of the previous event, from zero; QT_NONE before the first */
    int64_t reopen_ns;              /* after a failed attempt: earliest time of the next attempt */
    int32_t pinned;                 /* enum qt_pin; non-zero: nothing is sent to the read target */
    int32_t in_tx;                  /* a transaction was open after the target's last answer */
    int32_t locks_tables;           /* LOCK TABLES holds until UNLOCK TABLES, the next LOCK TABLES or BEGIN */
    struct qt_chunk *chunk;
    struct qt_backend backends[2]; /* the target, and the optional read target */
    struct qt_backend *backend;    /* the backend in use */
    int32_t broken;                /* enum qt_reason for all further events; 0 = none */
    int32_t begun;                 /* the run has reached zero, so events can be sent */
    int32_t quit_taken;            /* the last event taken was a quit */
    int32_t rests;                 /* the connection was closed after rest_ns without an event */
    /* Results of the session. Until the session's thread ends, only that thread uses them. */
    int64_t connect_ns, connected_ns, closed_ns;
    int32_t error_code, in_transaction;
    char *error;
    _Atomic uint64_t executed, not_sent, reads, writes, others, errors, injected; /* written by its thread only */
    _Atomic uint64_t service_ns[QT_KINDS], delay_ns[QT_CAUSES];                   /* written by its thread only */
    _Atomic int64_t stuck_due_ns; /* tape due time of the event whose wait is stuck */
    _Atomic int32_t unordered;    /* enum qt_unordered */
    _Atomic int64_t at_seq;       /* seq of the last event that was begun; -1 = none */
    _Atomic int64_t at_table;     /* table whose commits the session waits for; -1 = none */
    _Atomic int64_t target_id;    /* connection id on the target; -1 = not open */
    /* Used by the supervisor. */
    _Atomic int32_t life; /* QT_UNBORN, QT_LIVE, QT_ENDED */
    int32_t no_thread;    /* the system could not create its thread */
    int32_t fd;           /* protected by engine.fd_lock; -1 = none */
    int32_t cut;          /* the engine shut down the socket; protected by engine.fd_lock */
    pthread_t thread;
    clockid_t cpu_clock;
    struct qt_session *next_ended;
};

struct qt_out {
    pthread_mutex_t lock;
    pthread_cond_t more, less; /* more: for the reader; less: for session threads over the limit */
    struct qt_chunk *first, *last, *spare;
    int64_t records, spares;
    _Atomic int done;
};

struct qt_timer_probe {
    struct qt_engine *engine;
    pthread_t thread;
    int64_t first_ns; /* first planned wake-up; absolute */
};

/* Counts by error number. A slot belongs to the first error number that takes it. */
struct qt_error_counts {
    _Atomic int32_t number[QT_METER_ERRORS]; /* 0 = free */
    _Atomic uint64_t count[QT_METER_ERRORS], elsewhere;
};

/* Maps the plan's time to the clock. From `plan_ns` (`real_ns` after zero) on, the plan runs `factor` times as fast as
 * the clock. While `paused`, the plan's time does not advance. */
struct qt_speed {
    pthread_mutex_t lock;
    _Atomic uint32_t changes; /* 0 = never changed: plan time equals clock time */
    int64_t plan_ns, real_ns;
    double factor;
    _Atomic int paused;
    int64_t stood_ns; /* total pause until real_ns */
};

/* All sessions, found by index or by number. Written before the start, and later only by the feeder. */
struct qt_session_table {
    struct qt_session **piece;  /* QT_MAX_PIECES pointers; NULL = no sessions yet */
    _Atomic int64_t n_sessions; /* grows during the run when following a tape */
    int64_t n_ahead;            /* the first n_ahead are opened before zero */
    struct qt_session **by_id;  /* hash table with open addressing; by_id_mask + 1 slots */
    uint64_t by_id_mask;
    const char **name; /* interned schema names */
    int64_t n_names, name_slots;
};

/* The supervisor's thread and its data about the session threads. */
struct qt_threads {
    pthread_t supervisor;
    int has_supervisor;
    clockid_t supervisor_cpu; /* valid if has_cpu_clock is set */
    _Atomic int32_t has_cpu_clock;
    _Atomic uint32_t wakeups; /* counts wake-ups of the supervisor, which sleeps while the value is unchanged */
    _Atomic int64_t settled;  /* number of sessions that connected or failed */
    _Atomic int64_t spawned, open, failures;
    _Atomic(struct qt_session *) ended_list;
    _Atomic int64_t ended_cpu_ns;
};

/* Times of the run. */
struct qt_schedule {
    int64_t start_ns;
    _Atomic int64_t zero_ns; /* absolute; 0 = not set yet */
    _Atomic int64_t go_ns;   /* with options.holds: the requested zero; 0 = not given yet */
    _Atomic int64_t zero_real_ns;
    _Atomic int64_t last_due_ns;
    struct qt_speed speed;
    struct qt_due_counts *due_counts;
};

/* Events between the feeder and the sessions: fed but not yet freed. */
struct qt_feed {
    pthread_mutex_t lock;
    _Atomic int32_t primed;  /* the first batch was fed, or the budget is full */
    _Atomic int32_t pushing; /* the feeder is processing a batch */
    _Atomic int32_t over;
    _Atomic int64_t announced; /* max pace: number of sessions that may be opened */
    int64_t virtual_open;      /* used by the feeder only */
    _Atomic int64_t queued;
    _Atomic int64_t room_at; /* the feeder sleeps until `queued` is at most this; -1 = awake */
    _Atomic uint32_t room_wakeups;
    struct qt_send_guard *guard; /* used by the feeder; NULL = everything may be sent */
};

/* Waits for other sessions' commits (commit_order.c). */
struct qt_waits {
    struct qt_order *order;         /* NULL = sessions are not ordered */
    _Atomic int64_t last_broken_ns; /* when a stuck wait was last broken */
    _Atomic int64_t stall_ns, stall_waits, stall_broken;
};

struct qt_probes {
    struct qt_timer_probe *probe;
    int32_t n;
    _Atomic uint32_t end;
};

/* Counters and measurements. Session threads add to them, and any thread reads them (stats.c). */
struct qt_measured {
    pthread_mutex_t lock;                 /* protects the *_before arrays */
    _Atomic uint64_t counts[QT_COUNTERS]; /* by enum qt_counter; per-event counters are in qt_session */
    struct qt_histogram service[QT_KINDS], late, tool, probe_late;
    struct qt_histogram delay[QT_CAUSES - 1]; /* without QT_LATE_TOOL: `tool` also counts events without a due time */
    struct qt_error_counts error_counts;
    struct qt_digest_times *digest_times;
    uint64_t service_before[QT_BUCKETS], late_before[QT_BUCKETS];
};

struct qt_engine {
    struct qt_engine_options options; /* the engine owns the texts */
    /* Options of the read target, if options.read_target is set. Only address, user and password differ from `options`,
     * and the engine owns these texts. */
    struct qt_engine_options read_target_options;
    _Atomic int32_t state;
    _Atomic int32_t stop;          /* greatest `how` that qt_stop received so far */
    _Atomic int64_t send_until_ns; /* see qt_engine_send_until; 0 = no limit */
    _Atomic int32_t ending;        /* the drain is over: sessions send nothing more */
    _Atomic int32_t ended_by;
    _Atomic(struct qt_session *) first_failed; /* the first session that could not connect; NULL = none */
    pthread_mutex_t fd_lock;
    struct qt_session_table table;
    struct qt_threads threads;
    struct qt_schedule schedule;
    struct qt_feed feed;
    struct qt_waits waits;
    struct qt_out out;
    struct qt_probes probes;
    struct qt_measured measured;
};

/* Returns the event's share of the memory budget, in bytes. */
static inline int64_t qt_planned_event_size(const struct qt_planned_event *ev)
{
    return (int64_t)(sizeof *ev + (ev->len == SIZE_MAX ? 0 : ev->len) + ev->params_len +
                     (ev->waits != NULL ? strlen(ev->waits) : 0));
}

static inline struct qt_session *qt_session_at(const struct qt_engine *e, int64_t i)
{
    return &e->table.piece[i >> QT_PIECE_SHIFT][i & (QT_PIECE_SESSIONS - 1)];
}

static inline int qt_unpaced(const struct qt_engine *e) { return e->options.pace == QT_PACE_NONE; }

static inline int qt_stopping(struct qt_engine *e) { return atomic_load(&e->stop) != 0; }

static inline int64_t qt_from_zero(struct qt_engine *e, int64_t ns)
{
    return ns == 0 ? QT_NONE : ns - atomic_load_explicit(&e->schedule.zero_ns, memory_order_relaxed);
}

static inline void qt_count(struct qt_engine *e, enum qt_counter which, uint64_t by)
{
    atomic_fetch_add_explicit(&e->measured.counts[which], by, memory_order_relaxed);
}

/* Counts a session that could not connect. Its error must be set. */
static inline void qt_count_failed(struct qt_session *s)
{
    struct qt_session *none = NULL;

    atomic_compare_exchange_strong(&s->engine->first_failed, &none, s);
    qt_count(s->engine, QT_COUNT_SESSIONS_FAILED, 1);
}

static inline int64_t qt_counted(struct qt_engine *e, enum qt_counter which)
{
    return (int64_t)atomic_load(&e->measured.counts[which]);
}

/* Adds to a counter. A counter with a single writer needs no locked instruction. */
static inline void qt_raise(_Atomic uint64_t *counter, uint64_t by)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by, memory_order_relaxed);
}

static inline void qt_bump(_Atomic uint64_t *counter) { qt_raise(counter, 1); }

static inline void qt_wake_supervisor(struct qt_engine *e)
{
    atomic_fetch_add(&e->threads.wakeups, 1);
    qt_futex_wake(&e->threads.wakeups, 1);
}

static inline void qt_wake(struct qt_session *s)
{
    if (atomic_exchange(&s->sleep, QT_AWAKE) != QT_AWAKE)
        qt_futex_wake(&s->sleep, 1);
}

/* Stops the run. Uses only atomic stores and a futex, so a signal handler may call it. */
static inline void qt_stop(struct qt_engine *e, int32_t how)
{
    int32_t before = atomic_load(&e->stop);
    while (how > before && !atomic_compare_exchange_weak(&e->stop, &before, how))
        ;
    qt_wake_supervisor(e);
}

/* Stops the engine for an internal reason. Nothing more is sent. Only the first reason is kept. */
static inline void qt_end_by(struct qt_engine *e, int32_t why)
{
    int32_t none = QT_BY_NOTHING;
    atomic_compare_exchange_strong(&e->ended_by, &none, why);
    qt_stop(e, 1);
}

#endif
