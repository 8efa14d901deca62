/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session's thread.
 *
 *   sleep until open_due ─► connect ─► [ take an event ─► prepare it ─► sleep until due ─► send ─► receive ]* ─► quit
 *                             │ failed                                                     │ lost
 *                             └─────────────► take each event and refuse it ◄──────────────┘
 *
 * A thread whose connection failed continues to take its events. The feeder then never waits for it, and every fed
 * event is counted. */
#include "engine/session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/arrow_build.h"
#include "engine/backend.h"
#include "engine/connection.h"
#include "engine/direct_answer.h"
#include "engine/finish_event.h"
#include "engine/outcomes.h"
#include "engine/pace.h"
#include "engine/prepare_event.h"
#include "engine/queue.h"
#include "engine/read_split.h"
#include "engine/send_command.h"

#define SHORTEST_SILENCE_NS (QT_SECOND / 10)
#define LONGEST_LOOK_NS (QT_SECOND / 2)
#define REOPEN_EVERY_NS QT_SECOND /* retry interval while a target restarts */

/* Stores the connection's socket, so that the supervisor can shut it down. */
static void note_socket(void *self, int fd)
{
    struct qt_session *s = self;
    pthread_mutex_lock(&s->engine->fd_lock);
    s->fd = fd;
    if (s->cut)
        shutdown(fd, SHUT_RDWR);
    pthread_mutex_unlock(&s->engine->fd_lock);
}

/* Removes the socket from the session. Afterwards no other thread uses the socket. */
static void forget_socket(struct qt_session *s)
{
    pthread_mutex_lock(&s->engine->fd_lock);
    s->fd = -1;
    pthread_mutex_unlock(&s->engine->fd_lock);
}

static void keep_error(struct qt_session *s, int code, const char *text)
{
    s->error_code = code;
    if (s->error == NULL && text != NULL)
        s->error = strdup(text);
    if (s->error != NULL)
        qt_utf8_repair(s->error); /* a server message may contain any bytes */
}

/* Connects the backend in use. Returns the errno. */
static int connect_to(struct qt_session *s, const char *db)
{
    struct qt_engine *e = s->engine;
    struct qt_login login = {s->account, s->client_flags, s->charset, s->names, s->collation, db};

    s->backend->connection = (struct qt_connection){
        .opened = note_socket,
        .self = s,
        .fd = -1,
        .verify = e->options.verify,
        .counts = e->measured.counts,
    };
    return qt_connection_open(&s->backend->connection, qt_options_for(s), &login);
}

/* Opens the backend in use, with `db` as its initial schema. An earlier event of the tape may still have to create this
 * schema. The session then opens without a schema, and its events select the schema. Returns 0, or 1 if it failed. */
static int open_backend(struct qt_session *s, const char *db)
{
    struct qt_engine *e = s->engine;
    struct qt_connection *c = &s->backend->connection;
    int code = connect_to(s, db);

    if (code == QT_NO_SUCH_SCHEMA && db != NULL) {
        forget_socket(s);
        qt_connection_close(c);
        db = NULL;
        code = connect_to(s, db);
    }
    if (code == 0) {
        qt_direct_allow(c);
        s->backend->current_db = db;
        s->backend->account = s->account;
        s->backend->clock_us = QT_NONE;
        s->backend->own_clock = 0;
        s->backend->several = 0;
        s->backend->thread_id = qt_connection_thread_id(c);
        if (c->names_set)
            qt_bump(&s->injected);
        if (e->options.init != NULL)
            qt_bump(&s->injected);
        return 0;
    }
    keep_error(s, code, qt_connection_error(c));
    forget_socket(s);
    qt_connection_close(c);
    return 1;
}

/* Connects to the target, then to the optional read target. */
static int open_backends(struct qt_session *s, const char *db)
{
    struct qt_engine *e = s->engine;
    int failed;

    qt_use_backend(s, 0);
    failed = open_backend(s, db);
    if (!failed && e->options.read_target != NULL) {
        qt_use_backend(s, 1);
        failed = open_backend(s, db);
        qt_use_backend(s, 0);
        if (failed) {
            forget_socket(s);
            qt_connection_close(&s->backend->connection);
        }
    }
    if (failed)
        return 1;
    s->free_ns = s->answered_ns = qt_now();
    s->answered_stood_ns = qt_stood_ns(s->engine);
    s->in_tx = s->pinned = s->locks_tables = 0;
    atomic_store(&s->target_id, s->backend->thread_id);
    atomic_fetch_add(&e->threads.open, 1);
    return 0;
}

static void connect_first(struct qt_session *s)
{
    s->connect_ns = qt_now();
    if (open_backends(s, s->db) == 0) {
        s->connected_ns = s->free_ns;
        qt_count(s->engine, QT_COUNT_SESSIONS_OPENED, 1);
    } else {
        s->broken = QT_CONNECT_FAILED;
        qt_count_failed(s);
    }
}

