/* SPDX-License-Identifier: Apache-2.0 */
/* The feeder copies planned events from the caller's stream into the queues of their sessions, within the memory
 * budget.
 *
 *   stream ──batch──► for each row: find the session ─► wait while the budget is full ─► copy ─► push on its inbox
 *
 * In max pace the feeder also reports its position on the tape to the supervisor: which sessions are open, and how many
 * at once. The replay then has as many sessions open at once as the tape. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arrow_stream.h"
#include "engine/digest_times.h"
#include "engine/pace.h"
#include "engine/send_guard.h"
#include "engine/sessions.h"
#include "engine/stats.h"

/* Each statement of a multi-statement text may need its own insert id. The ids are set by statements inside the same
 * text. Nothing can then run between a SET and its INSERT, and the text stays one command. */
#define ROOM_OF_ONE 48 /* longest: SET insert_id=18446744073709551615; */

/* Returns the number of bytes by which the text can grow. `ids` is the insert_ids value of the tape. */
static size_t insert_ids_room(const char *ids, size_t ids_len)
{
    size_t n = ids_len > 0;
    for (size_t i = 0; i < ids_len; i++)
        n += ids[i] == ',';
    return n * ROOM_OF_ONE;
}

/* Reads digits followed by `end`. The last number of the list may end at the end of the text. Returns 0 if there are no
 * digits or more than 20. */
static int take_number(const char **p, const char *all_end, char end, uint64_t *value)
{
    const char *from = *p;
    *value = 0;
    for (; *p < all_end && **p >= '0' && **p <= '9'; (*p)++)
        *value = *value * 10 + (uint64_t)(**p - '0');
    if (*p == from || *p - from > 20)
        return 0;
    if (*p == all_end)
        return end == ',';
    return *(*p)++ == end;
}

/* Accepts SET as well, because of SET STATEMENT ... FOR INSERT. */
static int is_insert(const char *sql, size_t len)
{
    return (len > 4 && strncasecmp(sql, "set", 3) == 0) || (len > 6 && strncasecmp(sql, "insert", 6) == 0) ||
           (len > 7 && strncasecmp(sql, "replace", 7) == 0);
}

/* Copies the text and puts `SET insert_id=N;` before each statement that `ids` names. Returns the new length. If `ids`
 * names anything but an INSERT or REPLACE, the text is copied unchanged. `to` must have room for len + insert_ids_room
 * bytes. */
static size_t copy_with_insert_ids(char *to, const char *sql, size_t len, const char *ids, size_t ids_len)
{
    const char *end = ids ? ids + ids_len : ids; /* NULL = no ids */
    size_t n = 0, done = 0;
    while (ids < end) {
        uint64_t at, id;
        if (!take_number(&ids, end, ':', &at) || !take_number(&ids, end, ',', &id) || at < done || at > len ||
            !is_insert(sql + at, len - at)) {
            memcpy(to, sql, len);
            return len;
        }
        memcpy(to + n, sql + done, at - done);
        n += at - done;
        n += (size_t)snprintf(to + n, ROOM_OF_ONE, "SET insert_id=%" PRIu64 ";", id);
        done = at;
    }
    memcpy(to + n, sql + done, len - done);
    return n + len - done;
}

enum {
    SESSION,
    SEQ,
    DUE,
    SPAN,
    COMMAND,
    CLASS,
    ACTIONS,
    FLAGS,
    ACCOUNT,
    DB,
    STMT,
    STATEMENT,
    PARAMS,
    CLOCK,
    INSERT_ID,
    INSERT_IDS,
    WAITS,
    DIGEST
};

/* Applies the overload policy when the budget is full and the event is already overdue. Returns 1 if the event must be
 * dropped. */
static int is_to_be_dropped(struct qt_engine *e, int64_t due_ns)
{
    if (qt_unpaced(e) || atomic_load(&e->schedule.zero_ns) == 0 || qt_is_paused(e) ||
        qt_plan_to_clock(e, due_ns) > qt_now())
        return 0;
    if (e->options.overload == QT_OVERLOAD_WAIT)
        qt_count(e, QT_COUNT_OVERLOAD_WAITS, 1);
    if (e->options.overload == QT_OVERLOAD_STOP)
        qt_end_by(e, QT_BY_OVERLOAD);
    return e->options.overload == QT_OVERLOAD_DROP;
}

/* Blocks until `size` more bytes fit, the queue is empty, or the run is stopped. Returns 1 if the event must be
 * dropped. */
