/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's data, which its files share: types and what must be inline, nothing else.
 *
 *   feeder (the caller's thread)          supervisor                     timer probes
 *      │ copies events                       │ opens sessions ahead         sleep and note how late they wake
 *      ▼                                     │ sets zero, joins the ended, ends the drain
 *   session.inbox ──► session thread ◄───────┘
 *      (one each)        │ connects, sleeps until due, sends, receives
 *                        ▼
 *                     chunk of records ──full or a second old──► engine.out ──► outcome stream (the caller's thread)
 *
 * No session thread waits for another, but where the order of commits wants it (commit_order.c): what they share are
 * counters, and the lock of engine.out for the few instructions of handing a full chunk over.
 *
 * Times inside are absolute, CLOCK_MONOTONIC; they become "from zero" when a record is written.
 */
#ifndef QT_ENGINE_STATE_H
#define QT_ENGINE_STATE_H

#include <pthread.h>
#include <string.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/histogram.h"
#include "engine/connection_state.h"

#define QT_NONE INT64_MIN /* no value: NULL in an int64 of a record */

/* Sessions stay where they are while others come: the array is made of pieces. */
enum { QT_PIECE_SHIFT = 10, QT_PIECE_SESSIONS = 1 << QT_PIECE_SHIFT, QT_MAX_PIECES = 1 << 16 };

/* A waiting event; the statement's bytes follow it, then its parameters. */
struct qt_planned_event {
    struct qt_planned_event *next;
    int64_t seq, due_ns, queued_ns; /* due from zero, queued absolute */
    int64_t span_ns;                /* its duration on the tape */
    int64_t clock_us, insert_id;    /* to be set before it; QT_NONE = not */
    int64_t actions;                /* QT_ACTION_*; 0 where the command executes nothing */
    int64_t flags;
    const char *db;    /* interned: equal names are equal pointers; NULL = unknown or none */
    int64_t stmt;      /* number of its prepared statement in the session */
    uint64_t digest;   /* 0 = none */
    size_t len;        /* SIZE_MAX = it has no statement */
    size_t params_len; /* 0 = it has none */
    char *params;      /* in the event's own memory, behind QT_PARAMS_ROOM free bytes */
    const char *waits; /* in the event's own memory; NULL = it neither waits nor commits */
    int32_t command, class;
    int32_t account; /* change_user: to which; -1 = the run's own */
    int32_t refused; /* by the feeder: QT_OVERLOAD, QT_NOT_PERMITTED; 0 = not */
    char statement[];
};

struct qt_record {
    int64_t session, seq, due_ns, queued_ns, free_ns, sent_ns, first_ns, done_ns;
    int64_t rows, affected, bytes, warnings, order_ns;
    uint64_t digest;        /* 0 = none */
    char *error;            /* owned; NULL = none */
    struct qt_checksum sum; /* no results: none was made */
    int32_t error_code;
    int32_t on_read_target; /* it was the read target that answered */
    int32_t binary;         /* of the checksum: the rows came in the binary protocol */
    int32_t reason;         /* enum qt_reason */
};

enum { QT_CHUNK_RECORDS = 64, QT_MAX_WAITING_RECORDS = 1 << 19 };

struct qt_chunk {
    struct qt_chunk *next;
    int64_t oldest_ns;
    int32_t n;
    struct qt_record record[QT_CHUNK_RECORDS];
};

/* Why a session's thread sleeps: qt_session.sleep. Whoever wants it awake swaps in QT_AWAKE and wakes the futex. */
enum { QT_AWAKE = 0, QT_WAITS_FOR_EVENT = 1, QT_WAITS_FOR_TIME = 2, QT_WAITS_FOR_ZERO = 3, QT_WAITS_FOR_ORDER = 4 };

/* qt_session.stuck_due_ns where its wait for the order is not stuck, and where it is to go on all the same. */
#define QT_NOT_STUCK INT64_MAX
#define QT_LET_GO INT64_MIN

/* What a transaction no longer waits for, until it ends: nothing; statements that add rows; all. */
enum qt_unordered { QT_IN_ORDER = 0, QT_PAST_GUESSES = 1, QT_OUT_OF_ORDER = 2 };

enum { QT_UNBORN = 0, QT_LIVE = 1, QT_ENDED = 2 };

/* A connection of a session, to the target or the read target, and what is known of the session's state there. */
struct qt_backend {
    struct qt_connection connection;
    const char *current_db; /* interned */
    int64_t clock_us;       /* set just now; QT_NONE = the target's own */
    int own_clock;          /* the session set `timestamp` itself, as on the tape: it is left alone */
    int64_t thread_id;
    int32_t account; /* logged in as; -1 = the run's own */
    int32_t several; /* the target was told to take several statements in one text */
};

/* What is of one connection alone. */
enum qt_pin { QT_PINNED_BY_TABLES = 1, QT_PINNED_BY_LOCKS = 2 };

struct qt_session {
    struct qt_engine *engine;
    /* The plan. */
    int64_t id, open_due_ns, planned, client_flags; /* client_flags 0 where unknown */
    int64_t place;                                  /* among the sessions, which are in order of open_due_ns */
    const char *db, *charset, *names;               /* interned */
    int32_t ahead, account, collation;              /* account -1 = the run's own */
    int32_t concurrency; /* max pace: sessions open on the tape when this one opened, itself included */
    int64_t fed;         /* feeder's; so is `planned` */
    int32_t quit_fed;    /* feeder's: following, it has been given its quit and gets nothing more */
    /* The queue: the feeder pushes, newest first; the session's thread takes all and turns them round. */
    _Atomic(struct qt_planned_event *) inbox;
    _Atomic uint32_t sleep;
    /* The session thread's own. */
    struct qt_planned_event *ready; /* taken from the inbox, oldest first */
    int64_t taken;                  /* events */
    int64_t free_ns;                /* able to send since */
    int64_t answered_ns;            /* end of the answer before; when connected, before the first */
    int64_t answered_stood_ns;      /* how long the plan had been paused by then */
    int64_t order_ns;               /* how long the event at hand waited for its turn */
    int64_t tape_end_ns;            /* end of the event before, from zero; QT_NONE before the first */
    int64_t reopen_ns;              /* after a failed attempt: when the next may be made */
    int32_t pinned;                 /* enum qt_pin: nothing goes to the read target */
    int32_t in_tx;                  /* a transaction was open after the target's last answer */
    struct qt_chunk *chunk;
    struct qt_backend backends[2]; /* the target, and the read target where there is one */
    struct qt_backend *backend;    /* in use just now */
    int32_t broken;                /* enum qt_reason of every further event; 0 = none */
    int32_t quit_taken;            /* its last event was a quit */
    int32_t rests;                 /* its connection was closed, for nothing came for rest_ns */
    /* Results; the thread's until it ended. */
    int64_t connect_ns, connected_ns, closed_ns;
    int32_t error_code, in_transaction;
    char *error;
    _Atomic uint64_t executed, not_sent, reads, writes, others, errors, injected; /* written by one thread only */
    _Atomic uint64_t service_ns[QT_KINDS], delay_ns[QT_CAUSES];                   /* so are these */
    _Atomic int64_t stuck_due_ns; /* when its stuck wait's event was due on the tape */
    _Atomic int32_t unordered;    /* enum qt_unordered */
    _Atomic int64_t at_seq;       /* its last event that was begun; -1 = none */
    _Atomic int64_t at_table;     /* whose commits it waits for; -1 = for none */
    _Atomic int64_t target_id;    /* connection id on the target while it is open, else -1 */
    /* For the supervisor. */
    _Atomic int32_t life; /* QT_UNBORN, QT_LIVE, QT_ENDED */
    int32_t no_thread;    /* the system gave it no thread */
    int32_t fd;           /* under engine.fd_lock; -1 = none */
    int32_t cut;          /* under engine.fd_lock: shut down by us */
    pthread_t thread;
    clockid_t cpu_clock;
    struct qt_session *next_ended;
};

struct qt_out {
    pthread_mutex_t lock;
    pthread_cond_t more, less; /* for the reader; for session threads over the bound */
    struct qt_chunk *first, *last, *spare;
    int64_t records, spares;
    _Atomic int done;
};

struct qt_timer_probe {
    struct qt_engine *engine;
    pthread_t thread;
    int64_t first_ns; /* of its first wake-up; absolute */
};

/* How often each error number came: a slot belongs to the first number that took it. */
struct qt_error_counts {
    _Atomic int32_t number[QT_METER_ERRORS]; /* 0 = free */
    _Atomic uint64_t count[QT_METER_ERRORS], elsewhere;
};

/* The plan's time against the clock: from `plan_ns` on, which is `real_ns` from zero, it runs `factor` times as
 * fast; `paused`: it stands still. */
struct qt_speed {
    pthread_mutex_t lock;
    _Atomic uint32_t changes; /* 0 = never changed: the plan's time is the clock's */
    int64_t plan_ns, real_ns;
    double factor;
    _Atomic int paused;
    int64_t stood_ns; /* how long it was paused until real_ns */
};

/* All sessions, found by place or by number; written before the start and by the feeder. */
struct qt_session_table {
    struct qt_session **piece;  /* QT_MAX_PIECES, NULL where there are no sessions yet */
    _Atomic int64_t n_sessions; /* following: grows while the engine runs */
    int64_t n_ahead;            /* the first n_ahead are opened before zero */
    struct qt_session **by_id;  /* open addressing; by_id_mask + 1 slots */
    uint64_t by_id_mask;
    const char **name; /* interned schema names */
    int64_t n_names, name_slots;
};

/* The supervisor's thread, and what it knows of the sessions' threads. */
struct qt_threads {
    pthread_t supervisor;
    int has_supervisor;
    clockid_t supervisor_cpu; /* valid while has_cpu_clock */
    _Atomic int32_t has_cpu_clock;
    _Atomic uint32_t wakeups; /* of the supervisor: counts up, and it sleeps while it does not */
    _Atomic int64_t settled;  /* sessions connected or failed */
    _Atomic int64_t spawned, open, failures;
    _Atomic(struct qt_session *) ended_list;
    _Atomic int64_t ended_cpu_ns;
};

/* When things are due. */
struct qt_schedule {
    int64_t start_ns;
    _Atomic int64_t zero_ns; /* 0 = not yet */
    _Atomic int64_t go_ns;   /* options.holds: what zero is to be; 0 = not told yet */
    _Atomic int64_t zero_real_ns;
    _Atomic int64_t last_due_ns;
    struct qt_speed speed;
    struct qt_due_counts *due_counts;
};

/* Between the feeder and the sessions: what was fed and is not taken yet. */
struct qt_feed {
    pthread_mutex_t lock;
    _Atomic int32_t primed;  /* the feeder has given its first batch, or all that fits */
    _Atomic int32_t pushing; /* the feeder is between two reads of its stream */
    _Atomic int32_t over;
    _Atomic int64_t announced; /* max pace: sessions whose time on the tape the feeder has reached */
    int64_t virtual_open;      /* feeder's */
    _Atomic int64_t queued;
    _Atomic int64_t room_at; /* -1, or the feeder sleeps until `queued` is at most this */
    _Atomic uint32_t room_wakeups;
    struct qt_send_guard *guard; /* the feeder's; NULL = everything may be sent */
};

/* Waits for other sessions' commits (commit_order.c). */
struct qt_waits {
    struct qt_order *order;         /* NULL = sessions are not ordered */
    _Atomic int64_t last_broken_ns; /* when a stuck wait was last let go */
    _Atomic int64_t stall_ns, stall_waits, stall_broken;
};

struct qt_probes {
    struct qt_timer_probe *probe;
    int32_t n;
    _Atomic uint32_t end;
};

/* What is counted and measured; session threads add, whoever asks reads (stats.c). */
struct qt_measured {
    pthread_mutex_t lock;                 /* of what was there before */
    _Atomic uint64_t counts[QT_COUNTERS]; /* by enum qt_counter; what each session counts itself is in qt_session */
    struct qt_histogram service[QT_KINDS], late, tool, probe_late;
    struct qt_histogram delay[QT_CAUSES - 1]; /* of `tool` is another matter: it is noted where nothing is due, too */
    struct qt_error_counts error_counts;
    struct qt_digest_times *digest_times;
    uint64_t service_before[QT_BUCKETS], late_before[QT_BUCKETS];
};

struct qt_engine {
    struct qt_engine_options options; /* texts are ours */
    /* With options.read_target: the same but for address, user and password, which are ours. */
    struct qt_engine_options read_target_options;
    _Atomic int32_t state;
    _Atomic int32_t stop;   /* the greatest `how` so far */
    _Atomic int32_t ending; /* drain is over: sessions send nothing more */
    _Atomic int32_t ended_by;
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

/* What a waiting event takes of the memory budget. */
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

static inline int64_t qt_counted(struct qt_engine *e, enum qt_counter which)
{
    return (int64_t)atomic_load(&e->measured.counts[which]);
}

/* Counters with one writer need no locked instruction. */
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

/* Nothing but atomic stores and a futex: a signal handler may call it. */
static inline void qt_stop(struct qt_engine *e, int32_t how)
{
    int32_t before = atomic_load(&e->stop);
    while (how > before && !atomic_compare_exchange_weak(&e->stop, &before, how))
        ;
    qt_wake_supervisor(e);
}

/* The engine ends itself: nothing more is sent. The first reason stays. */
static inline void qt_end_by(struct qt_engine *e, int32_t why)
{
    int32_t none = QT_BY_NOTHING;
    atomic_compare_exchange_strong(&e->ended_by, &none, why);
    qt_stop(e, 1);
}

#endif
