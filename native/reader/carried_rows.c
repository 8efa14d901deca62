/* SPDX-License-Identifier: Apache-2.0 */
/* Each is read as any statement is: classified, redacted, never believed. */
#include "reader/carried_rows.h"

int qt_carried_rows_add(struct qt_reader *r, const struct qt_open_session *open, int prepared,
                        struct qt_event_row *like, const struct qt_event_time *time)
{
    struct qt_normalizer *normalizer = qt_open_sessions_normalizer(r->open);
    int64_t number = 0;
    for (const struct qt_open_statement *s = open->statements; s != NULL; s = s->next) {
        struct qt_statement what;
        struct qt_event_row row = qt_event_unknown;
        struct qt_event_time when;
        int is_prepared = s->id >= 0;
        number += is_prepared;
        if (is_prepared && !prepared)
            continue;
        int code = qt_normalize(normalizer, NULL, s->text.p, s->text.len, &what, NULL);
        if (code != QT_OK)
            return code;
        row.session = like->session;
        row.seq = ++like->seq;
        row.thread_id = like->thread_id;
        row.command = is_prepared ? "prepare" : "query";
        row.start_ns = like->start_ns;
        row.precision_ns = like->precision_ns;
        row.user = like->user;
        row.host = like->host;
        row.db = like->db;
        row.stmt = is_prepared ? number : -1;
        row.file = like->file;
        row.offset = like->offset;
        row.flags = QT_F_CARRIED;
        qt_event_set_statement(&row, s->text, &what);
        if (time != NULL) {
            when = *time;
            when.duration_ns = -1;
            when.stamp_kind = QT_STAMP_CARRIED;
            when.flags = row.flags;
        }
        if (qt_event_batch_add(&r->batch, &row, time != NULL ? &when : NULL) != 0)
            return QT_ENOMEM;
        atomic_fetch_add_explicit(&r->events, 1, memory_order_relaxed);
    }
    return QT_OK;
}
