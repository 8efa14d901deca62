/* SPDX-License-Identifier: Apache-2.0 */
/* A tape keeps no modes of sessions, but the digest of each statement as its session had it read: of the ways to read
 * it, the first one that gives this digest. */
#include <string.h>

#include "querytape.h"
#include "sql/normal_text.h"
#include "sql/readings.h"

/* Whether no two ways to read it differ. */
static int is_plain(const char *p, size_t len)
{
    return len == 0 || (memchr(p, '\\', len) == NULL && memchr(p, '"', len) == NULL && !qt_holds_high_blank(p, len) &&
                        (memchr(p, '`', len) == NULL || !qt_holds_wide(p, len)));
}

static int gives(struct qt_normalizer *n, struct qt_session_mode mode, uint64_t digest, const char *sql, size_t len)
{
    struct qt_statement what;
    return qt_normalize(n, &mode, sql, len, &what, NULL) == QT_OK && what.digest == digest;
}

void qt_session_mode_of_digest(struct qt_normalizer *n, uint64_t digest, const char *sql, size_t len,
                               struct qt_session_mode *mode)
{
    struct qt_session_mode way[QT_MAX_WAYS];
    *mode = (struct qt_session_mode){0};
    if (is_plain(sql, len) || gives(n, *mode, digest, sql, len))
        return;
    size_t ways = qt_other_ways(*mode, way);
    for (size_t i = 0; i < ways; i++)
        if (gives(n, way[i], digest, sql, len)) {
            *mode = way[i];
            return;
        }
}
