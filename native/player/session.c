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

static int is_cut(struct qt_session *s)
{
    int cut;
    pthread_mutex_lock(&s->engine->fd_lock);
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

static void open_link(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    int code;

    s->connect_ns = qt_now();
    s->link = (struct qt_link){.opened = socket_opened, .self = s, .fd = -1};
    code = qt_link_open(&s->link, &e->options, s->db);
    if (code == 0) {
        s->connected_ns = s->free_ns = qt_now();
        s->current_db = s->db;
        s->thread_id = qt_link_thread_id(&s->link);
        atomic_fetch_add(&e->opened, 1);
        atomic_fetch_add(&e->open, 1);
        if (e->options.init != NULL)
            qt_bump(&s->injected);
    } else {
        s->broken = QT_CONNECT_FAILED;
        keep_error(s, code, qt_link_error(&s->link));
        socket_closing(s);
        qt_link_close(&s->link);
        atomic_fetch_add(&e->failed, 1);
    }
}

static void close_link(struct qt_session *s)
{
    if (s->link.mysql == NULL)
        return;
    if (s->connected_ns != 0)
        s->in_transaction = s->broken ? -1 : qt_link_in_transaction(&s->link);
    socket_closing(s);
    qt_link_close(&s->link);
    s->closed_ns = qt_now();
    atomic_fetch_sub(&s->engine->open, 1);
}

/* The connection is of no use any more; 1 where it was us who cut it. */
static int lose(struct qt_session *s, struct qt_answer *a, const char **text)
{
    struct qt_engine *e = s->engine;
    int cut = is_cut(s);

    if (cut) {
        s->broken = qt_stopping(e) ? QT_STOPPED : QT_DRAIN_CUT;
        *text = qt_stopping(e) ? "cut off: the run was stopped" : "cut off: no answer before the end of the drain";
    } else {
        s->broken = QT_CONNECTION_LOST;
        atomic_fetch_add(&e->lost, 1);
    }
    keep_error(s, a->error, *text);
    return cut;
}

static void count(struct qt_session *s, const struct qt_event *ev, const struct qt_record *r, int64_t sent_ns, int64_t done_ns)
{
    struct qt_engine *e = s->engine;
    int64_t due = e->options.max_pace ? INT64_MIN : ev->due_ns + atomic_load_explicit(&e->zero_ns, memory_order_relaxed);
    int64_t able = ev->fed_ns > s->free_ns ? ev->fed_ns : s->free_ns;

    qt_bump(&s->executed);
    if (ev->class == QT_CLASS_READ)
        qt_bump(&s->reads);
    else if (ev->class == QT_CLASS_WRITE)
        qt_bump(&s->writes);
    if (r->error_code != 0)
        qt_bump(&s->errors);
    if (done_ns != 0)
        qt_histogram_note(&e->service, done_ns - sent_ns);
    if (!e->options.max_pace)
        qt_histogram_note(&e->late, sent_ns - due);
    qt_histogram_note(&e->tool, sent_ns - (due > able ? due : able));
}

/* Writes down what came back. */
static void conclude(struct qt_session *s, const struct qt_event *ev, struct qt_answer *a, int64_t sent_ns, int64_t now_ns)
{
    struct qt_engine *e = s->engine;
    struct qt_record *r, spare;
    const char *text = a->error == 0 || s->link.mysql == NULL ? NULL : qt_link_error(&s->link);

    if (a->lost && lose(s, a, &text))
        atomic_fetch_add(&e->drain_cut, 1);
    r = qt_note(s, ev, now_ns);
    if (r == NULL)
        r = memset(&spare, 0, sizeof spare);
    r->free_ns = qt_from_zero(e, s->free_ns);
    r->sent_ns = qt_from_zero(e, sent_ns);
    r->first_ns = qt_from_zero(e, a->first_ns);
    r->done_ns = qt_from_zero(e, a->done_ns);
    r->error_code = a->error;
    if (!a->lost) {
        r->bytes = a->bytes;
        r->rows = a->rows;
        r->affected = a->affected;
        r->warnings = a->warnings;
    }
    if (text != NULL && r != &spare)
        r->error = strdup(text);
    count(s, ev, r, sent_ns, a->done_ns);
    s->free_ns = now_ns;
}

/* A schema that differs is selected while the session is idle, so that it costs the event no lateness. 0 = it can be sent. */
static int select_schema(struct qt_session *s, const struct qt_event *ev)
{
    struct qt_answer a;
    struct qt_record *r;

    if (ev->db == NULL || ev->db == s->current_db || !qt_command_needs_schema(ev))
        return 0;
    qt_link_select_db(&s->link, ev->db, &a);
    qt_bump(&s->injected);
    s->free_ns = qt_now();
    if (a.error == 0) {
        s->current_db = ev->db;
        return 0;
    }
    if (a.lost) {
        const char *text = qt_link_error(&s->link);
        lose(s, &a, &text);
        return s->broken;
    }
    r = qt_note(s, ev, s->free_ns);
    if (r != NULL) {
        r->reason = QT_SCHEMA_FAILED;
        r->error_code = a.error;
        r->error = strdup(qt_link_error(&s->link));
    }
    return QT_SCHEMA_FAILED;
}

/* Gives the event to the connection and waits for its answer. 1 = nothing could be sent. */
static int send_event(struct qt_session *s, const struct qt_event *ev, struct qt_answer *a)
{
    if (ev->command != QT_COMMAND_QUIT)
        return qt_command_send(s, ev, a);
    memset(a, 0, sizeof *a);
    close_link(s);
    a->done_ns = s->closed_ns;
    s->broken = QT_AFTER_QUIT;
    return 0;
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
    int64_t zero = qt_await_zero(s), sent = 0;
    struct qt_answer answer;
    enum qt_reason why = hindrance(s);

    if (why == QT_EXECUTED)
        why = qt_command_hindrance(s, ev);
    if (why == QT_EXECUTED && select_schema(s, ev) == QT_SCHEMA_FAILED) {
        qt_bump(&s->not_sent);
        qt_event_free(s, ev);
        return;
    }
    if (why == QT_EXECUTED && !s->broken)
        sent = e->options.max_pace ? qt_now() : qt_sleep_until(s, zero + ev->due_ns);
    if (why == QT_EXECUTED)
        why = hindrance(s);
    if (why != QT_EXECUTED) {
        qt_session_refuse(s, ev, why);
        return;
    }
    if (send_event(s, ev, &answer) != 0) {
        qt_session_refuse(s, ev, QT_UNFIT);
        return;
    }
    conclude(s, ev, &answer, sent, answer.done_ns != 0 ? answer.done_ns : qt_now());
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

    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
    prctl(PR_SET_NAME, "qt-session", 0, 0, 0);
    pthread_getcpuclockid(pthread_self(), &s->cpu_clock);
    atomic_store(&s->life, QT_LIVE);
    if (s->open_due_ns > 0 && !e->options.max_pace)
        qt_sleep_until(s, qt_await_zero(s) + s->open_due_ns);
    if (qt_stopping(e))
        s->broken = QT_STOPPED;
    else
        open_link(s);
    atomic_fetch_add(&e->settled, 1);
    qt_ring(e);
    while ((ev = qt_next_event(s)) != NULL)
        perform(s, ev);
    close_link(s);
    qt_records_hand_over(s);
    end(s);
    return NULL;
}
