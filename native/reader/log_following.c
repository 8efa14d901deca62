/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/log_following.h"

#include "base/error.h"

#define PART_NS (5 * QT_SECOND)
#define QUIET_NS (QT_SECOND + QT_SECOND / 5) /* silence that ends the second of a log of whole seconds */

static void let_end(struct qt_reader *reader) { qt_follow_end(((struct qt_log *)reader)->follow); }

static void describe_following(struct qt_reader *reader, struct qt_json *json)
{
    qt_follow_describe(((struct qt_log *)reader)->follow, json);
}

int qt_log_follow(struct qt_log *l, const char *path, const struct qt_log_options *options, struct qt_error *error)
{
    l->follow = qt_follow_open(path, options->from_end, error);
    if (l->follow == NULL)
        return error != NULL ? error->code : QT_EIO;
    l->part_ns = options->part_ns > 0 ? options->part_ns : PART_NS;
    l->reader.let_end = let_end;
    l->reader.describe_more = describe_following;
    return QT_OK;
}

/* Is it time to close the batch? A second of a log of whole seconds is not torn apart where it may go on. */
static int is_due(struct qt_log *l, int64_t now)
{
    struct qt_reader *r = &l->reader;
    if (r->batch.rows == 0)
        return 0;
    if (l->part_began_ns == 0)
        l->part_began_ns = now;
    r->due = now - l->part_began_ns >= l->part_ns;
    int seconds = !l->exact_times && r->batch.event_times[r->batch.rows - 1].stamp_kind == QT_STAMP_SECOND;
    return r->due && (!seconds || now - l->heard_ns >= QUIET_NS);
}

int qt_log_fill_following(struct qt_log *l, size_t want, struct qt_error *error)
{
    while (!l->at_end && l->end - l->begin < want && l->end < l->room && !atomic_load(&l->reader.stopped)) {
        size_t got = 0;
        int ending = qt_follow_is_ending(l->follow); /* asked first: what comes later than this is not waited for */
        enum qt_follow_read what = qt_follow_read(l->follow, l->buffer + l->end, l->room - l->end, &got, error);
        int64_t now = qt_follow_now();
        l->end += got;
        if (what == QT_FOLLOW_FAILED)
            return error != NULL ? error->code : QT_EIO;
        if (what == QT_FOLLOW_BYTES)
            l->heard_ns = now;
        l->at_end = what == QT_FOLLOW_OTHER || what == QT_FOLLOW_TRUNCATED || (what == QT_FOLLOW_NOTHING && ending);
        l->was_truncated = what == QT_FOLLOW_TRUNCATED;
        l->last_file = what == QT_FOLLOW_NOTHING && ending;
        atomic_store_explicit(&l->reader.bytes_read, l->bytes_before + qt_follow_bytes(l->follow),
                              memory_order_relaxed);
        int due = is_due(l, now);
        if (what != QT_FOLLOW_NOTHING || ending)
            continue;
        if (due)
            return QT_EAGAIN;
        qt_follow_wait(l->follow);
    }
    l->at_end |= atomic_load(&l->reader.stopped);
    return QT_OK;
}
