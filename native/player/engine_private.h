/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's files share.
 *
 *   feeder (the caller's thread)          conductor                      canaries
 *      │ copies events                       │ opens sessions ahead         sleep and note how late they wake
 *      ▼                                     │ sets zero, joins the ended, ends the drain
 *   session.inbox ──► session thread ◄───────┘
 *      (one each)        │ connects, sleeps until due, sends, receives
 *                        ▼
 *                     chunk of records ──full or a second old──► engine.out ──► outcome stream (the caller's thread)
 *
 * No session thread ever waits for another's sake: what they share are counters, and the lock of engine.out for the few
 * instructions of handing a full chunk over.
 *
 * Times inside are absolute, CLOCK_MONOTONIC; they become "from zero" when a record is written.
 */
#ifndef QT_ENGINE_PRIVATE_H
#define QT_ENGINE_PRIVATE_H

#include "clock.h"

#include <pthread.h>
#include <string.h>

#include "arrow_read.h"
#include "checksum.h"
#include "connection.h"
#include "histogram.h"
#include "stream.h"

#define QT_NONE INT64_MIN /* NULL in an int64 of a record */

enum qt_command {
    QT_COMMAND_QUERY = 1,
    QT_COMMAND_PREPARE = 2,
    QT_COMMAND_EXECUTE = 3,
    QT_COMMAND_CLOSE_STMT = 4,
    QT_COMMAND_RESET_STMT = 5,
    QT_COMMAND_LONG_DATA = 6,
    QT_COMMAND_FETCH = 7,
    QT_COMMAND_INIT_DB = 8,
    QT_COMMAND_PING = 9,
    QT_COMMAND_RESET_CONNECTION = 10,
    QT_COMMAND_CHANGE_USER = 11,
    QT_COMMAND_QUIT = 12,
    QT_COMMAND_PROCESS_KILL = 18,
    QT_COMMAND_SET_OPTION = 19,
    QT_COMMAND_BULK_EXECUTE = 24
};

enum qt_reason {
    QT_EXECUTED = 0,
    QT_CONNECT_FAILED,
    QT_CONNECTION_LOST,
    QT_STOPPED,
    QT_DRAIN_CUT,
    QT_SCHEMA_FAILED, /* its schema could not be selected: sent elsewhere it would be another statement */
    QT_AFTER_QUIT,
    QT_UNSUPPORTED,
    QT_NOT_PREPARED, /* its statement was not prepared here: the PREPARE failed, or was not sent */
    QT_NO_CURSOR,    /* the target opened none for it */
    QT_UNFIT,        /* its parameters don't fit the statement as the target knows it */
    QT_TRANSACTION_LOST, /* its transaction went with the connection: sent alone it would be another one */
    QT_OVERLOAD,     /* dropped: the queue was full and it was overdue */
    QT_NO_VICTIM     /* whom it would kill is not connected */
};

/* A waiting event; the statement's bytes follow it, then its parameters. */
struct qt_event {
    struct qt_event *next;
    int64_t seq, due_ns, fed_ns; /* due from zero, fed absolute */
    int64_t span_ns;             /* it took so long on the tape */
    int64_t clock_us, insert_id; /* to be set before it; QT_NONE = not */
    int64_t flags;
    const char *db;              /* interned: equal names are equal pointers; NULL = unknown or none */
    int64_t stmt;                /* number of its prepared statement in the session */
    size_t len;                  /* SIZE_MAX = it has no statement */
    size_t params_len;           /* 0 = it has none */
    char *params;                /* in the event's own memory, behind QT_PARAMS_ROOM free bytes */
    const char *waits;           /* in the event's own memory; NULL = it neither waits nor commits */
    int32_t command, class;
    int32_t account;             /* change_user: whom; -1 = the run's own */
    int32_t dropped;             /* by the feeder: QT_OVERLOAD */
    char statement[];
};

struct qt_record {
    int64_t session, seq, due_ns, fed_ns, free_ns, sent_ns, first_ns, done_ns;
    int64_t rows, affected, bytes, warnings, order_ns;
    char *error; /* owned; NULL = none */
    struct qt_checksum sum; /* no results: none was made */
    int32_t error_code;
    int32_t reader;  /* it was the reader that answered */
    int32_t binary;  /* of the checksum: the rows came in the binary protocol */
    int32_t reason; /* enum qt_reason */
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

/* qt_session.stuck_due_ns where its wait for the order is not stuck, and where it shall go on all the same. */
#define QT_NOT_STUCK INT64_MAX
#define QT_LET_GO INT64_MIN

/* A session's number on the tape, and which copy of it this is. */
#define QT_CLONE_SHIFT 40

enum { QT_UNBORN = 0, QT_LIVE = 1, QT_ENDED = 2 };

/* A connection of a session, and what is known of its state there. */
struct qt_side {
    struct qt_link link;
    const char *current_db;
    int64_t clock_us;            /* forced now; QT_NONE = the target's own */
    int64_t thread_id;
    int32_t account_now;
};

struct qt_session {
    struct qt_engine *engine;
    /* The plan. */
    int64_t id, open_due_ns, planned, client_flags; /* client_flags 0 where unknown */
    const char *db, *charset;    /* interned */
    int32_t ahead, account;      /* account -1 = the run's own */
    int32_t concurrency;         /* max pace: sessions open on the tape when this one opened, itself included */
    int64_t fed;                 /* feeder's */
    /* The queue: the feeder pushes, newest first; the session's thread takes all and turns them round. */
    _Atomic(struct qt_event *) inbox;
    _Atomic uint32_t sleep;
    /* The session thread's own. */
    struct qt_event *ready;      /* taken from the inbox, oldest first */
    int64_t taken, free_ns;      /* free: able to send since */
    int64_t answered_ns;         /* end of the answer before; when connected, before the first */
    int64_t order_ns;            /* how long the event at hand waited for its turn */
    int64_t tape_end_ns;         /* end of the event before, from zero; QT_NONE before the first */
    int64_t reopen_ns;           /* after a failed attempt: when the next may be made */
    int32_t pinned;              /* it has temporary tables or locks: nothing goes to the reader */
    int32_t in_tx;               /* a transaction was open after the target's last answer */
    int32_t unordered;           /* a wait of that transaction was broken: the rest of it waits no more */
    struct qt_chunk *chunk;
    struct qt_side sides[2];     /* the target, and the reader where there is one */
    struct qt_side *side;        /* in use just now */
    int32_t broken;              /* enum qt_reason of every further event; 0 = none */
    /* Results; the thread's until it ended. */
    int64_t connect_ns, connected_ns, closed_ns;
    int32_t error_code, in_transaction;
    char *error;
    _Atomic uint64_t executed, not_sent, reads, writes, errors, injected; /* written by one thread only */
    _Atomic int64_t stuck_due_ns; /* when its stuck wait's event was due on the tape */
    _Atomic int64_t target_id;   /* connection id on the target while it is open, else -1 */
    /* For the conductor. */
    _Atomic int32_t life;
    int32_t orphaned;            /* the system gave it no thread */
    int32_t fd;                  /* under engine.fd_lock; -1 = none */
    int32_t cut;                 /* under engine.fd_lock: shut down by us */
    pthread_t thread;
    clockid_t cpu_clock;
    struct qt_session *next_ended;
};

struct qt_out {
    pthread_mutex_t lock;
    pthread_cond_t more, less;   /* for the reader; for session threads over the bound */
    struct qt_chunk *first, *last, *spare;
    int64_t records, spares;
    _Atomic int done;
};

struct qt_canary {
    struct qt_engine *engine;
    pthread_t thread;
    int64_t first_ns;            /* absolute */
};

/* The plan's time against the clock: from `plan_ns` on, which is `real_ns` from zero, it runs `factor` times as fast. */
struct qt_tempo {
    pthread_mutex_t lock;
    _Atomic uint32_t changes;    /* 0 = never changed: the plan's time is the clock's */
    int64_t plan_ns, real_ns;
    double factor;
};

struct qt_engine {
    struct qt_engine_options options; /* texts are ours */
    struct qt_engine_options reader_options; /* where options.reader says so; address, user and password are ours */
    struct qt_session *session;
    int64_t n_sessions, n_ahead; /* the first n_ahead are opened before zero */
    struct qt_session **by_id;   /* open addressing; by_id_mask + 1 slots */
    uint64_t by_id_mask;
    const char **name;           /* interned schema names */
    int64_t n_names, name_slots;
    pthread_t conductor;
    int has_conductor;
    clockid_t conductor_cpu;     /* where has_cpu_clock tells so */
    _Atomic int32_t has_cpu_clock;
    int64_t start_ns;
    pthread_mutex_t fd_lock, feed_lock, stats_lock;
    struct qt_out out;
    struct qt_canary *canary;
    int32_t n_canaries;
    _Atomic uint32_t canary_end;

    _Atomic int64_t zero_ns;     /* 0 = not yet */
    _Atomic int64_t zero_real_ns;
    _Atomic int32_t state;
    _Atomic int32_t stop;        /* the greatest `how` so far */
    _Atomic uint32_t bell;       /* rung for the conductor: counts up */
    _Atomic int32_t ending;      /* drain is over: sessions send nothing more */

    _Atomic int32_t primed;      /* the feeder has given its first batch, or all that fits */
    _Atomic int32_t pushing;     /* the feeder is between two reads of its stream */
    _Atomic int32_t feed_over;
    _Atomic int64_t last_due_ns;
    _Atomic int64_t announced;   /* max pace: sessions whose time on the tape the feeder has reached */
    int64_t virtual_open;        /* feeder's */
    _Atomic uint64_t fed;
    _Atomic int64_t queued;
    _Atomic int64_t room_at;     /* -1, or the feeder sleeps until `queued` is at most this */
    _Atomic uint32_t room_bell;

    _Atomic int64_t settled;     /* sessions connected or failed */
    _Atomic int64_t spawned, open, opened, failed, lost, ended, drain_cut;
    _Atomic int64_t reopened, timeouts, overload_waits, overload_drops, order_waits, order_broken, order_wait_ns, failures,
        unforced, mirror_failed;
    _Atomic int64_t last_broken_ns; /* when a stuck wait for the order was last let go */
    _Atomic int32_t ended_by;
    struct qt_order *order;      /* NULL = sessions are not ordered */
    struct qt_tempo tempo;
    _Atomic(struct qt_session *) ended_list;
    _Atomic int64_t ended_cpu_ns;

    struct qt_histogram service, late, tool, canary_late;
    uint64_t service_before[QT_BUCKETS], late_before[QT_BUCKETS];
};

/* What a waiting event takes of the memory budget. */
static inline int64_t qt_event_size(const struct qt_event *ev)
{
    return (int64_t)(sizeof *ev + (ev->len == SIZE_MAX ? 0 : ev->len) + ev->params_len +
                     (ev->waits != NULL ? strlen(ev->waits) : 0));
}

static inline int qt_unpaced(const struct qt_engine *e) { return e->options.pace == QT_PACE_NONE; }

static inline int qt_stopping(struct qt_engine *e) { return atomic_load(&e->stop) != 0; }

static inline int64_t qt_from_zero(struct qt_engine *e, int64_t ns)
{
    return ns == 0 ? QT_NONE : ns - atomic_load_explicit(&e->zero_ns, memory_order_relaxed);
}

/* Counters with one writer need no locked instruction. */
static inline void qt_bump(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline void qt_ring(struct qt_engine *e)
{
    atomic_fetch_add(&e->bell, 1);
    qt_futex_wake(&e->bell, 1);
}

static inline void qt_wake(struct qt_session *s)
{
    if (atomic_exchange(&s->sleep, QT_AWAKE) != QT_AWAKE)
        qt_futex_wake(&s->sleep, 1);
}

/* The engine ends itself: nothing more is sent. The first reason stays. */
static inline void qt_end_by(struct qt_engine *e, int32_t why)
{
    int32_t none = QT_BY_NOTHING;
    atomic_compare_exchange_strong(&e->ended_by, &none, why);
    qt_engine_stop(e, 1);
}

/* engine.c */
const char *qt_intern(struct qt_engine *, const char *name, size_t len); /* NULL when out of memory */
struct qt_session *qt_find_session(struct qt_engine *, int64_t id);
int qt_thread_start(pthread_t *, int64_t stack_bytes, void *(*run)(void *), void *arg); /* 0 or an errno */

/* conductor.c, session.c, canary.c: what their threads run */
void *qt_conductor_run(void *engine);
void *qt_session_run(void *session);
void qt_canaries_start(struct qt_engine *, int64_t zero_ns);
void qt_canaries_end(struct qt_engine *);

/* commands.c: for the session's thread */
/* Why the command cannot be sent as things are, or QT_EXECUTED. */
enum qt_reason qt_command_hindrance(struct qt_session *, const struct qt_event *);
int qt_command_needs_schema(const struct qt_event *);
int qt_command_runs_sql(const struct qt_event *);
/* Sends any but quit and takes its answer: QT_EXECUTED, or why nothing was sent. */
enum qt_reason qt_command_send(struct qt_session *, const struct qt_event *, struct qt_answer *);

/* queue.c: a session's thread (or, where it has none, the conductor) alone */
struct qt_event *qt_session_take(struct qt_session *); /* the next waiting event, NULL = none just now */
struct qt_event *qt_next_event(struct qt_session *);   /* waits for it; NULL when there will be no more */
void qt_event_free(struct qt_session *, struct qt_event *); /* and tells the feeder, where it waits for room */
/* A record with what every one has; NULL when there is no memory: the counters then still tell. */
struct qt_record *qt_note(struct qt_session *, const struct qt_event *, int64_t now_ns);
void qt_session_refuse(struct qt_session *, struct qt_event *, enum qt_reason); /* not sent; the event is freed */
int64_t qt_await_zero(struct qt_session *); /* zero is set even where the run is stopped before it */
int64_t qt_sleep_until(struct qt_session *, int64_t until_ns); /* or until a stop; returns the time */
/* One sleep, which may end early; none where the tempo has changed since `tempo_seen`. */
void qt_nap(struct qt_session *, int64_t until_ns, uint32_t tempo_seen);

/* pace.c */
int64_t qt_clock_of(struct qt_engine *, int64_t plan_ns); /* absolute; after zero only */
int64_t qt_due_of(struct qt_session *, const struct qt_event *); /* absolute; QT_NONE = nothing is due at this pace */
int64_t qt_sleep_until_due(struct qt_session *, const struct qt_event *); /* returns the time */
void qt_wake_sleepers(struct qt_engine *);

/* ready.c: before an event is due its session is brought into the state that it needs. QT_EXECUTED, or why it can't be sent;
 * then it was written down already. */
enum qt_reason qt_make_ready(struct qt_session *, const struct qt_event *);
/* The connection is of no use any more; 1 where it was us who cut it. *text becomes what is to be told. */
int qt_session_lose(struct qt_session *, const struct qt_answer *, const char **text);

/* sides.c: reads may be answered by a second target, the reader */
const struct qt_engine_options *qt_options_of(const struct qt_session *); /* what the side in use is connected with */
void qt_take_side(struct qt_session *, int reader);
int qt_goes_to_reader(struct qt_session *, const struct qt_event *);
/* After an answer: what changes the session's state is done on the reader as well, and counted as injected. */
void qt_mirror(struct qt_session *, const struct qt_event *);

/* commit_order.c */
struct qt_order *qt_order_new(int32_t tables); /* NULL when out of memory */
void qt_order_free(struct qt_order *);
void qt_order_wait(struct qt_session *, const struct qt_event *); /* until its turn, a stop, or the bound */
void qt_order_done(struct qt_engine *, const struct qt_event *);  /* it was answered, or never will be sent */

/* outcomes.c */
int qt_out_init(struct qt_engine *);
void qt_out_free(struct qt_engine *);
void qt_out_done(struct qt_engine *);
/* A record to be filled, of the session's chunk; NULL when out of memory. */
struct qt_record *qt_record_new(struct qt_session *, int64_t now_ns);
void qt_records_hand_over(struct qt_session *);

#endif