static int await_room(struct qt_engine *e, int64_t size, int64_t due_ns)
{
    int64_t budget = e->options.queue_bytes, at = budget - size;

    /* The feeder sleeps until a quarter of the budget is free. This saves a wake-up per event. */
    if (at > budget - budget / 4)
        at = budget - budget / 4;
    if (at < 0)
        at = 0;
    if (atomic_load(&e->feed.queued) + size <= budget)
        return 0;
    if (is_to_be_dropped(e, due_ns))
        return 1;
    atomic_store(&e->feed.primed, 1);
    qt_wake_supervisor(e);
    atomic_store(&e->feed.room_at, at);
    for (;;) {
        uint32_t seen = atomic_load(&e->feed.room_wakeups);
        if (atomic_load(&e->feed.queued) <= at || qt_stopping(e))
            break;
        qt_futex_wait(&e->feed.room_wakeups, seen, QT_FOREVER);
    }
    atomic_store(&e->feed.room_at, -1);
    return 0;
}

static void push(struct qt_session *s, struct qt_planned_event *ev)
{
    ev->next = atomic_load_explicit(&s->inbox, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&s->inbox, &ev->next, ev))
        ;
    if (atomic_load(&s->sleep) == QT_WAITS_FOR_EVENT)
        qt_wake(s);
}

/* Max pace: allows opening the sessions whose tape connect time is at most `due_ns`, or whose index is at most
 * `upto`. */
static void announce(struct qt_engine *e, int64_t due_ns, int64_t upto)
{
    int64_t n = atomic_load_explicit(&e->feed.announced, memory_order_relaxed), first = n;

    while (n < e->table.n_sessions && (qt_session_at(e, n)->open_due_ns <= due_ns || n <= upto)) {
        struct qt_session *s = qt_session_at(e, n++);
        e->feed.virtual_open++;
        s->concurrency = (int32_t)(e->feed.virtual_open < INT32_MAX ? e->feed.virtual_open : INT32_MAX);
        if (s->planned == 0)
            e->feed.virtual_open--;
    }
    if (n == first)
        return;
    atomic_store(&e->feed.announced, n);
    qt_wake_supervisor(e);
}

static int64_t read_number(const struct qt_rows *r, int column, int64_t row)
{
    return qt_read_null(r, column, row) ? QT_NONE : qt_read_i64(r, column, row);
}

static int copy_event(struct qt_engine *e, const struct qt_rows *r, int64_t row, struct qt_planned_event **out,
                      struct qt_error *err)
{
    size_t len, db_len, params_len, waits_len, ids_len, digest_len;
    const char *params = qt_read_bytes(r, PARAMS, row, &params_len);
    const char *statement = qt_read_bytes(r, STATEMENT, row, &len);
    const char *db = qt_read_bytes(r, DB, row, &db_len), *waits = qt_read_bytes(r, WAITS, row, &waits_len);
    const char *ids = qt_read_bytes(r, INSERT_IDS, row, &ids_len), *digest = qt_read_bytes(r, DIGEST, row, &digest_len);
    int64_t due = qt_read_i64(r, DUE, row);
    size_t room = len + insert_ids_room(ids, ids_len);
    int dropped = await_room(e, (int64_t)(sizeof(struct qt_planned_event) + room + params_len + waits_len), due);
    struct qt_planned_event *ev;
    char *behind;

