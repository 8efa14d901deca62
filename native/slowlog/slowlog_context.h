/* SPDX-License-Identifier: Apache-2.0 */
/* State of the slow-log reader. slowlog.c reads one event after another. The code in slowlog_context.c finds the
 * event's time and session, and detects server restarts.
 *
 * All functions except qt_slow_find_zone run in the parsing thread. */
#ifndef QT_SLOWLOG_CONTEXT_H
#define QT_SLOWLOG_CONTEXT_H

#include "base/bytes.h"
#include "reader/log.h"
#include "slowlog/slowlog_grammar.h"

#define QT_ZONES 121 /* quarter-hours from -15:00 to +15:00 */

struct qt_slowlog {
    struct qt_log log;
    int header_known; /* a complete header is at buffer[begin] */
    int skipping;     /* inside unknown bytes, which are reported once */

    /* state that one event leaves for the next */
    struct qt_logtime time; /* time of the last valid `# Time:` */
    int has_use;
    struct qt_bytes use; /* last `use` line; valid for the whole log until the next server header */
    int pending_restart; /* a server header was seen; a later event decides whether it was a restart */
    uint64_t header_at;  /* number of the event after the header */
    int other_version;   /* the header and the previous header have different versions */
    int after_flush;     /* the last event was a FLUSH that writes a header */
    int said_no_thread;

    _Atomic uint32_t zones[QT_ZONES]; /* number of events with this UTC offset, in quarter-hours */
    _Atomic uint64_t restarts;
    _Atomic int32_t rate_limit, rate_by_query, has_extra;
};

/* Finds the median offset of local time from UTC. Returns 0 if the log does not show both local time and UTC. Any
 * thread may call this function. */
int qt_slow_find_zone(const struct qt_slowlog *, int64_t *out_ns);
/* Counts the UTC offset that an event shows. */
void qt_slow_note_zone(struct qt_slowlog *, const struct qt_slow_event *);
/* Sets when_ns, stamp_kind and flags of an event. */
void qt_slow_stamp_event(struct qt_slowlog *, const struct qt_slow_event *, struct qt_event_time *);
/* Decides after a server header whether the server restarted. The header may be several events before this event.
 * `flush`: the event is a FLUSH that writes a new header. */
enum qt_slow_restart { QT_SLOW_UNDECIDED, QT_SLOW_GOES_ON, QT_SLOW_RESTARTED };
enum qt_slow_restart qt_slow_find_restart(const struct qt_slowlog *, int flush, int64_t thread_id, uint64_t key,
                                          uint32_t account);
/* Returns the key of the event's session: its thread id, or a hash of its account. */
uint64_t qt_slow_key_of(const struct qt_slow_event *);
/* Returns a hash of the event's account, or 0. */
uint32_t qt_slow_account_of(const struct qt_slow_event *);
/* A quote of `open` is open from byte `from` to byte `to` of the unread input. Returns EVENT if the server wrote
 * another event in these bytes, because the quote then never closes. Returns GARBAGE if the server wrote no event, and
 * MORE if more input is needed. */
enum qt_slow_result qt_slow_find_later(const struct qt_slowlog *, const struct qt_slow_event *open, size_t from,
                                       size_t to);

#endif