static void close_backends(struct qt_session *s)
{
    qt_use_backend(s, 0);
    if (s->backend->connection.mysql == NULL)
        return;
    atomic_store(&s->target_id, -1);
    if (s->connected_ns != 0)
        s->in_transaction = s->broken ? -1 : qt_connection_in_transaction(&s->backend->connection);
    forget_socket(s);
    qt_connection_close(&s->backends[1].connection);
    qt_connection_close(&s->backend->connection);
    s->closed_ns = qt_now();
    atomic_fetch_sub(&s->engine->threads.open, 1);
}

/* Returns whether the event belongs to the transaction that was lost with the connection. Such an event is not sent,
 * because the remaining events alone would be a different transaction. COMMIT AND CHAIN is sent, because it only ends
 * the lost transaction and begins the next. */
static int is_of_lost_transaction(struct qt_session *s, const struct qt_planned_event *ev)
{
    int64_t ends = ev->actions & (QT_ACTION_COMMIT | QT_ACTION_ROLLBACK), begins = ev->actions & QT_ACTION_BEGIN;

    if (!s->in_tx || (begins && (!ends || ev->class == QT_CLASS_TRANSACTION)) ||
        (ev->actions & (QT_ACTION_IMPLICIT_COMMIT | QT_ACTION_AUTOCOMMIT_ON)))
        return 0;
    if (ends)
        s->in_tx = begins != 0;
    return 1;
}

/* Reopens a lost connection. The remaining events of the lost transaction are not sent. No event is refused before it
 * is due, because the target may be available again by then. */
static void reopen(struct qt_session *s, const struct qt_planned_event *ev)
{
    struct qt_engine *e = s->engine;

    if (is_of_lost_transaction(s, ev)) {
        s->broken = QT_TRANSACTION_LOST;
        return;
    }
    if (qt_unpaced(e))
        qt_sleep_until(s, s->reopen_ns);
    else
        qt_sleep_until_due(s, ev);
    if (qt_now() < s->reopen_ns || qt_stopping(e) || atomic_load(&e->ending))
        return;
    close_backends(s);
    if (open_backends(s, s->backend->current_db) == 0) {
        s->broken = QT_EXECUTED;
        qt_count(e, QT_COUNT_SESSIONS_REOPENED, 1);
    } else {
        s->reopen_ns = qt_now() + REOPEN_EVERY_NS;
    }
}

/* Returns how long a followed session may be silent before its connection is closed. The time becomes shorter when more
 * sessions are open, because the target's connections are limited. */
static int64_t allowed_silence_ns(struct qt_engine *e)
{
    int64_t open = atomic_load(&e->threads.open), room = e->options.rest_open, whole = e->options.rest_ns, ns;

    if (room <= 0 || 2 * open <= room)
        return whole;
    ns = open < room ? whole / room * 2 * (room - open) : 0;
    return ns > SHORTEST_SILENCE_NS ? ns : SHORTEST_SILENCE_NS < whole ? SHORTEST_SILENCE_NS : whole;
}

/* Closes the connection of a session that was silent for a long time. Used when following a tape that does not record
 * the end of sessions. */
static void rest(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    int64_t silent = 0, look;

    if (e->options.rest_ns == 0 || s->broken || s->in_tx || s->rests)
        return;
    for (; silent < allowed_silence_ns(e); silent += look) {
        look = allowed_silence_ns(e) / 4;
        look = look < LONGEST_LOOK_NS ? look : LONGEST_LOOK_NS;
        if (qt_comes_within(s, look))
            return;
    }
    close_backends(s);
    s->rests = 1;
    qt_count(e, QT_COUNT_SESSIONS_RESTED, 1);
}

/* Connects again when the next event of a resting session arrives. */
static void wake_up(struct qt_session *s)
{
    s->rests = 0;
    if (qt_stopping(s->engine)) /* the event is refused later */
        return;
    if (open_backends(s, s->backend->current_db) == 0) {
        qt_count(s->engine, QT_COUNT_SESSIONS_REOPENED, 1);
        return;
    }
    s->broken = QT_CONNECTION_LOST;
    qt_count(s->engine, QT_COUNT_SESSIONS_LOST, 1);
}

/* Sends the event and waits for its answer. Returns QT_EXECUTED, or the reason why nothing was sent. */
static enum qt_reason send_event(struct qt_session *s, const struct qt_planned_event *ev, struct qt_answer *a)
{
    if (ev->command != QT_COMMAND_QUIT) {
        struct qt_connection *c = &s->backend->connection;
        uint64_t rows = c->bulk_rows;
        enum qt_reason why = qt_command_send(s, ev, a);
        if (ev->insert_id != QT_NONE && c->bulk_rows > rows + 1) /* only the first row gets its id */
            qt_count(s->engine, QT_COUNT_OVERRIDES_FAILED, 1);
        return why;
    }
    memset(a, 0, sizeof *a);
    close_backends(s);
    a->done_ns = s->closed_ns;
    s->broken = QT_AFTER_QUIT;
    return QT_EXECUTED;
}