    if (dropped) {
        len = room = params_len = ids_len = 0;
        qt_count(e, QT_COUNT_OVERLOAD_DROPS, 1);
    }
    /* Allocates one extra byte, because the library expects a NUL even after an empty statement. */
    ev = malloc(sizeof *ev + room + 1 + QT_PARAMS_ROOM + params_len + waits_len + 1);
    if (ev == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for a statement of %zu bytes", len + params_len);
    *ev = (struct qt_planned_event){
        .seq = qt_read_i64(r, SEQ, row),
        .due_ns = due,
        .span_ns = qt_read_i64(r, SPAN, row),
        .queued_ns = qt_now(),
        .flags = qt_read_i64(r, FLAGS, row),
        .actions = qt_read_i64(r, ACTIONS, row),
        .stmt = qt_read_null(r, STMT, row) ? -1 : qt_read_i64(r, STMT, row),
        .clock_us = read_number(r, CLOCK, row),
        .insert_id = read_number(r, INSERT_ID, row),
        .digest = qt_digest_number(digest, digest_len),
        .params_len = params_len,
        .params = ev->statement + room + 1 + QT_PARAMS_ROOM,
        .command = qt_read_i32(r, COMMAND, row),
        .class = qt_read_null(r, CLASS, row) ? -1 : qt_read_i32(r, CLASS, row),
        .account = qt_read_null(r, ACCOUNT, row) ? -1 : qt_read_i32(r, ACCOUNT, row),
        .refused = dropped ? QT_OVERLOAD : QT_EXECUTED,
    };
    if (len > 0)
        len = copy_with_insert_ids(ev->statement, statement, len, ids, ids_len);
    ev->statement[len] = 0;
    ev->len = statement == NULL ? SIZE_MAX : len;
    if (params_len > 0)
        memcpy(ev->params, params, params_len);
    behind = ev->params + params_len;
    if (waits_len > 0)
        ev->waits = memcpy(behind, waits, waits_len);
    behind[waits_len] = 0;
    if (db_len > 0 && (ev->db = qt_intern(e, db, db_len)) == NULL) {
        free(ev);
        return qt_fail(err, QT_ENOMEM, "out of memory for a schema name");
    }
    if (!dropped && !qt_may_send(e->feed.guard, ev)) {
        ev->refused = QT_NOT_PERMITTED;
        qt_count(e, QT_COUNT_NOT_PERMITTED, 1);
    }
    atomic_fetch_add(&e->feed.queued, qt_planned_event_size(ev));
    *out = ev;
    return QT_OK;
}

static int feed_row(struct qt_engine *e, const struct qt_rows *r, int64_t row, struct qt_error *err)
{
    int64_t id = qt_read_i64(r, SESSION, row), due = qt_read_i64(r, DUE, row);
    struct qt_session *s = qt_find_session(e, id);
    struct qt_planned_event *ev = NULL;
    int code;

    if (s == NULL)
        return qt_fail(err, QT_EINVALID, "an event belongs to session %lld, which is not in the list of sessions",
                       (long long)id);
    if (s->quit_fed) /* the caller counts events without an outcome */
        return QT_OK;
    if (s->fed == s->planned)
        return qt_fail(err, QT_EINVALID, "session %lld: expected %lld events, found more", (long long)id,
                       (long long)s->planned);
    if (qt_unpaced(e))
        announce(e, due, s->place);
    code = copy_event(e, r, row, &ev, err);
    if (code != QT_OK)
        return code;
    if (due > atomic_load_explicit(&e->schedule.last_due_ns, memory_order_relaxed))
        atomic_store(&e->schedule.last_due_ns, due);
    qt_due_note(e->schedule.due_counts, due);
    s->fed++;
    s->quit_fed = e->options.follows && ev->command == QT_COMMAND_QUIT;
    qt_count(e, QT_COUNT_FED, 1);
    if (s->fed == s->planned)
        e->feed.virtual_open--;
    push(s, ev);
    return QT_OK;
}

/* Feeds one batch. `pushing` is only set while a batch is processed, so a stop does not wait for an idle stream. */
static int feed_batch(struct qt_engine *e, const struct qt_rows *r, struct qt_error *err)
{
    int code = QT_OK;

    atomic_store(&e->feed.pushing, 1);
    for (int64_t row = 0; row < r->rows && code == QT_OK && !qt_stopping(e); row++)
        code = feed_row(e, r, row, err);
    atomic_store(&e->feed.pushing, 0);
    atomic_store(&e->feed.primed, 1);
    qt_wake_supervisor(e);
    return code;
}

int qt_engine_feed(struct qt_engine *e, struct ArrowArrayStream *in, struct qt_error *err)
{
    struct qt_rows r = {.rows = 0};
    int32_t state = atomic_load(&e->state);
    int code;

    if (state == QT_ENGINE_NEW || (atomic_load(&e->feed.over) && !qt_stopping(e)))
        return qt_fail(err, QT_ESTATE,
                       "events can be fed only after the start of the engine and before the end of the feed");
    pthread_mutex_lock(&e->feed.lock);
    code = qt_rows_open(&r, in, "lllliilliUlZZllUUU", err);
    while (code == QT_OK && !qt_stopping(e)) {
        code = qt_rows_next(&r, err);
        if (code != QT_OK || r.rows == 0)
            break;
        code = feed_batch(e, &r, err);
    }
    qt_rows_close(&r);
    pthread_mutex_unlock(&e->feed.lock);
    return code;
}

int qt_engine_feed_end(struct qt_engine *e, struct qt_error *err)
{
    if (atomic_load(&e->state) == QT_ENGINE_NEW)
        return qt_fail(err, QT_ESTATE, "the engine has not been started");
    pthread_mutex_lock(&e->feed.lock);
    if (qt_unpaced(e))
        announce(e, INT64_MAX, -1);
    atomic_store(&e->feed.primed, 1);
    atomic_store(&e->feed.over, 1);
    pthread_mutex_unlock(&e->feed.lock);
    for (int64_t i = 0; i < e->table.n_sessions; i++)
        if (atomic_load(&qt_session_at(e, i)->sleep) == QT_WAITS_FOR_EVENT)
            qt_wake(qt_session_at(e, i));
    qt_wake_supervisor(e);
    return QT_OK;
}
