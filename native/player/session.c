/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a session's thread.
 *
 *   sleep until open_due ─► connect ─► [ take an event ─► select its schema ─► sleep until due ─► send ─► receive ]* ─► quit
 *                             │ failed                                                        │ lost
 *                             └──────────────► take each event and refuse it ◄────────────────┘
 *
 * A thread whose connection failed goes on taking its events: so the feeder never waits for it and the books balance.
 */
#include "engine_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define REOPEN_EVERY_NS QT_SECOND /* a target that restarts is tried again until it is back */

/* The link tells its socket, so that the conductor can shut it down. */
static void socket_opened(void *self, int fd)
{
    struct qt_session *s = self;
    pthread_mutex_lock(&s->engine->fd_lock);
    s->fd = fd;
    if (s->cut)
        shutdown(fd, SHUT_RDWR);
    pthread_mutex_unlock(&s->engine->fd_lock);
}

/* After this no other thread touches the socket. */
static int socket_closing(struct qt_session *s)
{
    int cut;
    pthread_mutex_lock(&s->engine->fd_lock);
    s->fd = -1;
    cut = s->cut;
    pthread_mutex_unlock(&s->engine->fd_lock);
    return cut;
}

static void keep_error(struct qt_session *s, int code, const char *text)
{
    s->error_code = code;
    if (s->error == NULL && text != NULL)
        s->error = strdup(text);
}

/* On the side in use; `db`: the schema to begin with. 0, or 1 = it could not be opened. */
static int open_side(struct qt_session *s, const char *db)
{
    struct qt_engine *e = s->engine;
    uint64_t attributes = s->side->link.attributes_dropped, expanded = s->side->link.expanded;
    int code;

    s->side->link = (struct qt_link){.opened = socket_opened, .self = s, .fd = -1, .verify = e->options.verify,
                               .attributes_dropped = attributes, .expanded = expanded};
    code = qt_link_open(&s->side->link, qt_options_of(s), &(struct qt_login){s->account, s->client_flags, s->charset, db});
    if (code == 0) {
        s->side->current_db = db;
        s->side->account_now = s->account;
        s->side->clock_us = QT_NONE;
        s->side->thread_id = qt_link_thread_id(&s->side->link);
        if (e->options.init != NULL)
            qt_bump(&s->injected);
        return 0;
    }
    keep_error(s, code, qt_link_error(&s->side->link));
    socket_closing(s);
    qt_link_close(&s->side->link);
    return 1;
}

/* The target, then the reader where there is one. */
static int open_link(struct qt_session *s, const char *db)
{
    struct qt_engine *e = s->engine;
    int failed;

    qt_take_side(s, 0);
    failed = open_side(s, db);
    if (!failed && e->options.reader != NULL) {
        qt_take_side(s, 1);
        failed = open_side(s, db);
        qt_take_side(s, 0);
        if (failed) {
            socket_closing(s);
            qt_link_close(&s->side->link);
        }
    }
    if (failed)
        return 1;
    s->free_ns = s->answered_ns = qt_now();
    s->in_tx = 0;
    atomic_store(&s->target_id, s->side->thread_id);
    atomic_fetch_add(&e->open, 1);
    return 0;
}

static void open_first(struct qt_session *s)
{
    s->connect_ns = qt_now();
    if (open_link(s, s->db) == 0) {
        s->connected_ns = s->free_ns;
        atomic_fetch_add(&s->engine->opened, 1);
    } else {
        s->broken = QT_CONNECT_FAILED;
        atomic_fetch_add(&s->engine->failed, 1);
    }
}

static void close_link(struct qt_session *s)
{
    qt_take_side(s, 0);
    if (s->side->link.mysql == NULL)
        return;
    atomic_store(&s->target_id, -1);
    if (s->connected_ns != 0)
        s->in_transaction = s->broken ? -1 : qt_link_in_transaction(&s->side->link);
    socket_closing(s);
    qt_link_close(&s->sides[1].link);
    qt_link_close(&s->side->link);
    s->closed_ns = qt_now();
    atomic_fetch_sub(&s->engine->open, 1);
}

static int begins(const struct qt_event *ev, const char *word)
{
    return ev->len != SIZE_MAX && strncasecmp(ev->statement + strspn(ev->statement, " \t\r\n"), word, strlen(word)) == 0;
}

