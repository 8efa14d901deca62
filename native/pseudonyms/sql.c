/* SPDX-License-Identifier: Apache-2.0 */
/* statement ─► values of the default reading ─► no ambiguous bytes: replace them
 *                                             └► values of each other possible reading: replace them as well
 *
 * A reading is impossible if it has a backslash outside quotes or a literal that never ends.
 *
 * Bytes that are a value in only one of several possible readings are also replaced. Such a statement is counted as
 * ambiguous, because it may no longer run as before. */
#include "pseudonyms/sql.h"

#include <stdlib.h>
#include <string.h>

#include "pseudonyms/message.h"
#include "pseudonyms/ranges.h"
#include "pseudonyms/pseudonyms_state.h"
#include "pseudonyms/value.h"
#include "sql/lexer.h"

static int replace(struct qt_pseudonyms *s, char *p, size_t n, int radix)
{
    return radix == 10 ? qt_pseudonyms_value(s, p, n) : qt_pseudonyms_digits(s, p, n, radix);
}

static int replace_all(struct qt_pseudonyms *s, const struct qt_ranges *r, char *p)
{
    int bad = 0;
    for (size_t i = 0; i < r->n && !bad; i++)
        bad = replace(s, p + r->range[i].at, r->range[i].len, r->range[i].radix);
    return bad;
}

static void mark(const struct qt_ranges *r, char *marks)
{
    for (size_t i = 0; i < r->n; i++)
        memset(marks + r->range[i].at, 1, r->range[i].len);
}

/* Replaces and marks the bytes that are values only in this reading. Returns -1 on failure, 1 if any byte was replaced,
 * else 0. */
static int replace_more(struct qt_pseudonyms *s, const struct qt_ranges *r, char *p, char *marks)
{
    int found = 0;
    for (size_t i = 0; i < r->n; i++) {
        size_t at = r->range[i].at, end = at + r->range[i].len;
        while (at < end) {
            size_t from = at;
            while (at < end && marks[at] == marks[from])
                at++;
            if (marks[from])
                continue;
            found = 1;
            if (replace(s, p + from, at - from, r->range[i].radix) != 0)
                return -1;
        }
        memset(marks + r->range[i].at, 1, r->range[i].len);
    }
    return found;
}

/* Returns 1 if the text has a byte above 127 before a backslash or back quote. */
static int holds_wide(const char *p, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if ((p[i] == '\\' || p[i] == '`') && p[i - 1] & 0x80)
            return 1;
    return 0;
}

/* Lists the readings that may differ from the default reading `r`. The default comes first. Returns the number of
 * readings. */
static size_t ways(const struct qt_ranges *r, const char *p, size_t n, struct qt_way way[QT_WAYS])
{
    int ends = r->saw & (QT_SAW_BACKSLASH | QT_SAW_WIDE), backslash = ends && memchr(p, '\\', n) != NULL;
    int ansi = r->saw & QT_SAW_DOUBLE || (ends && memchr(p, '"', n) != NULL);
    int wide = ends && holds_wide(p, n), blank = r->saw & QT_SAW_BLANK;
    size_t count = 0;
    for (unsigned charset = QT_NARROW; charset < QT_CHARSETS; charset++) {
        if (charset != QT_NARROW && !(qt_is_wide((int)charset) ? wide : blank))
            continue;
        for (unsigned reading = 0; reading <= (QT_READ_NO_BACKSLASH | QT_READ_ANSI); reading++)
            for (unsigned comments = 0; comments <= QT_READ_COMMENTS; comments++)
                if ((backslash || !(reading & QT_READ_NO_BACKSLASH)) && (ansi || !(reading & QT_READ_ANSI)) &&
                    (comments & ~(unsigned)r->saw_comments) == 0)
                    way[count++] = (struct qt_way){(uint8_t)reading, (uint8_t)charset, (uint8_t)comments};
    }
    return count;
}

/* Returns 1 if a session may read the statement this way. A literal that never ends makes a reading impossible, unless
 * a log truncated the statement. A truncated literal never ends in the default reading either. */
static int is_possible(const struct qt_ranges *r, int is_default, int default_ends)
{
    return r->sound && (is_default || r->ends || !default_ends);
}

/* Replaces the values of every possible reading. `as_was` is the original statement, which the readings are made from.
 * The first reading is the default. */
static int each_way(struct qt_pseudonyms *s, const char *as_was, char *p, size_t n, const struct qt_way *way,
                    size_t count, char *marks)
{
    struct qt_ranges r = {0};
    int bad = 0, first = 1, none = 1, more = 0, default_ends = s->ranges.sound && s->ranges.ends;
    for (int round = 0; round < 2 && none && !bad; round++)
        for (size_t i = 0; i < count && !bad; i++) {
            bad = qt_ranges_find(&r, &s->keywords, as_was, n, way[i]) != 0;
            if (bad || (round == 0 && !is_possible(&r, i == 0, default_ends)))
                continue;
            none = 0;
            if (first) {
                bad = replace_all(s, &r, p) != 0;
                mark(&r, marks);
                first = 0;
            } else {
                int found = replace_more(s, &r, p, marks);
                bad = found < 0;
                more |= found > 0;
            }
        }
    s->ambiguous += more;
    qt_ranges_free(&r);
    return bad ? -1 : 0;
}

int qt_pseudonyms_statement(struct qt_pseudonyms *s, char *p, size_t n)
{
    struct qt_way way[QT_WAYS];
    if (qt_ranges_find(&s->ranges, &s->keywords, p, n, (struct qt_way){0}) != 0)
        return -1;
    size_t count = s->ranges.saw | s->ranges.saw_comments ? ways(&s->ranges, p, n, way) : 1;
    if (count == 1)
        return replace_all(s, &s->ranges, p);
    char *work = calloc(2, n);
    if (work == NULL)
        return -1;
    memcpy(work, p, n);
    int bad = each_way(s, work, p, n, way, count, work + n);
    free(work);
    return bad;
}
