/* SPDX-License-Identifier: Apache-2.0 */
/* Each statement of a text has one result, in their order; a statement that fails is the last. So the n-th result is
 * the n-th statement's, where there are as many. */
#include "packets/insert_ids.h"

#include <inttypes.h>
#include <stdio.h>

#include "packets/named_statements.h"
#include "protocol/decoded.h"
#include "sql/split.h"

/* Such a statement answers with the id of a row that was there before. */
static int found_all(const struct qt_split *s, size_t i, struct qt_span text, uint64_t id)
{
    size_t from = s->inserts[2 * i + 1], end = i + 1 < s->n_inserts ? s->inserts[2 * i + 3] : text.len;
    return (id & QT_ONLY_FOUND) != 0 && qt_is_upsert((struct qt_span){text.p + from, end - from});
}

static int write_all(struct qt_bytes *out, const struct qt_split *s, struct qt_span text, struct qt_span results)
{
    size_t n = results.len / 8;
    char one[64];
    for (size_t i = 0; i < s->n_inserts && s->inserts[2 * i] < n; i++) {
        uint64_t id = qt_get_le(results.p + 8 * s->inserts[2 * i], 8);
        if (id == 0 || found_all(s, i, text, id))
            continue;
        id &= INT64_MAX;
        int len = snprintf(one, sizeof one, "%s%zu:%" PRIu64, out->len > 0 ? "," : "", s->inserts[2 * i + 1], id);
        if (qt_bytes_add(out, one, (size_t)len) != 0)
            return -1;
    }
    return 0;
}

static int is_any(struct qt_span results)
{
    for (size_t i = 0; i + 8 <= results.len; i += 8)
        if (qt_get_le(results.p + i, 8) != 0)
            return 1;
    return 0;
}

int qt_write_insert_ids(struct qt_bytes *out, struct qt_session_mode mode, struct qt_span text, struct qt_span results,
                        int failed)
{
    struct qt_split s = {.room = 0};
    int64_t n = (int64_t)(results.len / 8);
    out->len = 0;
    if (!is_any(results))
        return 0;
    int code = qt_split_text(&s, mode, text.p, text.len), unknown = 1;
    if (code == 0 && s.statements >= 0 &&
        (n == s.statements || n == s.statements + s.comment_behind || (failed && n < s.statements))) {
        code = write_all(out, &s, text, results);
        unknown = 0;
    }
    qt_split_free(&s);
    return code != 0 ? -1 : unknown;
}