/* Returns whether the time is past in which the engine may send. */
static int is_past_limit(struct qt_engine *e)
{
    int64_t until = atomic_load_explicit(&e->send_until_ns, memory_order_relaxed);
    return until != 0 && qt_now() > until;
}

/* Returns why nothing more may be sent, or 0. */
static enum qt_reason why_not_sendable(struct qt_session *s)
{
    if (s->broken)
        return (enum qt_reason)s->broken;
    if (is_past_limit(s->engine))
        qt_stop(s->engine, 1);
    if (qt_stopping(s->engine))
        return QT_STOPPED;
    return atomic_load_explicit(&s->engine->ending, memory_order_relaxed) ? QT_DRAIN_TIMEOUT : QT_EXECUTED;
}

/* Waits until the run begins. At paces with due times, no event is due before zero. Without due times, the session
 * itself waits for zero, which may be in the future. */
static void begin(struct qt_session *s)
{
    int64_t zero = qt_await_zero(s);

    if (qt_unpaced(s->engine))
        qt_sleep_until(s, zero);
    s->begun = 1;
}

static void perform_event(struct qt_session *s, struct qt_planned_event *ev)
{
    struct qt_engine *e = s->engine;
    struct qt_answer answer = {0};
    int64_t due, sent;
    enum qt_reason why;

    if (!s->begun)
        begin(s);
    atomic_store_explicit(&s->at_seq, ev->seq, memory_order_relaxed);
    s->order_ns = 0;
    if (s->rests)
        wake_up(s);
    if (s->broken == QT_TRANSACTION_LOST)
        s->broken = QT_CONNECTION_LOST;
    if (s->broken == QT_CONNECTION_LOST && e->options.on_lost == QT_LOST_REOPEN && !qt_stopping(e))
        reopen(s, ev);
    why = ev->refused ? (enum qt_reason)ev->refused : why_not_sendable(s);
    if (e->options.read_target != NULL && why == QT_EXECUTED)
        qt_use_backend(s, qt_goes_to_read_target(s, ev));
    if (why == QT_EXECUTED)
        why = qt_command_why_not_sendable(s, ev);
    if (why == QT_EXECUTED)
        why = qt_prepare_event(s, ev, &answer);
    sent = why == QT_EXECUTED ? qt_sleep_until_due(s, ev) : 0;
    due = qt_compute_due(s, ev); /* computed after the sleep, because the speed may have changed */
    if (why == QT_EXECUTED)
        why = why_not_sendable(s);
    if (why == QT_EXECUTED && answer.error == 0)
        why = send_event(s, ev, &answer);
    else if (why == QT_EXECUTED) /* the separate COMMIT failed: its error is the answer */
        answer.first_ns = answer.done_ns = qt_now();
    if (why == QT_EXECUTED)
        qt_finish_event(s, ev, &answer, due, sent);
    else
        qt_refuse_event(s, ev, why, why == QT_SCHEMA_FAILED ? &answer : NULL);
}

/* In follow mode no event comes after a session's quit. */
static int has_quit(const struct qt_session *s) { return s->engine->options.follows && s->quit_taken; }

/* Hands the thread to the supervisor, which joins it. */
static void end_thread(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    struct timespec cpu;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    atomic_store(&s->life, QT_ENDED);
    atomic_fetch_add(&e->threads.ended_cpu_ns, cpu.tv_sec * QT_SECOND + cpu.tv_nsec);
    s->next_ended = atomic_load(&e->threads.ended_list);
    while (!atomic_compare_exchange_weak(&e->threads.ended_list, &s->next_ended, s))
        ;
    qt_wake_supervisor(e);
}

void *qt_session_run(void *arg)
{
    struct qt_session *s = arg;
    struct qt_engine *e = s->engine;
    struct qt_planned_event *ev;

    s->backend = &s->backends[0];
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    prctl(PR_SET_NAME, "qt-session", 0, 0, 0);
    pthread_getcpuclockid(pthread_self(), &s->cpu_clock);
    atomic_store(&s->life, QT_LIVE);
    if (s->open_due_ns > 0 && !qt_unpaced(e)) {
        qt_await_zero(s);
        qt_sleep_until_open(s);
    }
    if (qt_stopping(e))
        s->broken = QT_STOPPED;
    else
        connect_first(s);
    atomic_fetch_add(&e->threads.settled, 1);
    qt_wake_supervisor(e);
    while (!has_quit(s)) {
        rest(s);
        if ((ev = qt_next_event(s)) == NULL)
            break;
        s->quit_taken = ev->command == QT_COMMAND_QUIT;
        perform_event(s, ev);
    }
    close_backends(s);
    qt_records_hand_over(s);
    end_thread(s);
    return NULL;
}