/* After a loss, where the connection is to be opened anew: what is left of its transaction is not sent. Nothing is given up before it
 * is due: the target may be back by then. */
static void reopen(struct qt_session *s, const struct qt_event *ev)
{
    struct qt_engine *e = s->engine;
    int ended = ev->class == QT_CLASS_DDL || begins(ev, "commit") ||
                (begins(ev, "rollback") && !begins(ev, "rollback to") && !begins(ev, "rollback work to"));

    if (s->in_tx && !ended && !begins(ev, "begin") && !begins(ev, "start transaction")) {
        s->broken = QT_TRANSACTION_LOST;
        return;
    }
    if (s->in_tx && ended && ev->class != QT_CLASS_DDL) {
        s->in_tx = 0;
        s->broken = QT_TRANSACTION_LOST;
        return;
    }
    if (qt_unpaced(e))
        qt_sleep_until(s, s->reopen_ns);
    else
        qt_sleep_until_due(s, ev);
    if (qt_now() < s->reopen_ns || qt_stopping(e) || atomic_load(&e->ending))
        return;
    close_link(s);
    if (open_link(s, s->side->current_db) == 0) {
        s->broken = QT_EXECUTED;
        atomic_fetch_add(&e->reopened, 1);
    } else {
        s->reopen_ns = qt_now() + REOPEN_EVERY_NS;
    }
}

static void count(struct qt_session *s, const struct qt_event *ev, const struct qt_record *r, int64_t due, int64_t sent_ns,
                  int64_t done_ns)
{
    struct qt_engine *e = s->engine;
    int64_t able = ev->fed_ns > s->free_ns ? ev->fed_ns : s->free_ns;

    qt_bump(&s->executed);
    if (ev->class == QT_CLASS_READ)
        qt_bump(&s->reads);
    else if (ev->class == QT_CLASS_WRITE)
        qt_bump(&s->writes);
    if (done_ns != 0)
        qt_histogram_note(&e->service, done_ns - sent_ns);
    if (due != QT_NONE)
        qt_histogram_note(&e->late, sent_ns - due);
    qt_histogram_note(&e->tool, sent_ns - (due > able ? due : able));
    if (r->error_code == 0)
        return;
    qt_bump(&s->errors);
    if (e->options.max_errors >= 0 && atomic_fetch_add(&e->failures, 1) >= e->options.max_errors)
        qt_end_by(e, QT_BY_ERRORS);
}

/* Writes down what came back. */
static void conclude(struct qt_session *s, const struct qt_event *ev, struct qt_answer *a, int64_t due, int64_t sent_ns,
                     int64_t now_ns)
{
    struct qt_engine *e = s->engine;
    struct qt_record *r, spare;
    const char *text = a->error == 0 || s->side->link.mysql == NULL ? NULL : qt_link_error(&s->side->link);

    if (a->lost && qt_session_lose(s, a, &text))
        atomic_fetch_add(&e->drain_cut, 1);
    r = qt_note(s, ev, now_ns);
    if (r == NULL)
        r = memset(&spare, 0, sizeof spare);
    r->due_ns = due == QT_NONE ? QT_NONE : qt_from_zero(e, due);
    r->free_ns = qt_from_zero(e, s->free_ns);
    r->sent_ns = qt_from_zero(e, sent_ns);
    r->first_ns = qt_from_zero(e, a->first_ns);
    r->done_ns = qt_from_zero(e, a->done_ns);
    r->order_ns = s->order_ns > 0 ? s->order_ns : QT_NONE;
    r->error_code = a->error;
    if (!a->lost) {
        r->bytes = a->bytes;
        r->rows = a->rows;
        r->affected = a->affected;
        r->warnings = a->warnings;
        r->sum = a->sum;
        r->binary = a->binary;
        s->in_tx = qt_link_in_transaction(&s->sides[0].link);
        s->unordered &= s->in_tx;
    }
    r->reader = s->side == &s->sides[1];
    if (text != NULL && r != &spare)
        r->error = strdup(text);
    count(s, ev, r, due, sent_ns, a->done_ns);
    s->free_ns = s->answered_ns = now_ns;
    s->tape_end_ns = ev->due_ns + ev->span_ns;
    qt_order_done(e, ev);
    if (a->error == 0)
        qt_mirror(s, ev);
}

