/* SPDX-License-Identifier: Apache-2.0 */
/* At the end of daylight saving time a local time comes twice, at its beginning an hour is missing. A zone with its
 * offsets resolves that; without one a jump is a problem, unless it is too small to matter. */
#include "reader/local_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR (3600 * QT_SECOND)
#define BACK (5 * QT_SECOND)      /* the order of completion is not exact to the second */
#define HARMLESS (60 * QT_SECOND) /* a clock that is set back by less squeezes few events */
#define NEAR (120 * QT_SECOND)    /* silence beside a missing hour */
#define LAST_NIGHT_HOUR 3         /* zones change their offset between 0:00 and 4:00 */

int qt_local_zone_init(struct qt_log *l, const struct qt_log_options *options)
{
    size_t bytes = (size_t)options->n_zone * sizeof(int64_t);
    if (options->n_zone == 0)
        return 0;
    l->zone_from_ns = malloc(bytes);
    l->zone_offset_ns = malloc(bytes);
    if (l->zone_from_ns == NULL || l->zone_offset_ns == NULL)
        return -1;
    memcpy(l->zone_from_ns, options->zone_from_ns, bytes);
    memcpy(l->zone_offset_ns, options->zone_offset_ns, bytes);
    l->n_zone = options->n_zone;
    return 0;
}

void qt_local_zone_free(struct qt_log *l)
{
    free(l->zone_from_ns);
    free(l->zone_offset_ns);
}

static int64_t zone_utc(struct qt_log *l, int64_t local_ns)
{
    int64_t found = INT64_MIN, before = local_ns - l->zone_offset_ns[0];
    for (int32_t i = 0; i < l->n_zone; i++) {
        int64_t utc = local_ns - l->zone_offset_ns[i];
        if (utc < l->zone_from_ns[i])
            break;
        before = utc; /* of a local time that the zone leaves out, it stays */
        if (i + 1 < l->n_zone && utc >= l->zone_from_ns[i + 1])
            continue;
        if (found == INT64_MIN || found < l->zone_utc_ns - BACK)
            found = utc;
    }
    return found != INT64_MIN ? found : before;
}

void qt_local_time(struct qt_log *l, int64_t local_ns, struct qt_event_time *m)
{
    m->is_local = l->n_zone == 0;
    m->when_ns = l->n_zone > 0 ? zone_utc(l, local_ns) : local_ns - (l->has_timezone ? l->timezone_ns : 0);
    l->zone_utc_ns = m->when_ns;
}

/* Between the two is an hour of the clock that daylight saving time may have taken out, and little more. */
static int is_missing_hour(const struct qt_log *l, int64_t before, int64_t ahead)
{
    int64_t local = before + (l->has_timezone ? l->timezone_ns : 0), begin = (local / HOUR + 1) * HOUR;
    return ahead >= HOUR && ahead < HOUR + NEAR && local + ahead >= begin + HOUR &&
           begin / HOUR % 24 <= LAST_NIGHT_HOUR;
}

struct qt_jump *qt_local_note_jump(struct qt_log *l, const struct qt_event_time *m)
{
    struct qt_jump *jump = NULL;
    if (!m->is_local)
        return NULL;
    int64_t ahead = l->last_second != 0 ? m->when_ns - l->last_second : 0;
    if ((ahead < -BACK || is_missing_hour(l, l->last_second, ahead)) && l->n_jumps < QT_JUMPS) {
        jump = &l->jumps[l->n_jumps++];
        *jump = (struct qt_jump){.row = l->reader.batch.rows, .ahead_ns = ahead};
    }
    l->last_second = m->when_ns;
    return jump;
}

static void say(struct qt_log *l, const struct qt_jump *jump)
{
    char text[256];
    int64_t seconds = jump->ahead_ns / QT_SECOND;
    if (seconds > 0)
        snprintf(text, sizeof text,
                 "local times pass over an hour: daylight saving time begins, or the server was silent for %lld s;"
                 " --log-timezone with the zone's name tells",
                 (long long)seconds);
    else
        snprintf(text, sizeof text,
                 "local times go back by %lld s: daylight saving time ends, or the clock was set back; what follows is"
                 " squeezed; --log-timezone with the zone's name resolves the first",
                 (long long)-seconds);
    qt_problems_add(&l->reader.problems, jump->file, jump->line, jump->offset,
                    -jump->ahead_ns > HARMLESS || seconds > 0 ? "ambiguous_time" : "clock_set_back", text, NULL, 0);
}

void qt_local_say_jumps(struct qt_log *l)
{
    for (size_t i = 0; i < l->n_jumps; i++)
        if (l->reader.batch.event_times[l->jumps[i].row].is_ambiguous)
            say(l, &l->jumps[i]);
    l->n_jumps = 0;
}
