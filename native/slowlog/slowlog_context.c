/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what an event means in its place of the log: when it was, and whether the server was restarted before it. */
#include "slowlog/slowlog_context.h"

#include <string.h>
#include <strings.h>

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

void qt_slow_stamp_event(const struct qt_slowlog *s, const struct qt_slow_event *e, struct qt_event_time *m)
{
    const struct qt_logtime *time = e->time.kind != QT_LOGTIME_BAD ? &e->time : &s->time;
    m->stamp_kind = QT_STAMP_SECOND;
    if (e->start_ns >= 0) {
        m->stamp_kind = QT_STAMP_START;
        m->when_ns = e->start_ns;
    } else if (time->kind == QT_LOGTIME_UTC) {
        m->stamp_kind = QT_STAMP_END;
        m->when_ns = time->ns;
    } else if (e->timestamp_s >= 0 && !(s->log.has_timezone && time->kind == QT_LOGTIME_LOCAL)) {
        m->when_ns = e->timestamp_s * QT_SECOND;
    } else if (time->kind == QT_LOGTIME_LOCAL) {
        int64_t zone = s->log.timezone_ns;
        if (!s->log.has_timezone)
            qt_slow_find_zone(s, &zone);
        m->when_ns = time->ns - zone;
    } else {
        m->when_ns = s->log.timeline.clock_ns != INT64_MIN ? s->log.timeline.clock_ns : 0;
        m->flags |= QT_F_CLOCK_GUESSED;
    }
}

/* SET timestamp = 0 or DEFAULT gives the session the server's clock back. */
int qt_slow_gives_clock_back(struct qt_span text)
{
    while (text.len > 0 && (text.p[text.len - 1] == ' ' || text.p[text.len - 1] == ';'))
        text.len--;
    if (text.len >= 7 && strncasecmp(text.p + text.len - 7, "default", 7) == 0)
        return 1;
    return text.len >= 2 && text.p[text.len - 1] == '0' && (text.p[text.len - 2] == '=' || text.p[text.len - 2] == ' ');
}

/* ---- sessions ---- */

/* A server writes the same header when it starts and when FLUSH LOGS (or a rotation) reopens its log. It is a restart
 * unless a FLUSH is next to the header, or a later file of the set goes on with sessions that are known. */
int qt_slow_is_restart(const struct qt_slowlog *s, int flush, int64_t thread_id, uint64_t key, uint32_t account)
{
    if (s->after_flush || flush)
        return 0;
    if (s->log.file == 0 || s->log.file_events > 0)
        return 1;
    if (thread_id >= 0 && (uint64_t)thread_id > s->log.largest_thread)
        return 0;
    for (uint32_t i = 0; i < s->log.sessions.n_entries; i++)
        if (s->log.sessions.entries[i].key == key)
            return s->log.sessions.entries[i].account != account || s->log.sessions.entries[i].ended;
    return 1;
}
