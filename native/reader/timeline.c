/* SPDX-License-Identifier: Apache-2.0 */
/* Some logs give the end of an event in whole seconds, but its duration in microseconds. The events of one second are
 * spread over the second so that
 *   - they end at different times, in the log's order, which is the order of completion,
 *   - none begins before the previous event of its session has ended.
 *
 * Two passes assign the times. The backward pass finds `latest_ns`, the latest end that leaves room for the later
 * events. The forward pass spreads the events evenly over the second, within these limits. Wrong server logs may leave
 * no valid time for an event. The event then starts at the previous end, and its duration is cut and flagged.
 *
 * Some times are not from the server's clock. A session that ran SET timestamp stamps its events with the time that it
 * set. MariaDB also prints the set time in `# Time`. The reader recognizes such an event by the SET in its session. The
 * event is also recognized if the next session is back at the old time. Such an event gets the second of its
 * neighbours. */
#include "reader/timeline.h"

#include "base/clock.h"
#include "querytape.h"

#define BACK_SLACK (5 * QT_SECOND)   /* smaller steps back are normal: completion order is not exact to the second */
#define AHEAD_SLACK (60 * QT_SECOND) /* a longer step forward is accepted unless another session contradicts it */
#define JITTER (5 * INT64_C(1000))   /* smaller overlaps come from rounded microseconds */

void qt_timeline_init(struct qt_timeline *t)
{
    t->clock_ns = INT64_MIN;
    t->last_end_ns = INT64_MIN;
}

/* Cache of next_witness. Consecutive rows of one session share its result, so the pass takes linear time. */
struct witness {
    uint32_t entry;
    size_t at; /* index of the witness; 0 = none yet */
};

/* Returns the index of the next event of another session, or n. Sessions that have set their own timestamp do not
 * count. */
static size_t next_witness(const struct qt_event_time *events, size_t n, size_t i, struct witness *known)
{
    size_t at = known->entry == events[i].entry && known->at > i ? known->at : i + 1;
    while (at < n && (events[at].entry == events[i].entry || events[at].untrusted_clock ||
                      events[at].stamp_kind != QT_STAMP_SECOND))
        at++;
    known->entry = events[i].entry;
    known->at = at;
    return at;
}

/* Returns whether the server's clock may have jumped at event `i`. Returns 0 if other sessions show that it did not
 * jump. */
static int is_ambiguous(const struct qt_event_time *events, size_t n, size_t i, int is_outlier, struct witness *known)
{
    if (!events[i].is_local || events[i].untrusted_clock)
        return 0;
    return !is_outlier || next_witness(events, n, i, known) == n;
}

static int is_outlier(const struct qt_event_time *events, size_t n, size_t i, int64_t clock, struct witness *known)
{
    int64_t ahead = events[i].when_ns - clock;
    if (ahead >= -BACK_SLACK && ahead <= (events[i].untrusted_clock ? BACK_SLACK : AHEAD_SLACK))
        return 0;
    if (events[i].untrusted_clock)
        return 1;
    size_t witness = next_witness(events, n, i, known);
    if (witness == n)
        return ahead < 0; /* no other session to compare with: time cannot go back, but a long silence is possible */
    int64_t theirs = events[witness].when_ns;
    return ahead < 0 ? theirs >= clock - BACK_SLACK : theirs < events[i].when_ns - BACK_SLACK;
}

