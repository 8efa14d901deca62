/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of slow logs, between slowlog.c (one event after the other) and slowlog_context.c, which decides what an
 * event means in its place of the log: its time, its session, whether the server was restarted before it. All but
 * qt_slow_find_zone in the parsing thread. */
#ifndef QT_SLOWLOG_CONTEXT_H
#define QT_SLOWLOG_CONTEXT_H

#include "base/bytes.h"
#include "reader/log.h"
#include "slowlog/slowlog_grammar.h"

#define QT_ZONES 121 /* quarters of an hour from -15:00 to +15:00 */

struct qt_slowlog {
    struct qt_log log;
    int header_known; /* a whole header is at buffer[begin] */
    int skipping;     /* inside bytes that no grammar knows: reported once */

    /* what one event leaves to the next */
    struct qt_logtime time; /* of the last `# Time:` understood */
    int has_use;
    struct qt_bytes use; /* the last `use` line: log-wide until the next server header */
    int pending_restart; /* a server header was seen: an event that follows tells what it was */
    uint64_t header_at;  /* the number of the event behind it */
    int other_version;   /* that header names another version than the one before */
    int after_flush;     /* the last event was a FLUSH that writes a new header */
    int said_no_thread;

    _Atomic uint32_t zones[QT_ZONES]; /* how often local time less UTC was so many quarters */
    _Atomic uint64_t restarts;
    _Atomic int32_t rate_limit, rate_by_query, has_extra;
};

/* Median of local time less UTC; returns whether the log showed both. From any thread. */
int qt_slow_find_zone(const struct qt_slowlog *, int64_t *out_ns);
/* Counts what the event shows of local time less UTC. */
void qt_slow_note_zone(struct qt_slowlog *, const struct qt_slow_event *);
/* Sets when_ns, stamp_kind and flags. */
void qt_slow_stamp_event(struct qt_slowlog *, const struct qt_slow_event *, struct qt_event_time *);
/* A server's header was read before this event, or some events before: was the server restarted? `flush`: the event is
 * a FLUSH that writes a new header. */
enum qt_slow_restart { QT_SLOW_UNDECIDED, QT_SLOW_GOES_ON, QT_SLOW_RESTARTED };
enum qt_slow_restart qt_slow_find_restart(const struct qt_slowlog *, int flush, int64_t thread_id, uint64_t key,
                                          uint32_t account);
/* The key of the event's session: its thread id, or a hash of its account. */
uint64_t qt_slow_key_of(const struct qt_slow_event *);
/* A hash of its account, or 0. */
uint32_t qt_slow_account_of(const struct qt_slow_event *);
/* A quote of `open` is open from byte `from` of the unread input to byte `to`: EVENT where the server has written
 * another event there, so that the quote never closes, else GARBAGE; MORE where more input would tell. */
enum qt_slow_result qt_slow_find_later(const struct qt_slowlog *, const struct qt_slow_event *open, size_t from,
                                       size_t to);

#endif