/* Gives the event to the connection and waits for its answer. QT_EXECUTED, or why nothing could be sent. */
static enum qt_reason send_event(struct qt_session *s, const struct qt_event *ev, struct qt_answer *a)
{
    if (ev->command != QT_COMMAND_QUIT)
        return qt_command_send(s, ev, a);
    memset(a, 0, sizeof *a);
    close_link(s);
    a->done_ns = s->closed_ns;
    s->broken = QT_AFTER_QUIT;
    return QT_EXECUTED;
}

/* Why nothing more may be sent, or 0. */
static enum qt_reason hindrance(struct qt_session *s)
{
    if (s->broken)
        return (enum qt_reason)s->broken;
    if (qt_stopping(s->engine))
        return QT_STOPPED;
    return atomic_load_explicit(&s->engine->ending, memory_order_relaxed) ? QT_DRAIN_CUT : QT_EXECUTED;
}

static void perform(struct qt_session *s, struct qt_event *ev)
{
    struct qt_engine *e = s->engine;
    struct qt_answer answer;
    int64_t due, sent;
    enum qt_reason why;

    qt_await_zero(s);
    s->order_ns = 0;
    if (s->broken == QT_TRANSACTION_LOST)
        s->broken = QT_CONNECTION_LOST;
    if (s->broken == QT_CONNECTION_LOST && e->options.on_lost == QT_LOST_REOPEN && !qt_stopping(e))
        reopen(s, ev);
    why = ev->dropped ? QT_OVERLOAD : hindrance(s);
    if (e->options.reader != NULL && why == QT_EXECUTED)
        qt_take_side(s, qt_goes_to_reader(s, ev));
    if (why == QT_EXECUTED)
        why = qt_command_hindrance(s, ev);
    if (why == QT_EXECUTED && (why = qt_make_ready(s, ev)) == QT_SCHEMA_FAILED) {
        qt_bump(&s->not_sent);
        s->tape_end_ns = ev->due_ns + ev->span_ns;
        qt_order_done(e, ev);
        qt_event_free(s, ev);
        return;
    }
    sent = why == QT_EXECUTED ? qt_sleep_until_due(s, ev) : 0;
    due = qt_due_of(s, ev); /* only now: the tempo may have changed meanwhile */
    if (why == QT_EXECUTED)
        why = hindrance(s);
    if (why == QT_EXECUTED)
        why = send_event(s, ev, &answer);
    if (why != QT_EXECUTED) {
        qt_session_refuse(s, ev, why);
        return;
    }
    conclude(s, ev, &answer, due, sent, answer.done_ns != 0 ? answer.done_ns : qt_now());
    qt_event_free(s, ev);
}

/* Hands the thread to the conductor, who joins it. */
static void end(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    struct timespec cpu;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    atomic_store(&s->life, QT_ENDED);
    atomic_fetch_add(&e->ended_cpu_ns, cpu.tv_sec * QT_SECOND + cpu.tv_nsec);
    s->next_ended = atomic_load(&e->ended_list);
    while (!atomic_compare_exchange_weak(&e->ended_list, &s->next_ended, s))
        ;
    qt_ring(e);
}

void *qt_session_run(void *arg)
{
    struct qt_session *s = arg;
    struct qt_engine *e = s->engine;
    struct qt_event *ev;

    s->side = &s->sides[0];
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    prctl(PR_SET_NAME, "qt-session", 0, 0, 0);
    pthread_getcpuclockid(pthread_self(), &s->cpu_clock);
    atomic_store(&s->life, QT_LIVE);
    if (s->open_due_ns > 0 && !qt_unpaced(e)) {
        qt_await_zero(s);
        qt_sleep_until(s, qt_clock_of(e, s->open_due_ns));
    }
    if (qt_stopping(e))
        s->broken = QT_STOPPED;
    else
        open_first(s);
    atomic_fetch_add(&e->settled, 1);
    qt_ring(e);
    while ((ev = qt_next_event(s)) != NULL)
        perform(s, ev);
    close_link(s);
    qt_records_hand_over(s);
    end(s);
    return NULL;
}