static void believe_seconds(struct qt_timeline *t, struct qt_event_time *events, size_t n)
{
    struct witness known = {0, 0};
    for (size_t i = 0; i < n; i++) {
        if (events[i].stamp_kind != QT_STAMP_SECOND)
            continue;
        if (t->clock_ns == INT64_MIN) {
            size_t first = next_witness(events, n, i, &known);
            int odd = events[i].untrusted_clock && first < n;
            t->clock_ns = odd ? events[first].when_ns : events[i].when_ns;
        }
        int outlier = is_outlier(events, n, i, t->clock_ns, &known);
        events[i].is_ambiguous = (uint8_t)is_ambiguous(events, n, i, outlier, &known);
        if (outlier) {
            events[i].when_ns = t->clock_ns;
            events[i].flags |= QT_F_CLOCK_GUESSED;
        } else if (events[i].when_ns < t->clock_ns && t->clock_ns - events[i].when_ns <= BACK_SLACK) {
            events[i].when_ns = t->clock_ns; /* keep the order of completion */
        }
        t->clock_ns = events[i].when_ns;
    }
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static void find_latest(struct qt_sessions *s, struct qt_event_time *events, size_t n)
{
    int64_t latest = INT64_MAX;
    for (size_t i = n; i-- > 0;) {
        struct qt_session_entry *e = &s->entries[events[i].entry];
        if (events[i].stamp_kind == QT_STAMP_SECOND) {
            latest = least(latest - 1, events[i].when_ns + QT_SECOND - 1);
            if (e->row >= 0)
                latest = least(latest, events[e->row].latest_ns - most(events[e->row].duration_ns, 0));
            latest = most(latest, events[i].when_ns);
            events[i].latest_ns = latest;
            e->row = (int32_t)i;
        }
    }
    for (size_t i = 0; i < n; i++)
        s->entries[events[i].entry].row = -1;
}

static void place_second(struct qt_timeline *t, struct qt_session_entry *e, struct qt_event_time *event,
                         int64_t share_ns)
{
    int64_t second = event->when_ns, last = second + QT_SECOND - 1, duration = most(event->duration_ns, 0);
    int64_t end = second + share_ns;
    end = least(end, event->latest_ns);
    end = most(end, t->last_end_ns + 1);
    if (e->prev_end_ns != INT64_MIN)
        end = most(end, e->prev_end_ns + duration);
    end = most(second, least(end, most(last, t->last_end_ns + 1)));
    int64_t start = end - duration;
    if (e->prev_end_ns != INT64_MIN && start < e->prev_end_ns) {
        start = e->prev_end_ns;
        end = most(end, start);
        event->duration_ns = end - start;
        event->flags |= QT_F_DURATION_CUT;
    }
    event->start_ns = start;
    event->flags |= QT_F_TIME_INFERRED;
    t->last_end_ns = end;
    e->prev_end_ns = end;
}

static void place_exact(struct qt_session_entry *e, struct qt_event_time *event, struct qt_event_time *previous)
{
    int64_t duration = most(event->duration_ns, 0);
    int64_t start = event->stamp_kind == QT_STAMP_START ? event->when_ns : event->when_ns - duration;
    int64_t overlap = e->prev_end_ns == INT64_MIN ? 0 : e->prev_end_ns - start;
    if (overlap > JITTER && event->stamp_kind == QT_STAMP_START && previous != NULL && previous->start_ns <= start) {
        previous->duration_ns = start -
                                previous->start_ns; /* exact start, so the previous event ended before this start */
        previous->flags |= QT_F_DURATION_CUT;
    } else if (overlap > 0) {
        start = e->prev_end_ns;
        if (overlap > JITTER) {
            event->duration_ns = most(duration - overlap, 0);
            event->flags |= QT_F_DURATION_CUT;
        }
    }
    event->start_ns = start;
    e->prev_end_ns = start + most(event->duration_ns, 0);
}

static int is_same_second(const struct qt_event_time *event, const struct qt_event_time *as)
{
    return event->stamp_kind == QT_STAMP_CARRIED ||
           (event->stamp_kind == QT_STAMP_SECOND && event->when_ns == as->when_ns);
}

void qt_timeline_assign_start_times(struct qt_timeline *t, struct qt_sessions *s, struct qt_event_time *events,
                                    size_t n)
{
    believe_seconds(t, events, n);
    find_latest(s, events, n);
    for (size_t i = 0; i < n;) {
        size_t behind = i + 1, count = 1;
        if (events[i].stamp_kind == QT_STAMP_SECOND)
            for (; behind < n && is_same_second(&events[behind], &events[i]); behind++)
                count += events[behind].stamp_kind == QT_STAMP_SECOND;
        for (size_t k = 1; i < behind; i++) {
            struct qt_session_entry *e = &s->entries[events[i].entry];
            if (events[i].stamp_kind == QT_STAMP_CARRIED)
                continue;
            if (events[i].stamp_kind == QT_STAMP_SECOND)
                place_second(t, e, &events[i], (int64_t)((double)k * (double)QT_SECOND / (double)(count + 1)));
            else
                place_exact(e, &events[i], e->row >= 0 ? &events[e->row] : NULL);
            e->row = (int32_t)i;
            k++;
        }
    }
    for (size_t i = n; i-- > 0;) {
        s->entries[events[i].entry].row = -1;
        if (events[i].stamp_kind == QT_STAMP_CARRIED && i + 1 < n)
            events[i].start_ns = events[i + 1].start_ns;
    }
}
