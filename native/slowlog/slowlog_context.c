/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the time of an event from its position in the log. Decides whether the server restarted before the event. */
#include "slowlog/slowlog_context.h"

#include <string.h>
#include <strings.h>

#include "reader/log_text.h"
#include "reader/log_time.h"

/* ---- time ---- */

int qt_slow_find_zone(const struct qt_slowlog *s, int64_t *out_ns)
{
    uint64_t total = 0, below = 0;
    for (int i = 0; i < QT_ZONES; i++)
        total += atomic_load_explicit(&s->zones[i], memory_order_relaxed);
    for (int i = 0; i < QT_ZONES && total > 0; i++)
        if ((below += atomic_load_explicit(&s->zones[i], memory_order_relaxed)) * 2 > total) {
            *out_ns = (i - QT_ZONES / 2) * 900 * QT_SECOND;
            return 1;
        }
    *out_ns = 0;
    return 0;
}

void qt_slow_note_zone(struct qt_slowlog *s, const struct qt_slow_event *e)
{
    if (e->time.kind != QT_LOGTIME_LOCAL || e->timestamp_s < 0)
        return;
    int64_t quarters = (e->time.ns / QT_SECOND - e->timestamp_s + (QT_ZONES / 2) * 900 + 450) / 900;
    if (quarters >= 0 && quarters < QT_ZONES)
        atomic_fetch_add_explicit(&s->zones[quarters], 1, memory_order_relaxed);
}

void qt_slow_stamp_event(struct qt_slowlog *s, const struct qt_slow_event *e, struct qt_event_time *m)
{
    const struct qt_logtime *time = e->time.kind != QT_LOGTIME_BAD ? &e->time : &s->time;
    m->stamp_kind = QT_STAMP_SECOND;
    if (e->start_ns >= 0) {
        m->stamp_kind = QT_STAMP_START;
        m->when_ns = e->start_ns;
    } else if (time->kind == QT_LOGTIME_UTC) {
        m->stamp_kind = QT_STAMP_END;
        m->when_ns = time->ns;
    } else if (e->timestamp_s >= 0 && !(s->log.local.has_timezone && time->kind == QT_LOGTIME_LOCAL)) {
        m->when_ns = e->timestamp_s * QT_SECOND;
    } else if (time->kind == QT_LOGTIME_LOCAL) {
        int64_t zone = 0;
        if (!s->log.local.has_timezone)
            qt_slow_find_zone(s, &zone);
        qt_local_clock_set(&s->log.local, time->ns - zone, m);
    } else {
        m->when_ns = s->log.timeline.clock_ns != INT64_MIN ? s->log.timeline.clock_ns : 0;
        m->flags |= QT_F_CLOCK_GUESSED;
    }
}

/* Checks an event `next` that seems to begin inside an open quote of `open`. Returns 1 if the server can have written
 * `next` at the time of `next`. Text that a client copied from a log is older than the client's statement.
 *
 * `old` carries the result of the previous event to events without their own time. */
static int is_later(const struct qt_slowlog *s, const struct qt_slow_event *open, const struct qt_slow_event *next,
                    int *old)
{
    struct qt_logtime now = open->time.kind != QT_LOGTIME_BAD ? open->time : s->time;
    if (next->query_ns == -1)
        return 0;
    if (next->time.kind != QT_LOGTIME_BAD) { /* the server writes a local time only when the second changes */
        *old = now.kind != QT_LOGTIME_BAD && (next->time.kind != now.kind || next->time.ns < now.ns ||
                                              (now.kind == QT_LOGTIME_LOCAL && next->time.ns == now.ns));
        return !*old;
    }
    if (*old || now.kind == QT_LOGTIME_UTC || open->timestamp_s < 0 || next->timestamp_s < 0)
        return 0;
    int64_t whole_s = next->query_ns > 0 ? next->query_ns / QT_SECOND : 0;
    return next->timestamp_s + whole_s + 2 >= open->timestamp_s; /* events are in the order of their ends */
}

/* ---- sessions ---- */

uint64_t qt_slow_key_of(const struct qt_slow_event *e)
{
    return e->thread_id >= 0 ? (uint64_t)e->thread_id : QT_LOG_NO_THREAD | qt_hash_spans(e->user, e->address) >> 1;
}

uint32_t qt_slow_account_of(const struct qt_slow_event *e)
{
    return e->user.p != NULL ? (uint32_t)(qt_hash_spans(e->user, e->host.len ? e->host : e->address) | 1) : 0;
}

/* A server writes the same header when it starts or when the log is enabled. FLUSH LOGS and a rotation reopen the log
 * and also write this header.
 *
 * A new version proves a restart. A reused thread id also proves a restart, if its session has ended or had another
 * account. Without proof the sessions continue. */
enum qt_slow_restart qt_slow_find_restart(const struct qt_slowlog *s, int flush, int64_t thread_id, uint64_t key,
                                          uint32_t account)
{
    const struct qt_session_entry *known = thread_id < 0 ? NULL : qt_sessions_look_up(&s->log.sessions, key);
    if (s->other_version)
        return QT_SLOW_RESTARTED;
    if (s->after_flush || flush)
        return QT_SLOW_GOES_ON;
    if (known == NULL || account == 0 || known->account == 0)
        return QT_SLOW_UNDECIDED;
    return known->ended || known->account != account ? QT_SLOW_RESTARTED : QT_SLOW_GOES_ON;
}

enum qt_slow_result qt_slow_find_later(const struct qt_slowlog *s, const struct qt_slow_event *open, size_t from,
                                       size_t to)
{
    struct qt_slow_event e;
    struct qt_span banner;
    size_t have = s->log.end - s->log.begin, used;
    int old = 0;
    for (size_t at = from; at < to && at < have; at += used) {
        const char *p = s->log.buffer + s->log.begin + at;
        enum qt_slow_result what = qt_slow_parse(p, have - at, s->log.at_end, 1, QT_QUOTES_TRUSTED, &e, &banner, &used);
        if (what == QT_SLOW_MORE && e.timestamp_s < 0 && e.time.kind == QT_LOGTIME_BAD)
            return QT_SLOW_MORE;
        const struct qt_session_entry *entry = qt_sessions_look_up(&s->log.sessions, qt_slow_key_of(&e));
        int known = qt_slow_key_of(&e) == qt_slow_key_of(open) || (entry != NULL && !entry->ended);
        if (is_later(s, open, &e, &old) && known)
            return QT_SLOW_EVENT;
        if (what == QT_SLOW_MORE || used == 0)
            break;
    }
    return QT_SLOW_GARBAGE;
}
